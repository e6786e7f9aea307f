import type { PlannedDelivery } from '../../model.ts';
import { seqsPerEvent } from '../rows.ts';
import * as sql from '../sql.ts';
import type { Acceptance, Arrival, RejectedRequest } from '../store.ts';
import type { Database } from './database.ts';
import type { Transaction } from './transaction.ts';

interface Stored {
  readonly seq: number;
  readonly id: string;
}

interface Latest extends Stored {
  readonly content: number;
  readonly received_at: number;
}

/** See Store.accept. A transaction here is alone in writing, so twins in it or in another process find each other. */
export function accept(transaction: Transaction, arrival: Arrival): Acceptance {
  const { db } = transaction;
  const { event } = arrival;
  const latest = db.get<Latest>(sql.latestWithContent, event.candidateId, event.testId, event.status);
  const repeated = latest && findRepeated(db, arrival, latest);
  if (latest && repeated) return countDuplicate(db, arrival, repeated, latest.content);
  const { correlationId } = event;
  const correlationReused =
    correlationId !== null && db.get(sql.correlationSeen, correlationId) !== undefined;
  const seq = insertEvent(db, arrival, latest?.content ?? null);
  if (correlationId !== null) db.run(sql.insertCorrelation, correlationId, latest?.content ?? seq, seq);
  transaction.tallies.used(arrival.configId);
  insertDeliveries(transaction, seq, arrival.deliveries);
  return { eventId: event.id, duplicate: false, correlationReused };
}

function findRepeated(db: Database, { event, windowMs }: Arrival, latest: Latest): Stored | undefined {
  const retried =
    event.correlationId !== null &&
    db.get<Stored>(sql.eventOfCorrelation, event.correlationId, latest.content);
  if (retried) return retried;
  return event.receivedAt - latest.received_at < windowMs ? latest : undefined;
}

function countDuplicate(db: Database, { event }: Arrival, repeated: Stored, content: number): Acceptance {
  const { correlationId, receivedAt } = event;
  db.run(sql.insertDuplicate, repeated.seq, receivedAt, correlationId);
  if (correlationId !== null) db.run(sql.insertCorrelation, correlationId, content, repeated.seq);
  return { eventId: repeated.id, duplicate: true, correlationReused: false };
}

function insertEvent(db: Database, { event, configId }: Arrival, content: number | null): number {
  return db.run(
    sql.insertEvent,
    event.id,
    event.candidateId,
    event.candidateNumericalId,
    event.testId,
    event.status,
    content,
    event.correlationId,
    JSON.stringify(event.raw),
    event.receivedAt,
    configId,
  ).seq;
}

function insertDeliveries(
  { db, tallies }: Transaction,
  eventSeq: number,
  deliveries: readonly PlannedDelivery[],
): void {
  if (deliveries.length >= seqsPerEvent) {
    throw new RangeError(
      `An event with ${deliveries.length} deliveries; the store takes ${seqsPerEvent - 1}.`,
    );
  }
  let seq = eventSeq * seqsPerEvent;
  for (const { rule, action, sink, connector, lane, group, dueAt } of deliveries) {
    seq += 1;
    db.run(sql.insertDelivery, seq, rule, action, sink, connector, lane, group, dueAt);
    tallies.planned(sink, 'pending');
  }
}

export function keepRejected({ db }: Transaction, request: RejectedRequest, keep: number): void {
  const { receivedAt, address, correlationId, status, faults, body } = request;
  db.run(sql.insertRejectedRequest, receivedAt, address, correlationId, status, JSON.stringify(faults), body);
  db.run(sql.trimRejectedRequests, keep);
}
