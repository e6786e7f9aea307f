import {
  type Delivery,
  type DeliveryState,
  type Event,
  type Json,
  lookupConnector,
  type Status,
  stuckStates,
} from '../../model.ts';
import type { AlertKind, RaisedNotice } from '../../model/notices.ts';
import type { Attempt } from '../../model/outcomes.ts';
import { parseDeliveryId } from '../../support/ids.ts';
import { find } from './deliveries.ts';
import { all, get, query, together, type Operation, type Query, type Value } from '../operation.ts';
import {
  attempt as attempts,
  causeOfDeath,
  deliveries as deliveriesTable,
  delivery as ofDelivery,
  event as ofEvent,
  firstNoticeSeq,
  isIn,
  isLastAttempt,
  isLookup,
  missedAfter,
  isRare,
  leads,
  notice as ofNotice,
  of,
  ofEvents,
  places,
  rareState,
  type RowOf,
  seqById,
  seqsPerEvent,
  waits,
} from '../rows.ts';

export interface Duplicate {
  readonly receivedAt: number;
  readonly correlationId: string | null;
}

export interface EventStory {
  readonly event: Event;
  readonly configId: string;
  readonly duplicates: number;
  /** False while it waits for look-ups, or for an earlier event of its candidate. */
  readonly decided: boolean;
  readonly deliveries: readonly Delivery[];
  /** Its look-ups: those before it was decided, and later ones that people asked for. */
  readonly lookups: readonly Delivery[];
}

export interface EventDetail extends Omit<EventStory, 'duplicates' | 'deliveries' | 'lookups'> {
  /** The first 1000, in order of arrival. */
  readonly duplicates: readonly Duplicate[];
  readonly deliveries: readonly DeliveryStory[];
  readonly lookups: readonly DeliveryStory[];
}

/** A delivery with its attempts. In a digest, the message and the attempts are the carrier's. */
export interface DeliveryStory extends Delivery {
  /** The last message, with secrets masked. Null before the first attempt ended. */
  readonly message: Json | null;
  readonly history: readonly Attempt[];
}

export interface NoticeFilter {
  /** Raised at or after (ms). */
  readonly since?: number;
  /** The id of a notice: only those after it in the list. */
  readonly after?: string;
  /** Default: 100. */
  readonly limit?: number;
}

export interface NoticeStory {
  readonly notice: RaisedNotice;
  readonly configId: string;
  readonly deliveries: readonly Delivery[];
}

export interface NoticeDetail extends Omit<NoticeStory, 'deliveries'> {
  readonly deliveries: readonly DeliveryStory[];
}

export interface DeliveryFilter {
  readonly states: readonly DeliveryState[];
  /** Whether to include look-ups. */
  readonly lookups?: true;
  readonly sink?: string | undefined;
  /** Only deliveries of events that are dead for this cause; see StuckCount. */
  readonly cause?: string | undefined;
  /** Created at or after (ms). */
  readonly since?: number | undefined;
  /** Only those whose last attempt had ended by then (ms). */
  readonly until?: number | undefined;
  /** The id of a delivery, the last of the page before: only those after it in the list. */
  readonly after?: string;
  /** Default: 1000. */
  readonly limit?: number;
}

/** An attempt at a delivery for an event, and what the event is about. */
export interface SinkAttempt extends Attempt {
  readonly eventId: string;
  readonly candidateId: string;
  readonly candidateNumericalId: number | null;
  readonly testId: number;
  readonly status: Status;
  readonly state: DeliveryState;
}

interface SubjectRow {
  readonly seq: number;
  readonly configId: string;
}

/** A condition of a `where`: SQL with a `?` for each of its values. */
export interface Condition {
  readonly text: string;
  readonly values: readonly Value[];
}

/** A condition on one value; none if the value is not given. */
export const given = (text: string, value: Value | undefined): Condition[] =>
  value === undefined || value === null ? [] : [{ text, values: [value] }];

/** Joins conditions into a `where`, their values numbered after the `first` ones. Returns it with all values. */
export function joined(
  conditions: readonly Condition[],
  ...first: Value[]
): [where: string, values: Value[]] {
  let number = first.length;
  const text = conditions.map((one) => one.text.replaceAll('?', () => `$${(number += 1)}`)).join(' and ');
  return [text === '' ? '' : `where ${text}`, [...first, ...conditions.flatMap(({ values }) => values)]];
}

