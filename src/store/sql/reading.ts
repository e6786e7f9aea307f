import type { DeliveryState } from '../../model.ts';
import {
  deliveryColumns,
  eventColumns,
  firstNoticeSeq,
  noticeColumns,
  seqsPerEvent,
  type AttemptRow,
  type DeliveryRow,
  type DuplicateRow,
  type EventRow,
  type NoticeRow,
  type RejectedRow,
  type StoryRow,
} from '../rows.ts';
import type { Counted } from '../tallies.ts';
import { deliveries, of, rareState, query, seqOf, type Query } from './query.ts';

export interface CountRow {
  readonly sink: string;
  readonly state: Counted;
  readonly n: number;
}

export interface StuckRow {
  readonly sink: string;
  readonly cause: string;
  readonly stuck: number;
  readonly first_at: number;
  readonly reason: string | null;
}

export interface EventConditions {
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

export const eventById = query<EventRow>(`select ${eventColumns} from events e where e.id = $1`);

/** $1 since, $2 limit; `after`: $3 is the id of the notice before. */
export const noticesSince = (after: boolean): Query<NoticeRow> =>
  query(`
  select ${noticeColumns} from notices n where n.raised_at >= $1
    ${after ? 'and (n.raised_at, n.seq) < (select raised_at, seq from notices where id = $3)' : ''}
  order by n.raised_at desc, n.seq desc limit $2`);

export const newestNotices = query<{ readonly cause: string; readonly raised_at: number }>(`
  select cause, max(raised_at) as raised_at from notices group by cause`);

export const noticeById = query<NoticeRow>(`select ${noticeColumns} from notices n where n.id = $1`);

export const deliveriesOf = query<DeliveryRow>(`
  select ${deliveryColumns} from ${deliveries} where d.seq ${of('$1')} order by d.seq`);

/** The message of a digest is stored with its carrier. */
export const storiesOf = query<StoryRow>(`
  select ${deliveryColumns}, (select message from deliveries c where c.seq = coalesce(d.carrier, d.seq)) as message
  from ${deliveries} where d.seq ${of('$1')} order by d.seq`);

/** The attempts of a digest are stored with its carrier. */
export const attemptsOf = query<AttemptRow>(`
  select d.seq as delivery_seq, a.number, a.started_at, a.ended_at, a.outcome
  from deliveries d join attempts a on a.delivery_seq = coalesce(d.carrier, d.seq)
  where d.seq ${of('$1')} order by d.seq, a.number`);

export const duplicatesOfEvent = query<DuplicateRow>(`
  select received_at, correlation_id from duplicates where event_seq = $1 order by seq limit $2`);

export const deliveryById = query<DeliveryRow>(`
  select ${deliveryColumns} from ${deliveries} where d.seq = ${seqOf('$1', '$2', '$3')}`);

const indexOf = (state: DeliveryState) =>
  state === 'pending' || state === 'delivered' ? '' : `and ${rareState}`;

/**
 * $1 sink and $2 since may be null; $3: only those after this seq. Few deliveries are pending, and they have their own
 * index. The plus makes SQLite use it instead of reading all deliveries in order.
 */
export function deliveriesIn(state: DeliveryState): Query<DeliveryRow> {
  const seq = state === 'pending' ? '+d.seq' : 'd.seq';
  return query(`
    select ${deliveryColumns} from ${deliveries} where d.state = '${state}' ${indexOf(state)}
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
    select ${deliveryColumns} from ${deliveries} where d.state = '${state}' ${indexOf(state)}
      and (cast($1 as text) is null or d.sink = $1) and e.received_at >= $2
      and d.seq < $3 ${since ? `and d.seq > ${first}` : ''} order by d.seq desc limit $4`);
}

export const rejectedRequests = query<RejectedRow>(`
  select seq, received_at, address, correlation_id, status, faults, body from rejected_requests
  where seq < $1 order by seq desc limit $2`);

export const deliveryCounts = query<CountRow>(
  `select sink, state, n from delivery_counts order by sink, state`,
);

/** `latest`: the seq of one of them, to find the reason. */
const stuckOf = (causes: string) =>
  query<StuckRow>(`
  select sink, cause, stuck, first_at, (select last_error from deliveries where seq = latest) as reason
  from (${causes}) as causes order by sink, cause`);

/** The last attempt of each. */
const lastAttempt = `
  deliveries d join attempts a on a.delivery_seq = coalesce(d.carrier, d.seq) and a.number = d.attempts`;

const ofEvents = `d.seq < ${firstNoticeSeq * seqsPerEvent}`;

/** A rejection is about the action's message. Other failures are about the sink. */
const causeOfDeath = `
  a.outcome ->> 'reason'
    || case when a.outcome ->> 'outcome' = 'rejected' then ' in ' || d.rule || ' ' || d.action else '' end`;

export const deadSince = stuckOf(`
    select d.sink, ${causeOfDeath} as cause, count(*) as stuck, min(d.ended_at) as first_at, max(d.seq) as latest
    from ${lastAttempt} where d.state = 'dead' and d.ended_at > $1 and ${ofEvents} group by d.sink, cause`);

/** Held deliveries are few, because a sink must ask for it. */
export const heldSince = stuckOf(`
    select d.sink, '' as cause, count(*) as stuck, min(a.ended_at) as first_at, max(d.seq) as latest
    from ${lastAttempt} where d.state = 'held' and ${rareState} and a.ended_at > $1 and ${ofEvents} group by d.sink`);

export const newestReceipt = query<{ readonly received_at: number | null }>(
  `select max(received_at) as received_at from events`,
);
