import { parseDeliveryId } from '../../support/ids.ts';
import {
  type AlertKind,
  deliveryStates,
  type Delivery,
  type DeliveryState,
  missedCause,
  type RaisedNotice,
} from '../../model.ts';
import type {
  StuckCount,
  DayCount,
  DeliveryFilter,
  DeliveryStory,
  EventDetail,
  EventFilter,
  EventStory,
  KeptRequest,
  NoticeDetail,
  NoticeFilter,
  NoticeStory,
  RejectedFilter,
  SinkCount,
  Tally,
} from '../store.ts';
import type { Counted } from '../tallies.ts';
import { find } from './deliveries.ts';
import { all, get, query, together, type Operation, type Query } from './operation.ts';
import {
  candidateKey,
  deliveries as deliveriesTable,
  deliveryColumns,
  eventColumns,
  firstNoticeSeq,
  noticeColumns,
  of,
  rareState,
  seqOf,
  seqsPerEvent,
  toDelivery,
  toDuplicate,
  toEvent,
  toKeptRequest,
  toNotice,
  toStory,
  type AttemptRow,
  type DeliveryRow,
  type DuplicateRow,
  type EventRow,
  type NoticeRow,
  type RejectedRow,
  type StoryRow,
} from './rows.ts';

interface CountRow {
  readonly sink: string;
  readonly state: Counted;
  readonly n: number;
}

interface DayRow {
  readonly day: number;
  readonly sink: string;
  readonly what: string;
  readonly delay_ms: number;
  readonly n: number;
}

interface StuckRow {
  readonly sink: string;
  readonly cause: string;
  readonly stuck: number;
  readonly first_at: number;
  readonly reason: string | null;
}

interface EventConditions {
  readonly since: boolean;
  readonly status: boolean;
  /** Takes two values: the candidate's key and id. */
  readonly candidateId: boolean;
  /** The id of the event before. */
  readonly after: boolean;
}

/** Values: those of the conditions in this order, then the limit. */
export function eventsWhere(conditions: EventConditions): Query<EventRow & { readonly duplicates: number }> {
  const where = [
    conditions.since && 'e.received_at >= ?',
    conditions.status && 'e.status = ?',
    conditions.candidateId && 'e.candidate_key = ? and e.candidate_id = ?',
    conditions.after && '(e.received_at, e.seq) < (select received_at, seq from events where id = ?)',
  ].filter((text) => text !== false);
  let place = 0;
  const text = `
    select ${eventColumns}, (select count(*) from duplicates where event_seq = e.seq) as duplicates from events e
    ${where.length > 0 ? `where ${where.join(' and ')}` : ''} order by e.received_at desc, e.seq desc limit ?`;
  return query(text.replaceAll('?', () => `$${(place += 1)}`));
}

const indexOf = (state: DeliveryState) =>
  state === 'pending' || state === 'delivered' ? '' : `and ${rareState}`;

/**
 * $1 sink and $2 since may be null; $3: only those after this seq; with a cause, that is $5. Few deliveries are pending, and
 * they have their own index. The plus makes SQLite use it instead of reading all deliveries in order.
 */
export function deliveriesIn(state: DeliveryState, cause = false): Query<DeliveryRow> {
  const seq = state === 'pending' ? '+d.seq' : 'd.seq';
  const ofCause = `and ${ofEvents} and (select ${causeOfDeath} from attempts a where ${isLastAttempt}) = $5`;
  return query(`
    select ${deliveryColumns} from ${deliveriesTable} where d.state = '${state}' ${indexOf(state)} ${cause ? ofCause : ''}
      and (cast($1 as text) is null or d.sink = $1) and (cast($2 as bigint) is null or coalesce(e.received_at, n.raised_at) >= $2)
      and ${seq} > $3 order by ${seq} limit $4`);
}

/**
 * Only deliveries of events. $1 sink may be null; $2: received since, 0 for all; $3: only those before this seq. Reads
 * from the newest back to the first event of that time. The plus keeps SQLite from searching for it from the oldest on.
 */
