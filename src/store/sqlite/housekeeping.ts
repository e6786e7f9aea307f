import type { DeliveryState } from '../../model.ts';
import * as sql from '../sql.ts';
import type { Transaction } from './transaction.ts';

interface Prunable {
  readonly seq: number;
  readonly content: number;
  readonly correlation_id: string | null;
  readonly config_id: string;
}

/** Returns how many events went; see Store.prune. */
export function pruneEvents(transaction: Transaction, before: number, limit: number): number {
  const events = transaction.db.all<Prunable>(sql.prunableEvents, before, limit);
  for (const event of events) removeEvent(transaction, event);
  return events.length;
}

function removeEvent({ db, tallies }: Transaction, event: Prunable): void {
  const counts = db.all<{ sink: string; state: DeliveryState; config_id: string | null; n: number }>(
    sql.countsOfEvent,
    event.seq,
  );
  for (const { sink, state, config_id, n } of counts) {
    tallies.planned(sink, state, -n);
    if (config_id !== null) tallies.used(config_id, -n);
  }
  tallies.used(event.config_id, -1);
  db.run(sql.deleteDeliveriesOfEvent, event.seq);
  db.run(sql.deleteDuplicatesCorrelations, event.seq, event.content);
  if (event.correlation_id !== null) db.run(sql.deleteCorrelation, event.correlation_id, event.content);
  db.run(sql.deleteEvent, event.seq);
}

/** Removes the configs that nothing refers to, but for those saved since `before` and those in `keep`. */
export function pruneConfigs({ db }: Transaction, before: number, keep: ReadonlySet<string>): void {
  for (const { id } of db.all<{ id: string }>(sql.unusedConfigs, before)) {
    if (!keep.has(id)) db.run(sql.deleteConfig, id);
  }
}
