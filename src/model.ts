/** The words of the project as types. This file imports nothing; everything else may import it. */

/** The final states that the service tells of. */
export const statuses = ['Completed', 'DidNotTake', 'Canceled'] as const;
export type Status = (typeof statuses)[number];

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonMap = { readonly [key: string]: Json };

export const isMap = (value: Json | undefined): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What the sender told, normalized: a GUID is 32 lowercase hex digits, numbers are safe integers. */
export interface CandidateEvent {
  readonly candidateId: string;
  /** Sent in one variant of the payload only. */
  readonly candidateNumericalId: number | null;
  readonly testId: number;
  readonly status: Status;
}

/** A CandidateEvent with what its arrival added. Times are milliseconds since the epoch, everywhere in the code. */
export interface Event extends CandidateEvent {
  readonly id: string;
  /** The parsed request body as it came, unknown fields included. */
  readonly raw: { readonly [key: string]: Json };
  readonly correlationId: string | null;
  readonly receivedAt: number;
}

/** A notice with its deliveries' common id, `ntc_…`. */
export interface RaisedNotice extends Notice {
  readonly id: string;
  readonly raisedAt: number;
}

/** What alerts tell of: deliveries given up, or held for a person; a sink that is paused; no event for long. */
export const alertKinds = ['dead', 'held', 'paused', 'silence'] as const;
export type AlertKind = (typeof alertKinds)[number];

/** What the connector has to tell people of itself. */
export interface Notice {
  readonly alert: AlertKind;
  /** What it is about, the same for every notice of the same trouble: at most one an hour goes out for each cause. */
  readonly cause: string;
  /** The sink in trouble; null where none is. */
  readonly sink: string | null;
  /** How many deliveries are concerned; 0 where none is. */
  readonly count: number;
  /** When it began (ms). */
  readonly since: number;
  /** In plain words: what is wrong, and what to do next. */
  readonly detail: string;
  readonly advice: string;
}

/** Says which action of a config an item came from: the rule's name and the action's index in its `then`. */
export interface ActionRef {
  readonly rule: string;
  readonly action: number;
}

/** One action to carry out for one event, as the rules decided it and before it has an id. */
export interface PlannedDelivery extends ActionRef {
  readonly sink: string;
  /** The connector's name: kept so that an old delivery is still understood after its sink was changed. */
  readonly connector: string;
  /** Deliveries of one lane share a rate and an order, for example one Slack channel. Starts with the sink's name. */
  readonly lane: string;
  readonly dueAt: number;
  /** Deliveries with the same group become one message (a digest). */
  readonly group: string | null;
  /** How many deliveries one message of the group may carry; what is beyond it goes into a further one. */
  readonly groupMax: number | null;
}

/**
 * pending: waits until dueAt. sending: claimed, the intent to send is on disk. dead: given up. held: it may have
 * arrived and a person has to say. Dead and held ones can be replayed; these and pending ones can be discarded, which is
 * for ever.
 */
export const deliveryStates = ['pending', 'sending', 'delivered', 'dead', 'held', 'discarded'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

export interface Delivery extends PlannedDelivery {
  /** Stable over all attempts; the tools see it (Slack metadata, Message-ID, webhook-id, the Sheet's last column). */
  readonly id: string;
  /** The event that it is for; null where it is for a notice. */
  readonly eventId: string | null;
  readonly noticeId: string | null;
  readonly configId: string;
  readonly state: DeliveryState;
  /**
   * In a digest whose message was begun: the id of the delivery that it goes out under, which is this one's own id for
   * the first of them. Fixed from then on, so that every attempt carries the same events. Null otherwise.
   */
  readonly carrier: string | null;
  readonly createdAt: number;
  /** When giving up is counted from: the first due time, or the last replay. */
  readonly since: number;
  /** Attempts begun, the one under way included. */
  readonly attempts: number;
  readonly firstAttemptAt: number | null;
  /** An earlier attempt ended unknown, so the tool may have this already. */
  readonly uncertain: boolean;
  /** A person sent it on its way again since the last attempt, in spite of what that said. */
  readonly replayed: boolean;
  /** What earlier attempts achieved in part, in the connector's own form. */
  readonly progress: Json | null;
  readonly receipt: Receipt | null;
  /** The last failure in plain words, with what to try. */
  readonly lastError: string | null;
}

/** Why an attempt did not deliver. A closed list: metrics and logs use it as it is. */
export const reasons = [
  'timeout',
  'network',
  'rate_limited',
  'server',
  'auth',
  'invalid',
  'not_found',
  'unexpected',
] as const;
export type Reason = (typeof reasons)[number];

/** The tool's own proof of a delivery: Slack's channel and ts, the Sheet's range, the SMTP reply, the HTTP status. */
export type Receipt = { readonly [key: string]: Json };

export interface Delivered {
  readonly outcome: 'delivered';
  readonly receipt: Receipt;
  /** Said to people where the success has a flaw: a refused recipient, a shortened text. */
  readonly note?: string;
}

/** It certainly did not arrive, and trying again may help. */
export interface Retry {
  readonly outcome: 'retry';
  readonly reason: Reason;
  readonly detail: string;
  /** The delay that the tool asked for, or the connector for reasons of its own. It wins over the backoff. */
  readonly retryAfterMs?: number;
  /**
   * True when the fault concerns the sink and not this message: others would fare the same. `perhaps` where it cannot be
   * told: many such ones in a row are taken for it.
   */
  readonly sinkWide?: boolean | 'perhaps';
  /** What this attempt achieved in part; handed to the next one. */
  readonly progress?: Json;
}

/** It certainly did not arrive, and trying again cannot help until somebody changes something. */
export interface Rejected {
  readonly outcome: 'rejected';
  readonly reason: Reason;
  readonly detail: string;
  /** The fix to try, in plain words. */
  readonly advice: string;
}

/** It may have arrived. */
export interface Unknown {
  readonly outcome: 'unknown';
  readonly reason: Reason;
  readonly detail: string;
  /** What the next attempt needs to know of this one; handed to it. */
  readonly progress?: Json;
}

export type Outcome = Delivered | Retry | Rejected | Unknown;

/** One try at a delivery, as it is kept. */
export interface Attempt {
  readonly number: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
}