type ListedRow = RowOf<Event> & SubjectRow & { readonly duplicates: number; readonly undecided: number };

const undecided = '(select count(*) from undecided u where u.event_seq = e.seq) as undecided';

/** Splits an event's deliveries into those that send messages and those that are look-ups. */
function partsOf<Made extends Delivery>(made: readonly Made[]) {
  const isAsked = ({ connector }: Delivery) => connector === lookupConnector;
  return { deliveries: made.filter((one) => !isAsked(one)), lookups: made.filter(isAsked) };
}

/** Selects events, newest first. $1: how many. */
export const eventsWhere = (where: string): Query<ListedRow> =>
  query(`
  select ${ofEvent.columns}, e.seq, e.config_id as "configId",
    (select count(*) from duplicates where event_seq = e.seq) as duplicates, ${undecided}
  from events e ${where} order by e.received_at desc, e.seq desc limit $1`);

type DeliveryRow = RowOf<Delivery> & { readonly seq: number };

const deliveryColumns = `${ofDelivery.columns}, d.seq`;

/**
 * Selects deliveries in a state, oldest first. $1: sink or null, $2: since or null, $3: only those after this seq, $4: how
 * many, $5: until or null, $6: the cause, if there is one. The plus makes SQLite use the index of pending deliveries, which are few, instead of
 * reading all deliveries in order.
 */
export function deliveriesIn(state: DeliveryState, cause = false, lookups = false): Query<DeliveryRow> {
  const seq = state === 'pending' ? '+d.seq' : 'd.seq';
  const byIndex = isRare(state) ? `and ${rareState}` : '';
  const ofCause = `and ${ofEvents} and (select ${causeOfDeath} from attempts a where ${isLastAttempt}) = $6`;
  return query(`
    select ${deliveryColumns} from ${deliveriesTable} where d.state = '${state}' ${byIndex} ${cause ? ofCause : ''}
      ${lookups ? '' : `and not ${isLookup}`}
      and (cast($1 as text) is null or d.sink = $1) and (cast($2 as bigint) is null or coalesce(e.received_at, n.raised_at) >= $2)
      and (cast($5 as bigint) is null or (select a.ended_at from attempts a where ${isLastAttempt}) <= $5)
      and ${seq} > $3 order by ${seq} limit $4`);
}

const selectNotices = `select ${ofNotice.columns}, n.seq, n.config_id as "configId" from notices n`;
type NoticeRow = RowOf<RaisedNotice> & SubjectRow;

/**
 * The seqs of deliveries of the sink $1 that were attempted: among the newest $3 of all events, as no index serves them, and
 * $2 of those that wait.
 */
const triedSeqs = `
  select seq from (
    select * from (select d.seq, d.sink, d.attempts, d.carrier from deliveries d where ${ofEvents}
      order by d.seq desc limit $3) as newest
  ) as d where d.sink = $1 and d.attempts > 0 and ${leads}
  union select * from (select d.seq from deliveries d where ${waits} and d.sink = $1 and d.attempts > 0 limit $2) as waiting`;
const lookedThrough = 10_000;
const mostTried = 1000;

