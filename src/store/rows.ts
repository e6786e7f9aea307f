import { deliveryId } from '../ids.ts';
import type { Attempt, Delivery, DeliveryState, Event, Json, Status } from '../model.ts';
import type { DeliveryStory, Duplicate, RejectedRequest } from './store.ts';

/** How many deliveries an event may have. Their seqs follow from the event's: event seq * 65536 + n, n from 1. */
export const seqsPerEvent = 65_536;

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
  readonly event_id: string;
  readonly config_id: string;
  readonly rule: string;
  readonly action: number;
  readonly sink: string;
  readonly connector: string;
  readonly lane: string;
  readonly group_key: string | null;
  readonly state: DeliveryState;
  readonly due_at: number;
  readonly created_at: number;
  readonly since: number;
  readonly attempts: number;
  readonly first_attempt_at: number | null;
  readonly uncertain: number;
  readonly progress: string | null;
  readonly receipt: string | null;
  readonly last_error: string | null;
}

export const deliveryColumns = `
  d.seq, e.id as event_id, coalesce(d.config_id, e.config_id) as config_id, d.rule, d.action, d.sink, d.connector,
  d.lane, d.group_key, d.state, d.due_at, e.received_at as created_at, d.since, d.attempts, d.first_attempt_at,
  d.uncertain, d.progress, d.receipt, d.last_error`;

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

export interface DuplicateRow {
  readonly received_at: number;
  readonly correlation_id: string | null;
}

export interface RejectedRow {
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
    id: deliveryId(row.event_id, row.seq % seqsPerEvent),
    eventId: row.event_id,
    configId: row.config_id,
    rule: row.rule,
    action: row.action,
    sink: row.sink,
    connector: row.connector,
    lane: row.lane,
    group: row.group_key,
    state: row.state,
    dueAt: row.due_at,
    createdAt: row.created_at,
    since: row.since,
    attempts: row.attempts,
    firstAttemptAt: row.first_attempt_at,
    uncertain: row.uncertain === 1,
    progress: parsedOrNull(row.progress),
    receipt: parsedOrNull(row.receipt),
    lastError: row.last_error,
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

export function toRejectedRequest(row: RejectedRow): RejectedRequest {
  return {
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

/** Only what this store wrote is read back, so its shape is known. */
function parsedOrNull(text: string | null) {
  return text === null ? null : parsed(text);
}

// oxlint-disable-next-line no-explicit-any -- as above; the field that takes it states the shape
function parsed(text: string): any {
  return JSON.parse(text);
}
