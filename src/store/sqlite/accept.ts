import type { Event } from '../../model.ts';
import { candidateKey } from '../candidate-key.ts';
import { RecentCorrelations } from '../recent-correlations.ts';
import * as sql from '../sql/receiving.ts';
import type { Acceptance, Arrival, RejectedRequest } from '../store.ts';
import type { Database } from './database.ts';
import { insertDeliveries } from './deliveries.ts';
import type { Transaction } from './transaction.ts';

const recentCorrelations = 10_000;
/** Fewer than are remembered later, because reading them delays the first event after a start. */
const loadedCorrelations = 1000;

/**
 * See Store.accept. Only one transaction writes at a time, so simultaneous duplicates are found, also across processes.
 */
export function accept(
  transaction: Transaction,
  arrival: Arrival,
  correlations: RecentCorrelations,
): Acceptance {
  const { db, tallies } = transaction;
  const { event } = arrival;
  const key = candidateKey(event.candidateId);
  const latest = db.get(sql.latestWithContent, key, event.candidateId, event.testId, event.status);
  const repeated = latest && findRepeated(db, arrival, latest);
  const correlationReused = event.correlationId !== null && correlations.note(event.correlationId, event);
  if (latest && repeated) return countDuplicate(db, event, repeated, latest.content);
  const seq = insertEvent(db, arrival, key, latest?.content ?? null);
  if (latest) insertCorrelation(db, event, latest.content, seq);
  tallies.used(arrival.configId);
  insertDeliveries(transaction, seq, arrival.deliveries);
  return { eventId: event.id, duplicate: false, correlationReused };
}

function findRepeated(
  db: Database,
  { event, windowMs }: Arrival,
  latest: sql.StoredContent,
): sql.StoredEvent | undefined {
  if (event.correlationId !== null) {
    const retried = db.get(sql.eventOfCorrelation, latest.content, event.correlationId);
    if (retried) return retried;
  }
  // One that came by a clock far ahead must not repel all others until that time.
  return Math.abs(event.receivedAt - latest.received_at) < windowMs ? latest : undefined;
}

function countDuplicate(db: Database, event: Event, repeated: sql.StoredEvent, content: number): Acceptance {
  db.run(sql.insertDuplicate, repeated.seq, event.receivedAt, event.correlationId);
  insertCorrelation(db, event, content, repeated.seq);
  return { eventId: repeated.id, duplicate: true, correlationReused: false };
}

/** For all but the first event of a content, whose own row has its correlation id. */
function insertCorrelation(db: Database, { correlationId }: Event, content: number, eventSeq: number): void {
  if (correlationId !== null) db.run(sql.insertCorrelation, content, correlationId, eventSeq);
}

function insertEvent(
  db: Database,
  { event, configId }: Arrival,
  key: number,
  content: number | null,
): number {
  return db.run(
    sql.insertEvent,
    event.id,
    key,
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

/** The last arrivals before this process started. */
export function loadCorrelations(db: Database): RecentCorrelations {
  const correlations = new RecentCorrelations(recentCorrelations);
  const rows = db.all(sql.newestCorrelations, loadedCorrelations);
  for (const row of rows.toReversed()) {
    if (row.correlation_id === null) continue;
    correlations.note(row.correlation_id, {
      candidateId: row.candidate_id,
      testId: row.test_id,
      status: row.status,
    });
  }
  return correlations;
}

export function keepRejected({ db }: Transaction, request: RejectedRequest, keep: number): void {
  const { receivedAt, address, correlationId, status, faults, body } = request;
  db.run(sql.insertRejectedRequest, receivedAt, address, correlationId, status, JSON.stringify(faults), body);
  db.run(sql.trimRejectedRequests, keep);
}
