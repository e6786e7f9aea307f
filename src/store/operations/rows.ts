import { deliveryId } from '../../support/ids.ts';
import type { Attempt, Delivery, DeliveryState, Event, Json, RaisedNotice, Status } from '../../model.ts';
import type { DeliveryStory, Duplicate, KeptRequest } from '../store.ts';

/**
 * A hash of a candidate id with 47 bits, which SQLite stores in six bytes. Different ids may share a hash, so it only
 * narrows a search. It is stored, so this function must never change.
 */
export function candidateKey(candidateId: string): number {
  // FNV-1a, twice: with its own prime and with another one.
  let low = 0x811c9dc5;
  let high = 0x811c9dc5;
  for (let index = 0; index < candidateId.length; index += 1) {
    const unit = candidateId.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x85ebca6b);
  }
  return (high >>> 9) * 2 ** 24 + (low >>> 8);
}

/** How many deliveries an event or a notice may have. Their seqs are its seq * 65536 + n, with n from 1. */
export const seqsPerEvent = 65_536;

/** The first seq of notices. Their deliveries' seqs differ from those of events and are still safe integers. */
export const firstNoticeSeq = 2 ** 36;

/** Deliveries as `d`, each with its event as `e` or its notice as `n`. */
export const deliveries = `
  deliveries d left join events e on e.seq = d.seq / ${seqsPerEvent} left join notices n on n.seq = d.seq / ${seqsPerEvent}`;

/** A delivery's seq from its id: the id of its event or notice, and its n. */
export const seqOf = (eventId: string, noticeId: string, n: string): string =>
  `coalesce((select seq from events where id = ${eventId}), (select seq from notices where id = ${noticeId}))
    * ${seqsPerEvent} + ${n}`;

/** The condition for the deliveries of an event or a notice. */
export const of = (seq: string): string =>
  `between ${seq} * ${seqsPerEvent} and ${seq} * ${seqsPerEvent} + ${seqsPerEvent - 1}`;

// The conditions of partial indexes. SQLite uses such an index only if the query repeats its condition.
export const rareState = `d.state not in ('pending', 'delivered')`;
export const leads = `(d.carrier is null or d.carrier = d.seq)`;
export const waits = `d.state = 'pending' and ${leads}`;

/** The columns of `eventColumns`. */
export interface EventRow {
  readonly event_seq: number;
  readonly event_id: string;
  readonly candidate_id: string;
  readonly candidate_numerical_id: number | null;
  readonly test_id: number;
  readonly status: string;
  readonly correlation_id: string | null;
  readonly raw: string;
  readonly received_at: number;
  readonly event_config_id: string;
}

export const eventColumns = `
  e.seq as event_seq, e.id as event_id, e.candidate_id, e.candidate_numerical_id, e.test_id, e.status,
  e.correlation_id, e.raw, e.received_at, e.config_id as event_config_id`;

/** The columns of `deliveryColumns`. */
export interface DeliveryRow {
  readonly seq: number;
  /** One of the two is null. */
  readonly event_id: string | null;
  readonly notice_id: string | null;
  readonly config_id: string;
  readonly rule: string;
  readonly action: number;
  readonly sink: string;
  readonly connector: string;
  readonly lane: string;
  readonly group_key: string | null;
  readonly group_max: number | null;
  /** The seq of the digest's carrier, and the id of the carrier's event. */
  readonly carrier: number | null;
  readonly carrier_event_id: string | null;
  readonly state: DeliveryState;
  readonly due_at: number;
  readonly created_at: number;
  readonly since: number;
  readonly attempts: number;
  readonly first_attempt_at: number | null;
  readonly uncertain: number;
  readonly replayed: number;
  readonly resend_of: number | null;
  readonly progress: string | null;
  readonly receipt: string | null;
  readonly last_error: string | null;
}

export const deliveryColumns = `
  d.seq, e.id as event_id, n.id as notice_id, coalesce(d.config_id, e.config_id, n.config_id) as config_id, d.rule,
  d.action, d.sink, d.connector, d.lane, d.group_key, d.group_max, d.carrier,
  (select c.id from events c where c.seq = d.carrier / ${seqsPerEvent}) as carrier_event_id, d.state, d.due_at,
  coalesce(e.received_at, n.raised_at) as created_at, d.since, d.attempts, d.first_attempt_at, d.uncertain, d.replayed,
  d.resend_of, d.progress, d.receipt, d.last_error`;

