import type { DeliveryState } from '../../model.ts';
import { deliveryColumns, eventColumns, type DeliveryRow, type EventRow } from '../rows.ts';
import { change, deliveries, leads, rareState, query, seqOf, waits } from './query.ts';

export interface LaneRow {
  readonly lane: string;
  readonly sink: string;
  readonly due_at: number;
}

/** The event's columns are null for a notice's delivery. */
export type DueRow = DeliveryRow & EventRow;

/** What a change to a delivery needs to know about it. */
export interface FoundRow {
  readonly seq: number;
  readonly carrier: number | null;
  readonly sink: string;
  readonly connector: string;
  /** Null: that of the event or notice. */
  readonly config_id: string | null;
  readonly state: DeliveryState;
  readonly attempts: number;
}

export interface PutOffRow extends Pick<FoundRow, 'seq' | 'carrier' | 'attempts'> {
  readonly group_key: string | null;
  readonly due_at: number;
  readonly since: number;
  readonly came_at: number;
  readonly tried_at: number | null;
}

export interface SendingRow extends FoundRow {
  readonly started_at: number;
}

const foundColumns = 'd.seq, d.carrier, d.sink, d.connector, d.config_id, d.state, d.attempts';

export const findDelivery = query<FoundRow>(`
  select ${foundColumns} from deliveries d where d.seq = ${seqOf('$1', '$2', '$3')}`);

/** Walks from lane to lane through the index of pending deliveries, so that only each lane's first row costs. */
export const laneHeads = query<LaneRow>(`
  with recursive heads (lane) as (
    select * from (select d.lane from deliveries d where ${waits} order by d.lane limit 1) as first
    union all
    select (select d.lane from deliveries d where ${waits} and d.lane > heads.lane order by d.lane limit 1)
    from heads where heads.lane is not null
  )
  select head.lane, head.sink, head.due_at from heads join deliveries head on head.seq = (
    select d.seq from deliveries d where ${waits} and d.lane = heads.lane order by d.due_at, d.seq limit 1
  )`);

const dueInLane = (rest: string) =>
  query<DueRow>(`
  select ${deliveryColumns}, ${eventColumns} from ${deliveries}
  where ${waits} and d.lane = $1 and d.due_at <= $2 ${rest} limit $3`);

export const dueFirst = dueInLane('order by d.due_at, d.seq');
export const untriedLast = dueInLane('and d.attempts = 0 order by d.due_at desc, d.seq desc');

/** The carrier of a digest. */
export const firstOfGroup = query<DueRow>(`
  select ${deliveryColumns}, ${eventColumns} from ${deliveries}
  where d.state = 'pending' and d.group_key is not null and d.carrier is null
    and d.lane = $1 and d.group_key = $2 and d.sink = $3 and d.due_at <= $4 order by d.due_at, d.seq limit 1`);

const beginAttempt = `
  state = 'sending', attempts = attempts + 1, started_at = $2, first_attempt_at = coalesce(first_attempt_at, $2)`;

export const claim = change(beginAttempt);

/** $1: the first due delivery of the group, which becomes the carrier. $6: the digest's maximum. */
export const beginDigest = query<{ readonly seq: number }>(`
  update deliveries set carrier = $1, ${beginAttempt} where seq in (
    select d.seq from deliveries d
    where d.state = 'pending' and d.group_key is not null and d.carrier is null
      and d.lane = $3 and d.group_key = $4 and d.sink = $5 and d.due_at <= $2
    order by d.due_at, d.seq limit $6
  ) returning seq`);

export const eventsOfDigest = query<EventRow>(`
  select ${eventColumns} from ${deliveries} where d.carrier = $1 order by d.seq`);

/** The message and the thread of a digest are stored only with its carrier. */
export const record = change(`
  state = $2, started_at = null, due_at = coalesce($3, due_at), uncertain = $4, progress = $5, last_error = $6,
  receipt = $7, ended_at = $8, replayed = case when $11 = 'unknown' then 0 else replayed end,
  message = case when seq = $1 then coalesce($9, message) end, thread = case when seq = $1 then coalesce($10, thread) end`);

export const insertAttempt = `
  insert into attempts (delivery_seq, number, started_at, ended_at, outcome) values ($1, $2, $3, $4, $5)`;

export const leftSending = query<SendingRow>(`
  select ${foundColumns}, d.started_at from deliveries d
  where ${rareState} and d.state = 'sending' and ${leads} order by d.seq limit $1`);

export const rescue = change(`
  state = 'pending', started_at = null, due_at = $2, uncertain = 1, replayed = 0, last_error = $3`);

export const defer = change(`
  state = 'pending', started_at = null, attempts = attempts - 1, due_at = $2, since = since + $3,
  first_attempt_at = case when attempts = 1 then null else first_attempt_at end,
  carrier = case when attempts = 1 then null else carrier end`);

/** What a clock put off, and when it did so: when it came, or when it was last tried. $1: due after this. */
export const putOff = query<PutOffRow>(`
  select d.seq, d.carrier, d.group_key, d.attempts, d.due_at, d.since,
    coalesce(e.received_at, n.raised_at) as came_at,
    (select a.ended_at from attempts a where a.delivery_seq = d.seq and a.number = d.attempts) as tried_at
  from ${deliveries} where ${waits} and d.due_at > $1 and d.seq > $2 order by d.seq limit $3`);

/** $3: now, which nothing that was done can be after. */
export const pullIn = change(`
  due_at = $2, since = case when since > $2 then $2 else since end,
  first_attempt_at = case when first_attempt_at > $3 then $3 else first_attempt_at end`);

export const receiptOfThread = query<{ readonly receipt: string }>(`
  select receipt from deliveries where sink = $1 and thread = $2 and state = 'delivered'
  order by ended_at, seq limit 1`);

/** No index serves this, so only the newest $2 deliveries are looked at. */
export const newestReceipt = query<{ readonly receipt: string }>(`
  select receipt from (select lane, state, receipt from deliveries order by seq desc limit $2) as newest
  where lane = $1 and state = 'delivered' limit 1`);

export interface PauseRow {
  readonly sink: string;
  readonly since: number;
  readonly probe_at: number;
  readonly probes: number;
}

export const keepPause = `
  insert into pauses (sink, since, probe_at, probes) values ($1, $2, $3, $4)
  on conflict (sink) do update set since = $2, probe_at = $3, probes = $4`;

export const endPause = `delete from pauses where sink = $1`;

export const pauses = query<PauseRow>(`select sink, since, probe_at, probes from pauses order by sink`);