export const sql = {
  eventById: query<RowOf<Event> & SubjectRow & Pick<ListedRow, 'undecided'>>(`
  select ${ofEvent.columns}, e.seq, e.config_id as "configId", ${undecided} from events e where e.id = $1`),
  /** $1 since, $2 limit; `after`: $3 is the id of the notice before. */
  noticesSince: (after: boolean): Query<NoticeRow> =>
    query(`
  ${selectNotices} where n.raised_at >= $1
    ${after ? 'and (n.raised_at, n.seq) < (select raised_at, seq from notices where id = $3)' : ''}
  order by n.raised_at desc, n.seq desc limit $2`),
  newestNotices: query<{ readonly cause: string; readonly raisedAt: number }>(`
  select cause, max(raised_at) as "raisedAt" from notices group by cause`),
  openTroubles: (alerts: readonly AlertKind[]): Query<NoticeRow> =>
    query(`
  ${selectNotices} where n.recovered = 0 and n.seq in (
    select max(seq) from notices where alert in (${places(alerts)}) group by alert, sink) order by n.seq`),
  noticeById: query<NoticeRow>(`${selectNotices} where n.id = $1`),
  deliveriesOf: query<RowOf<Delivery>>(`
  select ${ofDelivery.columns} from ${deliveriesTable} where d.seq ${of('$1')} order by d.seq`),
  /** The message of a digest is stored with its carrier. */
  storiesOf: query<DeliveryRow & { readonly message: string | null }>(`
  select ${deliveryColumns}, (select message from deliveries c where c.seq = coalesce(d.carrier, d.seq)) as message
  from ${deliveriesTable} where d.seq ${of('$1')} order by d.seq`),
  /** The attempts of a digest are stored with its carrier. */
  attemptsOf: query<RowOf<Attempt> & { readonly seq: number }>(`
  select d.seq, ${attempts.columns} from deliveries d join attempts a on a.delivery_seq = coalesce(d.carrier, d.seq)
  where d.seq ${of('$1')} order by d.seq, a.number`),
  duplicatesOfEvent: query<Duplicate>(`
  select received_at as "receivedAt", correlation_id as "correlationId" from duplicates
  where event_seq = $1 order by seq limit $2`),
  lookupsOf: query<RowOf<Delivery>>(`
  select ${ofDelivery.columns} from ${deliveriesTable}
  where d.seq ${of('(select seq from events where id = $1)')} and ${isLookup} order by d.seq`),
  /** The attempts of the sink $1. $4: how many. A digest counts once. */
  attemptsOfSink: query<RowOf<Attempt> & Omit<SinkAttempt, keyof Attempt>>(`
  select ${attempts.columns}, e.id as "eventId", e.candidate_id as "candidateId",
    e.candidate_numerical_id as "candidateNumericalId", e.test_id as "testId", e.status, d.state
  from (${triedSeqs}) as tried join deliveries d on d.seq = tried.seq join events e on e.seq = d.seq / ${seqsPerEvent}
    join attempts a on a.delivery_seq = d.seq order by a.ended_at desc, d.seq desc limit $4`),
  stuckNotices: query<RowOf<Delivery> & RowOf<RaisedNotice>>(`
  select ${ofDelivery.columns}, ${ofNotice.columns} from ${deliveriesTable}
  where ${isIn(stuckStates)} and ${rareState}
    and d.seq >= ${firstNoticeSeq * seqsPerEvent} order by d.seq`),
  missedSince: query<RowOf<Delivery>>(`
  select ${ofDelivery.columns} from ${deliveriesTable}
  where ${missedAfter('$1')} order by d.ended_at desc, d.seq desc limit $2`),
  deliveryById: query<RowOf<Delivery>>(`
  select ${ofDelivery.columns} from ${deliveriesTable} where d.seq = ${seqById}`),
  eventsOfDigest: query<RowOf<Event>>(`
  select ${ofEvent.columns} from ${deliveriesTable} where d.carrier = ${seqById} order by d.seq`),
};

/** Reads share the connection and the thread with writes, so every read is bounded. */
const defaultStories = 100;
const defaultDeliveries = 1000;
const maxDuplicates = 1000;

/** Reads the events that meet these conditions, with their deliveries, newest first. */
export function* storiesWhere(conditions: readonly Condition[], limit: number): Operation<EventStory[]> {
  const [where, values] = joined(conditions, limit);
  const rows = yield* all(eventsWhere(where), ...values);
  const plannedFor = yield* together(rows.map(({ seq }) => all(sql.deliveriesOf, seq)));
  return rows.map((row, index) =>
    Object.assign(partsOf(plannedFor[index]!.map(ofDelivery.read)), {
      event: ofEvent.read(row),
      configId: row.configId,
      duplicates: row.duplicates,
      decided: row.undecided === 0,
    }),
  );
}

export function* event(id: string): Operation<EventDetail | null> {
  const row = yield* get(sql.eventById, id);
  if (!row) return null;
  const { seq, configId } = row;
  const duplicates = yield* all(sql.duplicatesOfEvent, seq, maxDuplicates);
  const made = partsOf(yield* stories(seq));
  return { event: ofEvent.read(row), configId, duplicates, decided: row.undecided === 0, ...made };
}

/** Newest first. */
export function* notices(filter: NoticeFilter): Operation<NoticeStory[]> {
  const { since = 0, after, limit = defaultStories } = filter;
  const rows = yield* all(
    sql.noticesSince(after !== undefined),
    ...[since, limit, after].filter((value) => value !== undefined),
  );
  const plannedFor = yield* together(rows.map(({ seq }) => all(sql.deliveriesOf, seq)));
  return rows.map((row, index) => ({
    notice: ofNotice.read(row),
    configId: row.configId,
    deliveries: plannedFor[index]!.map(ofDelivery.read),
  }));
}