export interface StoryRow extends DeliveryRow {
  readonly message: string | null;
}

export interface AttemptRow {
  readonly delivery_seq: number;
  readonly number: number;
  readonly started_at: number;
  readonly ended_at: number;
  readonly outcome: string;
}

/** The columns of `noticeColumns`. */
export interface NoticeRow {
  readonly notice_seq: number;
  readonly id: string;
  readonly alert: RaisedNotice['alert'];
  readonly cause: string;
  readonly sink: string | null;
  readonly count: number;
  readonly since: number;
  readonly detail: string;
  readonly advice: string;
  readonly recovered: number | null;
  readonly origin: string | null;
  readonly raised_at: number;
  readonly config_id: string;
}

export const noticeColumns = `
  n.seq as notice_seq, n.id, n.alert, n.cause, n.sink, n.count, n.since, n.detail, n.advice, n.recovered, n.origin, n.raised_at,
  n.config_id`;

export interface DuplicateRow {
  readonly received_at: number;
  readonly correlation_id: string | null;
}

export interface RejectedRow {
  readonly seq: number;
  readonly received_at: number;
  readonly address: string;
  readonly correlation_id: string | null;
  readonly status: number;
  readonly faults: string;
  readonly body: string;
}

export function toEvent(row: EventRow): Event {
  return {
    id: row.event_id,
    candidateId: row.candidate_id,
    candidateNumericalId: row.candidate_numerical_id,
    testId: row.test_id,
    status: row.status as Status,
    raw: parsed(row.raw),
    correlationId: row.correlation_id,
    receivedAt: row.received_at,
  };
}

export function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: idAt(row.event_id ?? row.notice_id!, row.seq),
    eventId: row.event_id,
    noticeId: row.notice_id,
    configId: row.config_id,
    rule: row.rule,
    action: row.action,
    sink: row.sink,
    connector: row.connector,
    lane: row.lane,
    group: row.group_key,
    groupMax: row.group_max,
    carrier: row.carrier === null ? null : idAt(row.carrier_event_id!, row.carrier),
    state: row.state,
    dueAt: row.due_at,
    createdAt: row.created_at,
    since: row.since,
    attempts: row.attempts,
    firstAttemptAt: row.first_attempt_at,
    uncertain: row.uncertain === 1,
    replayed: row.replayed === 1,
    resendOf: row.resend_of === null ? null : idAt(row.event_id ?? row.notice_id!, row.resend_of),
    progress: parsedOrNull(row.progress),
    receipt: parsedOrNull(row.receipt),
    lastError: row.last_error,
  };
}

export function idAt(plannedFor: string, seq: number): string {
  return deliveryId(plannedFor, seq % seqsPerEvent);
}

export function toNotice(row: NoticeRow): RaisedNotice {
  const { id, alert, cause, sink, count, since, detail, advice, recovered, origin, raised_at } = row;
  return {
    id,
    alert,
    cause,
    sink,
    count,
    since,
    detail,
    advice,
    recovered: recovered === 1,
    ...(origin !== null && { from: origin }),
    raisedAt: raised_at,
  };
}

export function toStory(row: StoryRow, attempts: readonly AttemptRow[]): DeliveryStory {
  return {
    ...toDelivery(row),
    message: parsedOrNull(row.message),
    history: attempts.filter((attempt) => attempt.delivery_seq === row.seq).map(toAttempt),
  };
}

function toAttempt(row: AttemptRow): Attempt {
  return {
    number: row.number,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    outcome: parsed(row.outcome),
  };
}

export function toDuplicate(row: DuplicateRow): Duplicate {
  return { receivedAt: row.received_at, correlationId: row.correlation_id };
}

export function toKeptRequest(row: RejectedRow): KeptRequest {
  return {
    seq: row.seq,
    receivedAt: row.received_at,
    address: row.address,
    correlationId: row.correlation_id,
    status: row.status,
    faults: parsed(row.faults),
    body: row.body,
  };
}

export function jsonOrNull(value: Json | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

/** The store reads only what it wrote, so the shape is known. */
function parsedOrNull(text: string | null) {
  return text === null ? null : parsed(text);
}

// oxlint-disable-next-line no-explicit-any -- as above; the field that takes it states the shape
function parsed(text: string): any {
  return JSON.parse(text);
}
