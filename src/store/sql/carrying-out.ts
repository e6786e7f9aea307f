import { deliveryColumns, eventColumns, type DeliveryRow, type EventRow } from '../rows.ts';
import { deliveriesWithEvents, rareState, query, seqOf } from './query.ts';

export interface LaneRow {
  readonly lane: string;
  readonly sink: string;
  readonly due_at: number;
}

export type ClaimRow = DeliveryRow & EventRow;

export interface SendingRow {
  readonly seq: number;
  readonly sink: string;
  readonly attempts: number;
  readonly started_at: number;
}

/** Walks from lane to lane through the index of what is pending, so rows that are not a lane's first cost nothing. */
export const laneHeads = query<LaneRow>(`
  with recursive heads (lane) as (
    select * from (select lane from deliveries where state = 'pending' order by lane limit 1) as first
    union all
    select (select lane from deliveries where state = 'pending' and lane > heads.lane order by lane limit 1)
    from heads where heads.lane is not null
  )
  select d.lane, d.sink, d.due_at from heads join deliveries d on d.seq = (
    select seq from deliveries where state = 'pending' and lane = heads.lane order by due_at, seq limit 1
  )`);

export const dueInLane = query<ClaimRow>(`
  select ${deliveryColumns}, ${eventColumns} from ${deliveriesWithEvents}
  where d.state = 'pending' and d.lane = $1 and d.due_at <= $2 order by d.due_at, d.seq limit $3`);

export const claimDelivery = `
  update deliveries set state = 'sending', attempts = attempts + 1, started_at = $2,
    first_attempt_at = coalesce(first_attempt_at, $2)
  where seq = $1`;

/** $3: the number of the attempt that ended, so that a late result cannot end a later attempt. */
export const recordResult = query<{ readonly seq: number; readonly sink: string }>(`
  update deliveries set state = $4, started_at = null, due_at = coalesce($5, due_at), uncertain = $6, progress = $7,
    last_error = $8, message = coalesce($9, message), thread = coalesce($10, thread), receipt = $11,
    delivered_at = $12
  where seq = ${seqOf('$1', '$2')} and state = 'sending' and attempts = $3
  returning seq, sink`);

export const insertAttempt = `
  insert into attempts (delivery_seq, number, started_at, ended_at, outcome) values ($1, $2, $3, $4, $5)`;

export const leftSending = query<SendingRow>(`
  select d.seq, d.sink, d.attempts, d.started_at from deliveries d
  where ${rareState} and d.state = 'sending' order by d.seq limit $1`);

export const rescueDelivery = `
  update deliveries set state = 'pending', started_at = null, due_at = $2, uncertain = 1, last_error = $3
  where seq = $1`;

export const releaseDelivery = query<{ readonly sink: string }>(`
  update deliveries set state = 'pending', started_at = null, attempts = attempts - 1,
    first_attempt_at = case when attempts = 1 then null else first_attempt_at end
  where seq = ${seqOf('$1', '$2')} and state = 'sending'
  returning sink`);

export const receiptOfThread = query<{ readonly receipt: string }>(`
  select receipt from deliveries where sink = $1 and thread = $2 and state = 'delivered'
  order by delivered_at, seq limit 1`);