export function newestIn(state: DeliveryState, since: boolean): Query<DeliveryRow> {
  const first = `(select min(+seq) from events where received_at >= $2) * ${seqsPerEvent}`;
  return query(`
    select ${deliveryColumns} from ${deliveriesTable} where d.state = '${state}' ${indexOf(state)}
      and (cast($1 as text) is null or d.sink = $1) and e.received_at >= $2
      and d.seq < $3 ${since ? `and d.seq > ${first}` : ''} order by d.seq desc limit $4`);
}

/** `latest`: the seq of one of them, to find the reason. */
const stuckOf = (causes: string) =>
  query<StuckRow>(`
  select sink, cause, stuck, first_at, (select last_error from deliveries where seq = latest) as reason
  from (${causes}) as causes order by sink, cause`);

/** The last attempt of each. */
const isLastAttempt = 'a.delivery_seq = coalesce(d.carrier, d.seq) and a.number = d.attempts';
const lastAttempt = `
  deliveries d join attempts a on ${isLastAttempt}`;

const ofEvents = `d.seq < ${firstNoticeSeq * seqsPerEvent}`;

/** A rejection is about the action's message. Other failures are about the sink. */
const causeOfDeath = `
  a.outcome ->> 'reason'
    || case when a.outcome ->> 'outcome' = 'rejected' then ' in ' || d.rule || ' ' || d.action else '' end`;

export const sql = {
  eventById: query<EventRow>(`select ${eventColumns} from events e where e.id = $1`),
  /** $1 since, $2 limit; `after`: $3 is the id of the notice before. */
  noticesSince: (after: boolean): Query<NoticeRow> =>
    query(`
  select ${noticeColumns} from notices n where n.raised_at >= $1
    ${after ? 'and (n.raised_at, n.seq) < (select raised_at, seq from notices where id = $3)' : ''}
  order by n.raised_at desc, n.seq desc limit $2`),
  newestNotices: query<{ readonly cause: string; readonly raised_at: number }>(`
  select cause, max(raised_at) as raised_at from notices group by cause`),
  openTroubles: (alerts: readonly AlertKind[]): Query<NoticeRow> =>
    query(`
  select ${noticeColumns} from notices n where n.recovered = 0 and n.seq in (
    select max(seq) from notices where alert in (${alerts.map((_, place) => `$${place + 1}`).join(', ')}) group by alert, sink)
  order by n.seq`),
  noticeById: query<NoticeRow>(`select ${noticeColumns} from notices n where n.id = $1`),
  deliveriesOf: query<DeliveryRow>(`
  select ${deliveryColumns} from ${deliveriesTable} where d.seq ${of('$1')} order by d.seq`),
  /** The message of a digest is stored with its carrier. */
  storiesOf: query<StoryRow>(`
  select ${deliveryColumns}, (select message from deliveries c where c.seq = coalesce(d.carrier, d.seq)) as message
  from ${deliveriesTable} where d.seq ${of('$1')} order by d.seq`),
  /** The attempts of a digest are stored with its carrier. */
  attemptsOf: query<AttemptRow>(`
  select d.seq as delivery_seq, a.number, a.started_at, a.ended_at, a.outcome
  from deliveries d join attempts a on a.delivery_seq = coalesce(d.carrier, d.seq)
  where d.seq ${of('$1')} order by d.seq, a.number`),
  duplicatesOfEvent: query<DuplicateRow>(`
  select received_at, correlation_id from duplicates where event_seq = $1 order by seq limit $2`),
  deliveryById: query<DeliveryRow>(`
  select ${deliveryColumns} from ${deliveriesTable} where d.seq = ${seqOf('$1', '$2', '$3')}`),
  rejectedRequests: query<RejectedRow>(`
  select seq, received_at, address, correlation_id, status, faults, body from rejected_requests
  where seq < $1 order by seq desc limit $2`),
  deliveryCounts: query<CountRow>(`select sink, state, n from delivery_counts order by sink, state`),
  /** Those that went dead since $1, and those that were delivered since $2 but missed somebody. */
  deadSince: stuckOf(`
    select d.sink, ${causeOfDeath} as cause, count(*) as stuck, min(d.ended_at) as first_at, max(d.seq) as latest
    from ${lastAttempt} where d.state = 'dead' and d.ended_at > $1 and ${ofEvents} group by d.sink, cause
    union all
    select d.sink, '${missedCause} ' || d.rule || ' ' || d.action as cause, count(*) as stuck, min(d.ended_at) as first_at,
      max(d.seq) as latest
    from deliveries d where d.state = 'delivered' and d.last_error is not null and d.ended_at > $2 and ${ofEvents}
    group by d.sink, d.rule, d.action`),
  /** Held deliveries are few, because a sink must ask for it. */
  heldSince: stuckOf(`
    select d.sink, '' as cause, count(*) as stuck, min(a.ended_at) as first_at, max(d.seq) as latest
    from ${lastAttempt} where d.state = 'held' and ${rareState} and a.ended_at > $1 and ${ofEvents} group by d.sink`),
  eventsBetween: query<Tally['events'][number]>(`
    select test_id as "testId", status, count(*) as count from events where received_at >= $1 and received_at < $2
    group by test_id, status order by test_id, status`),
  deliveriesBetween: query<Tally['deliveries'][number]>(`
    select d.sink, d.state, count(*) as count from events e join deliveries d on d.seq ${of('e.seq')}
    where e.received_at >= $1 and e.received_at < $2 group by d.sink, d.state order by d.sink, d.state`),
  daily: query<DayRow>(`
    select (hour - cast($1 as bigint)) / 24 as day, sink, what, delay_ms, cast(sum(n) as bigint) as n from hourly
    where hour >= $1 and hour < $2 group by 1, sink, what, delay_ms order by 1, sink, what, delay_ms`),
  newestReceipt: query<{ readonly received_at: number | null }>(
    `select max(received_at) as received_at from events where received_at <= $1`,
  ),
};

