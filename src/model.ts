/** The types that all parts share. This file imports nothing. */

/** The final states that the service reports. */
export const statuses = ['Completed', 'DidNotTake', 'Canceled'] as const;
export type Status = (typeof statuses)[number];

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonMap = { readonly [key: string]: Json };

export const isMap = (value: Json | undefined): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The payload, normalized: a GUID is 32 lowercase hex digits, numbers are safe integers. */
export interface CandidateEvent {
  readonly candidateId: string;
  /** Only one variant of the payload has it. */
  readonly candidateNumericalId: number | null;
  readonly testId: number;
  readonly status: Status;
}

/** A CandidateEvent as received. Times are milliseconds since the epoch, everywhere in the code. */
export interface Event extends CandidateEvent {
  readonly id: string;
  /** The parsed request body, unknown fields included. */
  readonly raw: { readonly [key: string]: Json };
  readonly correlationId: string | null;
  readonly receivedAt: number;
}

/** A notice as stored. Its id is `ntc_…`. */
export interface RaisedNotice extends Notice {
  readonly id: string;
  readonly raisedAt: number;
}

/** What alerts tell of: deliveries given up, or held for a person; a sink that is paused; a config or events refused; no event for long. */
export const alertKinds = ['dead', 'held', 'paused', 'config', 'refused', 'silence'] as const;
export type AlertKind = (typeof alertKinds)[number];
/** The alerts of deliveries in the state of the same name. */
export type StuckState = Extract<AlertKind, DeliveryState>;

/** How the cause of what was delivered, but not to all whom it was for, begins; which action missed somebody follows. */
export const missedCause = 'missed in';

/** Why an event was not taken: the store could not write, its sender's address is not allowed, or its token was wrong. */
export const refusalReasons = ['store', 'address', 'token'] as const;

/** Events that were refused for one reason, from one source. */
export interface RefusedEvents {
  readonly reason: (typeof refusalReasons)[number];
  /** The sender's address, or the network of an IPv6 one. */
  readonly from: string;
  readonly count: number;
  /** When the first and the last of them came (ms). */
  readonly first: number;
  readonly last: number;
}

/** What an alert, or the weekly summary, says about the connector. */
export interface Notice {
  readonly alert: AlertKind | 'summary';
  /** The same for each notice about the same trouble. At most one an hour is raised for each cause. */
  readonly cause: string;
  /** The sink in trouble, if it is about one. */
  readonly sink: string | null;
  /** Of refused events: which senders they came from. */
  readonly from?: string;
  /** How many deliveries it is about; of refused ones and of a summary, how many events. */
  readonly count: number;
  /** When it began (ms). */
  readonly since: number;
  /** What is wrong. */
  readonly detail: string;
  /** What to do about it. */
  readonly advice: string;
  /** It says that the trouble of an earlier notice is over. */
  readonly recovered: boolean;
}

/** An action of a config: the rule's name and the action's index in its `then`. */
export interface ActionRef {
  readonly rule: string;
  readonly action: number;
}

/** One action to carry out for one event, before it has an id. */
export interface PlannedDelivery extends ActionRef {
  readonly sink: string;
  /** The connector's name, so that an old delivery can still be read after its sink has changed. */
  readonly connector: string;
  /** Deliveries of one lane share a rate and an order, for example one channel. Starts with the sink's name. */
  readonly lane: string;
  readonly dueAt: number;
  /** Deliveries with the same group become one message (a digest). */
  readonly group: string | null;
  /** How many deliveries of the group one message may carry. */
  readonly groupMax: number | null;
}

/**
 * pending: waits until dueAt. sending: claimed, the intent to send is on disk. dead: given up. held: it may have
 * arrived and a person has to say. discarded: for ever.
 */
export const deliveryStates = ['pending', 'sending', 'delivered', 'dead', 'held', 'discarded'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** What a person can do that changes what is stored. */
export const changeKinds = ['replay', 'discard', 'resend', 'apply', 'forget', 'ignore'] as const;
export type ChangeKind = (typeof changeKinds)[number];

/** A person has to decide about these; they are kept until then. */
export const replayableStates: readonly DeliveryState[] = ['dead', 'held'];
export const discardableStates: readonly DeliveryState[] = ['pending', ...replayableStates];
/** Their events are not yet over. */
export const openStates: readonly DeliveryState[] = ['sending', ...discardableStates];

export interface Delivery extends PlannedDelivery {
  /** Stable over all attempts; the tools see it (as metadata, a Message-ID, a header, a column). */
  readonly id: string;
  /** The event that it is for; null where it is for a notice. */
  readonly eventId: string | null;
  readonly noticeId: string | null;
  readonly configId: string;
  readonly state: DeliveryState;
  /**
   * In a digest that has been attempted: the id of the delivery that carries its message, which may be this one. It never
   * changes, so every attempt has the same events. Null otherwise.
   */
  readonly carrier: string | null;
  readonly createdAt: number;
  /** `giveUpAfter` counts from here: the first due time, or the last replay. */
  readonly since: number;
  /** Attempts begun, including the one in flight. */
  readonly attempts: number;
  readonly firstAttemptAt: number | null;
  /** An earlier attempt ended unknown: the tool may have the message already. */
  readonly uncertain: boolean;
  /** A person has replayed it since the last attempt, or made it to send another one again. */
  readonly replayed: boolean;
  /** The id of the delivery that a person sent again as this one. */
  readonly resendOf: string | null;
  /** What earlier attempts did in part, in the connector's own format. */
  readonly progress: Json | null;
  readonly receipt: Receipt | null;
  /** The last failure, with what to try. */
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

/** The tool's proof of a delivery: the place and time of a message, the range of a row, a server's reply. */
export type Receipt = { readonly [key: string]: Json };

export interface Delivered {
  readonly outcome: 'delivered';
  readonly receipt: Receipt;
  /** What people should know about a flawed success: a refused recipient, a shortened text. */
  readonly note?: string;
  /** Somebody did not get it, or it stands elsewhere than meant: a person has to know, and the note says what. */
  readonly missed?: true;
}

/** It did not arrive, or only perhaps where `perhapsDone` says so, and trying again may help. */
export interface Retry {
  readonly outcome: 'retry';
  readonly reason: Reason;
  readonly detail: string;
  /** The delay that the tool or the connector asks for. It replaces the backoff. */
  readonly retryAfterMs?: number;
  /**
   * True if every message to the sink would fail. `perhaps` if that is not known: many such failures in a row count as
   * one of the sink.
   */
  readonly sinkWide?: boolean | 'perhaps';
  /** The tool, or what stands before it, may have answered so after the work was done. */
  readonly perhapsDone?: true;
  /** What this attempt did in part, for the next one. */
  readonly progress?: Json;
}

/** It certainly did not arrive, and trying again cannot help until somebody changes something. */
export interface Rejected {
  readonly outcome: 'rejected';
  readonly reason: Reason;
  readonly detail: string;
  /** The fix to try. */
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

/** Whether nobody knows if the message arrived. */
export const mayHaveArrived = (outcome: Outcome): boolean =>
  outcome.outcome === 'unknown' || (outcome.outcome === 'retry' && outcome.perhapsDone === true);

/** What an attempt that failed says of why. */
export type Failure = Pick<Retry, 'reason' | 'detail'>;

/** A record, so that none can be missing. */
const outcomes: { readonly [kind in Outcome['outcome']]: true } = {
  delivered: true,
  retry: true,
  rejected: true,
  unknown: true,
};
export const outcomeKinds: readonly string[] = Object.keys(outcomes);

/** One try at a delivery, as stored. */
export interface Attempt {
  readonly number: number;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
}
