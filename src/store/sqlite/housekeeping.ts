import * as sql from '../sql/housekeeping.ts';
import type { Transaction } from './transaction.ts';

/** Removes old events and notices; see Store.prune. Returns how many. */
export function pruneOld(transaction: Transaction, before: number, limit: number): number {
  const events = pruneEvents(transaction, before, limit);
  return events + pruneNotices(transaction, before, limit - events);
}

/** Round by round, since an event of a digest may be kept only for others that go now. */
function pruneEvents(transaction: Transaction, before: number, limit: number): number {
  const { db } = transaction;
  const events = limit > 0 ? db.all(sql.prunableEvents, before, limit) : [];
  for (const event of events) {
    forget(transaction, event);
    db.run(sql.deleteCorrelations, event.content, event.seq);
    db.run(sql.deleteEvent, event.seq);
  }
  return events.length === 0 ? 0 : events.length + pruneEvents(transaction, before, limit - events.length);
}

function pruneNotices(transaction: Transaction, before: number, limit: number): number {
  const notices = transaction.db.all(sql.prunableNotices, before, limit);
  for (const notice of notices) {
    forget(transaction, notice);
    transaction.db.run(sql.deleteNotice, notice.seq);
  }
  return notices.length;
}

/** Takes an event's or notice's deliveries, and its own part, out of what is counted. */
function forget({ db, tallies }: Transaction, { seq, config_id: configId }: sql.PrunableRow): void {
  for (const { sink, state, config_id, n } of db.all(sql.plannedFor, seq)) {
    tallies.planned(sink, state, -n);
    if (config_id !== null) tallies.used(config_id, -n);
  }
  tallies.used(configId, -1);
  db.run(sql.deleteDeliveries, seq);
}

/** Removes the configs that nothing refers to, but for those saved since `before` and those in `keep`. */
export function pruneConfigs({ db }: Transaction, before: number, keep: ReadonlySet<string>): void {
  for (const { id } of db.all(sql.unusedConfigs, before)) {
    if (!keep.has(id)) db.run(sql.deleteConfig, id);
  }
}
