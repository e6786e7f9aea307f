import type { Json } from '../model.ts';

/** How attempts end. */

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
