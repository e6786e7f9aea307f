import type { Event, Status } from '../../model.ts';
import { RecentCorrelations } from '../recent-correlations.ts';
import type { Acceptance, Arrival, NoticeArrival, RejectedRequest } from '../store.ts';
import type { Tallies } from '../tallies.ts';
import { insertDeliveries } from './deliveries.ts';
import { all, get, insert, lock, query, run, type Operation } from './operation.ts';
import { candidateKey, firstNoticeSeq } from './rows.ts';

interface StoredEvent {
  readonly seq: number;
  readonly id: string;
}

interface StoredContent extends StoredEvent {
  /** The seq of the first event of this content. */
  readonly content: number;
  readonly received_at: number;
}

interface CorrelationRow {
  readonly correlation_id: string | null;
  readonly candidate_id: string;
  readonly test_id: number;
  readonly status: Status;
}

export const sql = {
  latestWithContent: query<StoredContent>(`
  select seq, id, coalesce(content, seq) as content, received_at from events
  where candidate_key = $1 and candidate_id = $2 and test_id = $3 and status = $4 order by seq desc limit 1`),
  /** The event of this content with the correlation id, or whose duplicate had it. */
  eventOfCorrelation: query<StoredEvent>(`
  select seq, id from events where seq = $1 and correlation_id = $2
  union all
  select e.seq, e.id from correlations c join events e on e.seq = c.event_seq
  where c.content = $1 and c.correlation_id = $2`),
  newestCorrelations: query<CorrelationRow>(`
  select correlation_id, candidate_id, test_id, status from events order by seq desc limit $1`),
  insertEvent: `
  insert into events (id, candidate_key, candidate_id, candidate_numerical_id, test_id, status, content,
    correlation_id, raw, received_at, config_id)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
  insertCorrelation: `
  insert into correlations (content, correlation_id, event_seq) values ($1, $2, $3)
  on conflict (content, correlation_id) do nothing`,
  insertDuplicate: `
  insert into duplicates (event_seq, received_at, correlation_id) values ($1, $2, $3)`,
  /** Not later than $2 and later than $3. */
  noticeWithin: query<{ readonly seq: number }>(`
  select seq from notices where cause = $1 and raised_at <= $2 and raised_at > $3 limit 1`),
  insertNotice: `
  insert into notices (seq, id, alert, cause, sink, count, since, detail, advice, recovered, raised_at, config_id,
    origin)
  select coalesce(max(seq) + 1, ${firstNoticeSeq}), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12 from notices`,
  insertRejectedRequest: `
  insert into rejected_requests (received_at, address, correlation_id, status, faults, body)
  values ($1, $2, $3, $4, $5, $6)`,
  trimRejectedRequests: `
  delete from rejected_requests where seq <= (select max(seq) from rejected_requests) - $1`,
};

const recentCorrelations = 10_000;
/** Fewer than are remembered later, because reading them delays the first event after a start. */
const loadedCorrelations = 1000;

/** See Store.accept. Simultaneous duplicates wait for each other, also across processes. */
export function* accept(
  tallies: Tallies,
  arrival: Arrival,
  correlations: RecentCorrelations,
): Operation<Acceptance> {
  const { event } = arrival;
  const key = candidateKey(event.candidateId);
  yield* lock(`${event.testId} ${event.status} ${event.candidateId}`);
  const latest = yield* get(sql.latestWithContent, key, event.candidateId, event.testId, event.status);
  const repeated = latest && (yield* findRepeated(arrival, latest));
  const correlationReused = event.correlationId !== null && correlations.note(event.correlationId, event);
  if (latest && repeated) return yield* countDuplicate(event, repeated, latest.content);
  const seq = yield* insertEvent(arrival, key, latest?.content ?? null);
  if (latest) yield* insertCorrelation(event, latest.content, seq);
  tallies.used(arrival.configId);
  tallies.came(event.status, event.receivedAt);
  yield* insertDeliveries(tallies, seq, arrival.deliveries);
  return { eventId: event.id, duplicate: false, correlationReused };
}

function* findRepeated(
  { event, windowMs }: Arrival,
  latest: StoredContent,
): Operation<StoredEvent | undefined> {
  if (event.correlationId !== null) {
    const retried = yield* get(sql.eventOfCorrelation, latest.content, event.correlationId);
    if (retried) return retried;
  }
  // One that came by a clock far ahead must not repel all others until that time.
  return Math.abs(event.receivedAt - latest.received_at) < windowMs ? latest : undefined;
}

function* countDuplicate(event: Event, repeated: StoredEvent, content: number): Operation<Acceptance> {
  yield* run(sql.insertDuplicate, repeated.seq, event.receivedAt, event.correlationId);
  yield* insertCorrelation(event, content, repeated.seq);
  return { eventId: repeated.id, duplicate: true, correlationReused: false };
}

/** For all but the first event of a content, whose own row has its correlation id. */
function* insertCorrelation({ correlationId }: Event, content: number, eventSeq: number): Operation<void> {
  if (correlationId !== null) yield* run(sql.insertCorrelation, content, correlationId, eventSeq);
}

function insertEvent({ event, configId }: Arrival, key: number, content: number | null): Operation<number> {
  return insert(
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
  );
}

/** The last arrivals before this process started. */
export function* loadCorrelations(): Operation<RecentCorrelations> {
  const correlations = new RecentCorrelations(recentCorrelations);
  const rows = yield* all(sql.newestCorrelations, loadedCorrelations);
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

/** See Store.raise. */
export function* raise(
  tallies: Tallies,
  { notice, configId, deliveries, quietMs }: NoticeArrival,
): Operation<boolean> {
  const { id, alert, cause, sink, count, since, detail, advice, recovered, from, raisedAt } = notice;
  yield* lock('notices');
  if (yield* get(sql.noticeWithin, cause, raisedAt, raisedAt - quietMs)) return false;
  const seq = yield* insert(
    sql.insertNotice,
    id,
    alert,
    cause,
    sink,
    count,
    since,
    detail,
    advice,
    Number(recovered),
    raisedAt,
    configId,
    from ?? null,
  );
  tallies.used(configId);
  const alone = deliveries.map((planned) => ({ ...planned, group: null, groupMax: null }));
  yield* insertDeliveries(tallies, seq, alone);
  return true;
}

export function* keepRejected(request: RejectedRequest, keep: number): Operation<void> {
  const { receivedAt, address, correlationId, status, faults, body } = request;
  yield* run(
    sql.insertRejectedRequest,
    receivedAt,
    address,
    correlationId,
    status,
    JSON.stringify(faults),
    body,
  );
  yield* run(sql.trimRejectedRequests, keep);
}
