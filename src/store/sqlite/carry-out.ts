import type { Outcome, Receipt } from '../../model.ts';
import { jsonOrNull } from '../rows.ts';
import * as sql from '../sql/carrying-out.ts';
import type { AttemptResult, Deferral, LaneHead, SinkPause } from '../store.ts';
import type { Database } from './database.ts';
import { apply, find } from './deliveries.ts';
import type { Transaction } from './transaction.ts';

export function lanes(db: Database): LaneHead[] {
  return db.all(sql.laneHeads).map(({ lane, sink, due_at }) => ({ lane, sink, dueAt: due_at }));
}

export function record(transaction: Transaction, results: readonly AttemptResult[]): void {
  for (const result of results) recordOne(transaction, result);
}

function recordOne({ db, tallies }: Transaction, result: AttemptResult): void {
  const { attempt, state } = result;
  const found = find(db, result.deliveryId);
  // A late result must not end a later attempt.
  if (found?.state !== 'sending' || found.attempts !== attempt.number) return;
  const { outcome } = attempt;
  const count = apply(
    db,
    sql.record,
    found,
    state,
    result.dueAt,
    result.uncertain ? 1 : 0,
    jsonOrNull(result.progress),
    result.lastError,
    outcome.outcome === 'delivered' ? JSON.stringify(outcome.receipt) : null,
    state === 'delivered' || state === 'dead' ? result.settledAt : null,
    jsonOrNull(result.message),
    result.thread,
    outcome.outcome,
  );
  tallies.moved(found.sink, 'sending', state, count);
  insertAttempt(db, found, attempt.startedAt, attempt.endedAt, outcome);
}

/** The attempts of a digest are stored with its carrier. */
function insertAttempt(
  db: Database,
  { seq, carrier, attempts }: sql.FoundRow,
  startedAt: number,
  endedAt: number,
  outcome: Outcome,
): void {
  db.run(sql.insertAttempt, carrier ?? seq, attempts, startedAt, endedAt, JSON.stringify(outcome));
}

/** Reading them takes a few ms. */
const receiptsSearched = 2000;

const interrupted = {
  outcome: 'unknown',
  reason: 'unexpected',
  detail: 'The connector stopped during this attempt, so it may have arrived.',
} satisfies Outcome;

/** Rescues at most `limit` messages, to keep the transaction small. Returns the number of their deliveries. */
export function rescue(
  { db, tallies }: Transaction,
  { now, settlingMs }: { now: number; settlingMs: number },
  limit: number,
): number {
  let total = 0;
  for (const left of db.all(sql.leftSending, limit)) {
    // The clock may have been set back since.
    const dueAt = Math.max(now, Math.min(now, left.started_at) + settlingMs);
    const count = apply(db, sql.rescue, left, dueAt, interrupted.detail);
    insertAttempt(db, left, left.started_at, now, interrupted);
    tallies.moved(left.sink, 'sending', 'pending', count);
    total += count;
  }
  return total;
}

export function defer({ db, tallies }: Transaction, items: readonly Deferral[], now: number): void {
  for (const { deliveryId, until } of items) {
    const found = find(db, deliveryId);
    if (found?.state !== 'sending') continue;
    tallies.moved(found.sink, 'sending', 'pending', apply(db, sql.defer, found, until, until - now));
  }
}

/** See Store.pullIn. Looks at the next `limit` that come after the seq `after`; null: there are no more. */
export function pullIn(
  { db }: Transaction,
  { now, aheadMs }: { now: number; aheadMs: number },
  after: number,
  limit: number,
): { count: number; after: number | null } {
  const rows = db.all(sql.putOff, now, after, limit);
  let count = 0;
  for (const row of rows) {
    const dueAt = dueByRightClock(row, now, aheadMs);
    if (dueAt !== null) count += apply(db, sql.pullIn, row, dueAt, now);
  }
  return { count, after: rows.length < limit ? null : rows.at(-1)!.seq };
}

const dayMs = 86_400_000;

/** Null where a right clock put it off. Hours are looked at again when it is claimed, so it may be due at once. */
function dueByRightClock(row: sql.PutOffRow, now: number, aheadMs: number): number | null {
  const { attempts, due_at: dueAt, since, came_at: cameAt, tried_at: triedAt, group_key: group } = row;
  if (attempts === 0) {
    // Put off again, since it was claimed outside of its hours.
    if (dueAt !== since) return now;
    if (cameAt <= now) return null;
    return group === null ? now : dueAt - aheadMs;
  }
  // Replayed.
  if (dueAt === since) return now;
  if (triedAt !== null && triedAt > now) return dueAt - aheadMs;
  // Tried by a right clock, then put off for its hours by the wrong one: nothing else puts off for so long.
  return dueAt > now + dayMs && dueAt >= (triedAt ?? cameAt) + aheadMs ? now : null;
}

export function threadOf(db: Database, sink: string, thread: string): Receipt | null {
  const row = db.get(sql.receiptOfThread, sink, thread);
  return row ? (JSON.parse(row.receipt) as Receipt) : null;
}

export function newestReceipt(db: Database, lane: string): Receipt | null {
  const row = db.get(sql.newestReceipt, lane, receiptsSearched);
  return row ? (JSON.parse(row.receipt) as Receipt) : null;
}

export function keepPause({ db }: Transaction, { sink, since, probeAt, probes }: SinkPause): void {
  db.run(sql.keepPause, sink, since, probeAt, probes);
}

export function endPause({ db }: Transaction, sink: string): void {
  db.run(sql.endPause, sink);
}

export function pauses(db: Database): SinkPause[] {
  const rows = db.all(sql.pauses);
  return rows.map(({ sink, since, probe_at, probes }) => ({ sink, since, probeAt: probe_at, probes }));
}
