import * as sql from '../sql/housekeeping.ts';
import type { Transaction } from './transaction.ts';

/** Returns how many events went; see Store.prune. */
export function pruneEvents(transaction: Transaction, before: number, limit: number): number {
  const events = transaction.db.all(sql.prunableEvents, before, limit);
  for (const event of events) removeEvent(transaction, event);
  return events.length;
}

function removeEvent({ db, tallies }: Transaction, event: sql.PrunableRow): void {
  const counts = db.all(sql.countsOfEvent, event.seq);
  for (const { sink, state, config_id, n } of counts) {
    tallies.planned(sink, state, -n);
    if (config_id !== null) tallies.used(config_id, -n);
  }
  tallies.used(event.config_id, -1);
  db.run(sql.deleteDeliveriesOfEvent, event.seq);
  db.run(sql.deleteCorrelations, event.content, event.seq);
  db.run(sql.deleteEvent, event.seq);
}

/** Removes the configs that nothing refers to, but for those saved since `before` and those in `keep`. */
export function pruneConfigs({ db }: Transaction, before: number, keep: ReadonlySet<string>): void {
  for (const { id } of db.all(sql.unusedConfigs, before)) {
    if (!keep.has(id)) db.run(sql.deleteConfig, id);
  }
}