/** Reads share the connection and the thread with writes, so every read is bounded. */
const defaultStories = 100;
const defaultDeliveries = 1000;
const maxDuplicates = 1000;

export function* events(filter: EventFilter): Operation<EventStory[]> {
  const { since, status, candidateId, after, limit = defaultStories } = filter;
  const statement = eventsWhere({
    since: since !== undefined,
    status: status !== undefined,
    candidateId: candidateId !== undefined,
    after: after !== undefined,
  });
  const candidate = candidateId === undefined ? [] : [candidateKey(candidateId), candidateId];
  const values = [since, status, ...candidate, after, limit].filter((value) => value !== undefined);
  const rows = yield* all(statement, ...values);
  const plannedFor = yield* together(rows.map((row) => all(sql.deliveriesOf, row.event_seq)));
  return rows.map((row, index) => toStoryInList(row, plannedFor[index]!));
}

export function toStoryInList(
  row: EventRow & { readonly duplicates: number },
  planned: readonly DeliveryRow[],
): EventStory {
  return {
    event: toEvent(row),
    configId: row.event_config_id,
    duplicates: row.duplicates,
    deliveries: planned.map(toDelivery),
  };
}

export function* event(id: string): Operation<EventDetail | null> {
  const row = yield* get(sql.eventById, id);
  if (!row) return null;
  return {
    event: toEvent(row),
    configId: row.event_config_id,
    duplicates: (yield* all(sql.duplicatesOfEvent, row.event_seq, maxDuplicates)).map(toDuplicate),
    deliveries: yield* stories(row.event_seq),
  };
}

export function* notices(filter: NoticeFilter): Operation<NoticeStory[]> {
  const { since = 0, after, limit = defaultStories } = filter;
  const rows =
    after === undefined
      ? yield* all(sql.noticesSince(false), since, limit)
      : yield* all(sql.noticesSince(true), since, limit, after);
  const plannedFor = yield* together(rows.map((row) => all(sql.deliveriesOf, row.notice_seq)));
  return rows.map((row, index) => ({
    notice: toNotice(row),
    configId: row.config_id,
    deliveries: plannedFor[index]!.map(toDelivery),
  }));
}

export function* notice(id: string): Operation<NoticeDetail | null> {
  const row = yield* get(sql.noticeById, id);
  if (!row) return null;
  return { notice: toNotice(row), configId: row.config_id, deliveries: yield* stories(row.notice_seq) };
}

