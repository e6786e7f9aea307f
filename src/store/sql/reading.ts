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
import { deliveries, of, openStates, query, seqOf, type Query } from './query.ts';

export interface CountRow {
  readonly sink: string;
  readonly state: Counted;
  readonly n: number;
}

export interface DeadRow {
  readonly sink: string;
  readonly dead: number;
  readonly first_at: number;
  readonly reason: string | null;
}

export interface EventConditions {
  readonly since: boolean;
  readonly status: boolean;
  /** Takes two values: the candidate's key and id. */
  readonly candidateId: boolean;
}

/** Values: those of the conditions, in this order, then the limit. */
export function eventsWhere(conditions: EventConditions): Query<EventRow & { readonly duplicates: number }> {
  const wanted = [
    conditions.since && 'e.received_at >= ',
    conditions.status && 'e.status = ',
    ...(conditions.candidateId ? ['e.candidate_key = ', 'e.candidate_id = '] : []),
  ].filter((text) => text !== false);
  const where = wanted.map((text, index) => `${text}$${index + 1}`).join(' and ');
  return query(`
    select ${eventColumns}, (select count(*) from duplicates where event_seq = e.seq) as duplicates from events e
    ${where && `where ${where}`} order by e.received_at desc, e.seq desc limit $${wanted.length + 1}`);
}

export const eventById = query<EventRow>(`select ${eventColumns} from events e where e.id = $1`);

export const noticesSince = query<NoticeRow>(`
  select ${noticeColumns} from notices n where n.raised_at >= $1 order by n.raised_at desc, n.seq desc limit $2`);

export const noticeById = query<NoticeRow>(`select ${noticeColumns} from notices n where n.id = $1`);

export const deliveriesOf = query<DeliveryRow>(`
  select ${deliveryColumns} from ${deliveries} where d.seq ${of('$1')} order by d.seq`);

/** The message of a digest is kept with its carrier. */
export const storiesOf = query<StoryRow>(`
  select ${deliveryColumns}, (select message from deliveries c where c.seq = coalesce(d.carrier, d.seq)) as message
  from ${deliveries} where d.seq ${of('$1')} order by d.seq`);

/** So are its attempts. */
export const attemptsOf = query<AttemptRow>(`
  select d.seq as delivery_seq, a.number, a.started_at, a.ended_at, a.outcome
  from deliveries d join attempts a on a.delivery_seq = coalesce(d.carrier, d.seq)
  where d.seq ${of('$1')} order by d.seq, a.number`);

export const duplicatesOfEvent = query<DuplicateRow>(`
  select received_at, correlation_id from duplicates where event_seq = $1 order by seq limit $2`);

export const deliveryById = query<DeliveryRow>(`
  select ${deliveryColumns} from ${deliveries} where d.seq = ${seqOf('$1', '$2', '$3')}`);

/** $1 sink and $2 since may be null; $3: only those after this seq. */
const filtered = `
  (cast($1 as text) is null or d.sink = $1) and (cast($2 as bigint) is null or coalesce(e.received_at, n.raised_at) >= $2) and d.seq > $3
  order by d.seq limit $4`;

export const openInState = (state: 'sending' | 'dead' | 'held') =>
  query<DeliveryRow>(`
  select ${deliveryColumns} from ${deliveries} where ${openStates} and d.state = '${state}' and ${filtered}`);

export const anyInState = (state: DeliveryState) =>
  query<DeliveryRow>(`
  select ${deliveryColumns} from ${deliveries} where d.state = '${state}' and ${filtered}`);

export const rejectedRequests = query<RejectedRow>(`
  select received_at, address, correlation_id, status, faults, body from rejected_requests
  order by seq desc limit $1`);

export const deliveryCounts = query<CountRow>(
  `select sink, state, n from delivery_counts order by sink, state`,
);

export const deadSince = query<DeadRow>(`
  select sink, dead, first_at, (select last_error from deliveries where seq = latest) as reason
  from (
    select sink, count(*) as dead, min(ended_at) as first_at, max(seq) as latest from deliveries
    where state = 'dead' and ended_at > $1 and seq < ${firstNoticeSeq * seqsPerEvent} group by sink
  ) as sinks order by sink`);

export const newestReceipt = query<{ readonly received_at: number | null }>(
  `select max(received_at) as received_at from events`,
);
