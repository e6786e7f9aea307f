import * as sql from '../sql/housekeeping.ts';
import type { Prune, Pruned, PruneMark, SignOfLife } from '../store.ts';
import type { Database } from './database.ts';
import type { Transaction } from './transaction.ts';

const oldest: PruneMark = { of: 'events', at: Number.MIN_SAFE_INTEGER, seq: 0 };

/** See Store.prune. Without the configs. */
export function pruneOld(transaction: Transaction, { before, limit, after = oldest }: Prune): Pruned {
  const prune = after.of === 'events' ? pruneEvents : pruneNotices;
  const { rows, over } = prune(transaction, before, after, limit);
  const last = rows.at(-1);
  if (last && rows.length === limit) {
    return { count: over, after: { of: after.of, at: last.at, seq: last.seq } };
  }
  return { count: over, after: after.of === 'events' ? { ...oldest, of: 'notices' } : null };
}

interface Looked {
  readonly rows: readonly sql.OldRow[];
  /** How many were deleted. */
  readonly over: number;
}

function pruneEvents(
  transaction: Transaction,
  before: number,
  { at, seq }: PruneMark,
  limit: number,
): Looked {
  const { db } = transaction;
  const rows = db.all(sql.oldEvents, before, at, seq, limit);
  const over = rows.filter((row) => row.over === 1);
  for (const event of over) {
    handOverDigests(db, event.seq);
    forget(transaction, event);
    db.run(sql.deleteCorrelations, event.content, event.seq);
    db.run(sql.deleteEvent, event.seq);
  }
  return { rows, over: over.length };
}

/**
 * Digests stay complete for their remaining events. The last of them becomes the carrier: it is likely to stay longest,
 * so a digest's rows are rewritten once, and not for each deleted event.
 */
function handOverDigests(db: Database, eventSeq: number): void {
  for (const { carrier, heir } of db.all(sql.carriedForOthers, eventSeq)) {
    db.run(sql.inheritMessage, carrier, heir);
    db.run(sql.inheritAttempts, carrier, heir);
    db.run(sql.inheritDigest, carrier, heir);
  }
}

function pruneNotices(
  transaction: Transaction,
  before: number,
  { at, seq }: PruneMark,
  limit: number,
): Looked {
  const rows = transaction.db.all(sql.oldNotices, before, at, seq, limit);
  const over = rows.filter((row) => row.over === 1);
  for (const notice of over) {
    forget(transaction, notice);
    transaction.db.run(sql.deleteNotice, notice.seq);
  }
  return { rows, over: over.length };
}

/** Subtracts an event's or notice's deliveries, and its use of a config, from the counts. */
function forget({ db, tallies }: Transaction, { seq, config_id: configId }: sql.OldRow): void {
  for (const { sink, state, config_id, n } of db.all(sql.plannedFor, seq)) {
    tallies.planned(sink, state, -n);
    if (config_id !== null) tallies.used(config_id, -n);
  }
  tallies.used(configId, -1);
  db.run(sql.deleteDeliveries, seq);
}

/** Deletes the configs that nothing refers to, except those saved since `before` and those in `keep`. */
export function pruneConfigs({ db }: Transaction, before: number, keep: ReadonlySet<string>): void {
  for (const { id } of db.all(sql.unusedConfigs, before)) {
    if (!keep.has(id)) db.run(sql.deleteConfig, id);
  }
}

export function signOfLife(db: Database): SignOfLife | null {
  const row = db.get(sql.life);
  if (!row) return null;
  const { seen_at: seenAt, doubted_at: doubtedAt, agreed_ms: agreedMs } = row;
  return { seenAt, doubt: doubtedAt === null ? null : { seenAt: doubtedAt, agreedMs } };
}

export function keepSignOfLife({ db }: Transaction, { seenAt, doubt }: SignOfLife): void {
  db.run(sql.keepLife, seenAt, doubt?.seenAt ?? null, doubt?.agreedMs ?? 0);
}
