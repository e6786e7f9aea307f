import { parseDeliveryId } from '../../ids.ts';
import type { Outcome, Receipt } from '../../model.ts';
import { jsonOrNull, toDelivery, toEvent } from '../rows.ts';
import * as sql from '../sql/carrying-out.ts';
import type { AttemptResult, Claimed, LaneHead } from '../store.ts';
import type { Database } from './database.ts';
import type { Transaction } from './transaction.ts';

export function lanes(db: Database): LaneHead[] {
  return db.all(sql.laneHeads).map(({ lane, sink, due_at }) => ({ lane, sink, dueAt: due_at }));
}

export function claim(
  { db, tallies }: Transaction,
  { lane, now, limit }: { lane: string; now: number; limit: number },
): Claimed[] {
  const rows = db.all(sql.dueInLane, lane, now, limit);
  return rows.map((row) => {
    db.run(sql.claimDelivery, row.seq, now);
    tallies.moved(row.sink, 'pending', 'sending');
    const delivery = toDelivery({
      ...row,
      state: 'sending',
      attempts: row.attempts + 1,
      first_attempt_at: row.first_attempt_at ?? now,
    });
    return { delivery, event: toEvent(row) };
  });
}

export function record(transaction: Transaction, results: readonly AttemptResult[]): void {
  for (const result of results) recordOne(transaction, result);
}

function recordOne({ db, tallies }: Transaction, result: AttemptResult): void {
  const { attempt, state } = result;
  const id = parseDeliveryId(result.deliveryId);
  if (!id) return;
  const delivered = attempt.outcome.outcome === 'delivered' ? attempt.outcome : null;
  const recorded = db.get(
    sql.recordResult,
    id.eventId,
    id.n,
    attempt.number,
    state,
    result.dueAt,
    result.uncertain ? 1 : 0,
    jsonOrNull(result.progress),
    result.lastError,
    jsonOrNull(result.message),
    result.thread,
    jsonOrNull(delivered && delivered.receipt),
    delivered && attempt.endedAt,
  );
  if (!recorded) return;
  tallies.moved(recorded.sink, 'sending', state);
  const { number, startedAt, endedAt, outcome } = attempt;
  db.run(sql.insertAttempt, recorded.seq, number, startedAt, endedAt, JSON.stringify(outcome));
}

const interrupted = {
  outcome: 'unknown',
  reason: 'unexpected',
  detail: 'The connector stopped during this attempt, so it may have arrived.',
} satisfies Outcome;

/** At most `limit`, so that no transaction grows large; fewer were rescued when none is left. */
export function rescue({ db, tallies }: Transaction, now: number, limit: number): number {
  const left = db.all(sql.leftSending, limit);
  for (const { seq, sink, attempts, started_at } of left) {
    db.run(sql.rescueDelivery, seq, now, interrupted.detail);
    db.run(sql.insertAttempt, seq, attempts, started_at, now, JSON.stringify(interrupted));
    tallies.moved(sink, 'sending', 'pending');
  }
  return left.length;
}

export function release({ db, tallies }: Transaction, deliveryIds: readonly string[]): void {
  for (const deliveryId of deliveryIds) {
    const id = parseDeliveryId(deliveryId);
    const released = id && db.get(sql.releaseDelivery, id.eventId, id.n);
    if (released) tallies.moved(released.sink, 'sending', 'pending');
  }
}

export function threadOf(db: Database, sink: string, thread: string): Receipt | null {
  const row = db.get(sql.receiptOfThread, sink, thread);
  return row ? (JSON.parse(row.receipt) as Receipt) : null;
}
