import type { Json } from '../model.ts';

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

/** The tool's proof of a delivery, such as the channel and time of a message, the range of a row, a server's reply. */
export type Receipt = { readonly [key: string]: Json };

/** The message arrived. */
export interface Delivered {
  readonly outcome: 'delivered';
  readonly receipt: Receipt;
  /** What people should know about a flawed success, such as a refused recipient or a shortened text. */
  readonly note?: string;
  /** Somebody did not get it, or it is not where it should be. A person has to know, and the note says what. */
  readonly missed?: true;
}

/** The message did not arrive (or, with `perhapsDone`, may have), and trying again may help. */
export interface Retry {
  readonly outcome: 'retry';
  readonly reason: Reason;
  readonly detail: string;
  /** The delay that the tool or the connector asks for. It replaces the backoff. */
  readonly retryAfterMs?: number;
  /** True if every message to the sink would fail. `perhaps` if that is not known: many such failures count as one. */
  readonly sinkWide?: boolean | 'perhaps';
  /** The tool, or a proxy before it, may have answered so after the work was done. */
  readonly perhapsDone?: true;
  /** What this attempt did in part, for the next one. */
  readonly progress?: Json;
}

/** The message did not arrive, and trying again cannot help until somebody changes something. */
export interface Rejected {
  readonly outcome: 'rejected';
  readonly reason: Reason;
  readonly detail: string;
  /** The fix to try. */
  readonly advice: string;
}

/** The message may have arrived. */
export interface Unknown {
  readonly outcome: 'unknown';
  readonly reason: Reason;
  readonly detail: string;
  /** What the next attempt needs to know of this one. */
  readonly progress?: Json;
}

export type Outcome = Delivered | Retry | Rejected | Unknown;

/** Whether an attempt that did not succeed may have delivered the message. */
export const mayHaveArrived = (outcome: Outcome): boolean =>
  outcome.outcome === 'unknown' || (outcome.outcome === 'retry' && outcome.perhapsDone === true);

/** Why an attempt failed. */
export type Failure = Pick<Retry, 'reason' | 'detail'>;

/** A record, as the compiler then misses none. */
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
