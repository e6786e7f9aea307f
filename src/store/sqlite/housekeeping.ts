import * as sql from '../sql/housekeeping.ts';
import type { Database } from './database.ts';
import type { Transaction } from './transaction.ts';

/** Removes old events and notices; see Store.prune. Returns how many. */
export function pruneOld(transaction: Transaction, before: number, limit: number): number {
  const events = pruneEvents(transaction, before, limit);
  return events + pruneNotices(transaction, before, limit - events);
}

function pruneEvents(transaction: Transaction, before: number, limit: number): number {
  const { db } = transaction;
  const events = db.all(sql.prunableEvents, before, limit);
  for (const event of events) {
    handOverDigests(db, event.seq);
    forget(transaction, event);
    db.run(sql.deleteCorrelations, event.content, event.seq);
    db.run(sql.deleteEvent, event.seq);
  }
  return events.length;
}

/**
 * Digests stay whole for the events that stay. Handed to the last of these, which is likely to stay the longest: so a
 * digest's rows are rewritten once, and not with each of its events that goes.
 */
function handOverDigests(db: Database, eventSeq: number): void {
  for (const { carrier, heir } of db.all(sql.carriedForOthers, eventSeq)) {
    db.run(sql.inheritMessage, carrier, heir);
    db.run(sql.inheritAttempts, carrier, heir);
    db.run(sql.inheritDigest, carrier, heir);
  }
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