/** Of all deliveries of the event or notice with this seq. */
function* stories(seq: number): Operation<DeliveryStory[]> {
  const attempts = yield* all(sql.attemptsOf, seq);
  return (yield* all(sql.storiesOf, seq)).map((row) => toStory(row, attempts));
}

export function* delivery(id: string): Operation<Delivery | null> {
  const place = parseDeliveryId(id);
  const row = place && (yield* get(sql.deliveryById, place.eventId, place.noticeId, place.n));
  return row ? toDelivery(row) : null;
}

/** One query for each state, because most states have their own index. */
export function* deliveries(filter: DeliveryFilter): Operation<Delivery[]> {
  const { sink = null, since = null, limit = defaultDeliveries, newestFirst = false } = filter;
  // Nothing comes after a deleted delivery.
  const gone = newestFirst ? 0 : Number.MAX_SAFE_INTEGER;
  const start = newestFirst ? firstNoticeSeq * seqsPerEvent : 0;
  const after = filter.after === undefined ? start : ((yield* find(filter.after))?.seq ?? gone);
  const rows = yield* together(
    filter.states.map((state) =>
      newestFirst
        ? all(newestIn(state, since !== null), sink, since ?? 0, after, limit)
        : filter.cause === undefined
          ? all(deliveriesIn(state), sink, since, after, limit)
          : all(deliveriesIn(state, true), sink, since, after, limit, filter.cause),
    ),
  );
  return rows
    .flat()
    .toSorted((a, b) => (newestFirst ? b.seq - a.seq : a.seq - b.seq))
    .slice(0, limit)
    .map(toDelivery);
}

export function* rejectedRequests(filter: RejectedFilter): Operation<KeptRequest[]> {
  const { after = Number.MAX_SAFE_INTEGER, limit = defaultStories } = filter;
  return (yield* all(sql.rejectedRequests, after, limit)).map(toKeptRequest);
}

export function* counts(): Operation<SinkCount[]> {
  const bySink = new Map<string, Map<string, number>>();
  for (const { sink, state, n } of yield* all(sql.deliveryCounts)) {
    const states = bySink.get(sink) ?? new Map<string, number>();
    bySink.set(sink, states.set(state, n));
  }
  return Array.from(bySink, ([sink, states]) => ({
    sink,
    planned: states.get('planned') ?? 0,
    states: Object.fromEntries(
      deliveryStates.map((state) => [state, states.get(state) ?? 0]),
    ) as SinkCount['states'],
  }));
}

export function* openTroubles(alerts: readonly AlertKind[]): Operation<RaisedNotice[]> {
  return (yield* all(sql.openTroubles(alerts), ...alerts)).map(toNotice);
}

export function* lastRaised(): Operation<Map<string, number>> {
  return new Map((yield* all(sql.newestNotices)).map(({ cause, raised_at }) => [cause, raised_at]));
}

export function* deadSince(time: number, missedSince: number): Operation<StuckCount[]> {
  return (yield* all(sql.deadSince, time, missedSince)).map(toStuckCount);
}

export function* heldSince(time: number): Operation<StuckCount[]> {
  return (yield* all(sql.heldSince, time)).map(toStuckCount);
}

function toStuckCount({ sink, cause, stuck, first_at, reason }: StuckRow): StuckCount {
  return { sink, cause, count: stuck, firstAt: first_at, reason: reason ?? '' };
}

export function* tally(from: number, to: number): Operation<Tally> {
  return {
    events: yield* all(sql.eventsBetween, from, to),
    deliveries: yield* all(sql.deliveriesBetween, from, to),
  };
}

const hourMs = 3_600_000;

export function* daily(from: number, to: number): Operation<DayCount[]> {
  const hours = [from, to].map((time) => Math.floor(time / hourMs)) as [number, number];
  return (yield* all(sql.daily, ...hours)).map(({ day, sink, what, delay_ms, n }) => ({
    day,
    sink: sink === '' ? null : sink,
    what,
    delayMs: delay_ms,
    count: n,
  }));
}

export function* lastEventAt(until = Number.MAX_SAFE_INTEGER): Operation<number | null> {
  return (yield* get(sql.newestReceipt, until))?.received_at ?? null;
}