export function* notice(id: string): Operation<NoticeDetail | null> {
  const row = yield* get(sql.noticeById, id);
  if (!row) return null;
  return { notice: ofNotice.read(row), configId: row.configId, deliveries: yield* stories(row.seq) };
}

/** Reads all deliveries of the event or notice with this seq. */
function* stories(subject: number): Operation<DeliveryStory[]> {
  const made = yield* all(sql.attemptsOf, subject);
  return (yield* all(sql.storiesOf, subject)).map((row) =>
    Object.assign(ofDelivery.read(row), {
      message: row.message === null ? null : (JSON.parse(row.message) as Json),
      history: made.filter(({ seq }) => seq === row.seq).map(attempts.read),
    }),
  );
}

/** Reads the look-ups of each of these events, in their order. */
export function* lookupsOf(eventIds: readonly string[]): Operation<Delivery[][]> {
  const rows = yield* together(eventIds.map((id) => all(sql.lookupsOf, id)));
  return rows.map((asked) => asked.map(ofDelivery.read));
}

export function* delivery(id: string): Operation<Delivery | null> {
  const place = parseDeliveryId(id);
  const row = place && (yield* get(sql.deliveryById, place.eventId, place.noticeId, place.n));
  return row ? ofDelivery.read(row) : null;
}

/** The events of a digest, by the id of its carrier. */
export function* digestEvents(carrier: string): Operation<Event[]> {
  const place = parseDeliveryId(carrier);
  const rows = place ? yield* all(sql.eventsOfDigest, place.eventId, place.noticeId, place.n) : [];
  return rows.map(ofEvent.read);
}

/** Lists deliveries in these states, oldest first; those of notices come last. */
export function* deliveries(filter: DeliveryFilter): Operation<Delivery[]> {
  const { sink = null, since = null, limit = defaultDeliveries, until = null, cause } = filter;
  // Nothing comes after a delivery that was deleted meanwhile.
  const after =
    filter.after === undefined ? 0 : ((yield* find(filter.after))?.seq ?? Number.MAX_SAFE_INTEGER);
  // One query for each state, because most states have their own index.
  const rows = yield* together(
    filter.states.map((state) =>
      all(
        deliveriesIn(state, cause !== undefined, filter.lookups),
        ...[sink, since, after, limit, until, cause].filter((value) => value !== undefined),
      ),
    ),
  );
  return rows
    .flat()
    .toSorted((a, b) => a.seq - b.seq)
    .slice(0, limit)
    .map(ofDelivery.read);
}

/** Lists deliveries of events that were delivered after a time (ms), though not as meant, newest first; see Delivered.missed. */
export function* missed(since: number, limit: number): Operation<Delivery[]> {
  return (yield* all(sql.missedSince, since, limit)).map(ofDelivery.read);
}

/** Lists the dead and held deliveries of notices, oldest first. They are few: a cause is told at most once an hour. */
export function* stuckNotices(): Operation<{ readonly delivery: Delivery; readonly notice: RaisedNotice }[]> {
  return (yield* all(sql.stuckNotices)).map((row) => ({
    delivery: ofDelivery.read(row),
    notice: ofNotice.read(row),
  }));
}

/**
 * Lists the last attempts of a sink at messages for events, newest first: of its newest deliveries and of those that
 * wait. `among`: in so many of the newest deliveries of all sinks they are looked for, which is what takes the time.
 */
export function* attemptsOfSink(
  sink: string,
  limit: number,
  among = lookedThrough,
): Operation<SinkAttempt[]> {
  const rows = yield* all(sql.attemptsOfSink, sink, mostTried, among, limit);
  return rows.map((row) => {
    const { eventId, candidateId, candidateNumericalId, testId, status, state } = row;
    const about = { eventId, candidateId, candidateNumericalId, testId, status, state };
    return Object.assign(attempts.read(row), about);
  });
}

/** Finds the newest notice of each of these alerts and each sink, unless it says that the trouble is over. */
export function* openTroubles(alerts: readonly AlertKind[]): Operation<RaisedNotice[]> {
  return (yield* all(sql.openTroubles(alerts), ...alerts)).map(ofNotice.read);
}

/** When the newest notice of each cause was raised (ms). */
export function* lastRaised(): Operation<Map<string, number>> {
  return new Map((yield* all(sql.newestNotices)).map(({ cause, raisedAt }) => [cause, raisedAt]));
}
