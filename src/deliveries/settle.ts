import type { RetryPolicy } from '../config/config.ts';
import type { Delivery, DeliveryState, Json } from '../model.ts';
import { mayHaveArrived, type Outcome, type Retry, type Unknown } from '../model/outcomes.ts';

/** How an attempt ended. */
export interface Ending {
  readonly outcome: Outcome;
  /** Whether it is known that no earlier attempt arrived. */
  readonly confirmedAbsent?: boolean;
  /**
   * Whether a person has to decide: it may have arrived, the tool cannot be asked, and the sink has `onUnknown: hold`.
   */
  readonly hold?: boolean;
  /** Whether nothing was sent, so that the outcome says nothing about the sink. */
  readonly unsent?: true;
}

/** What becomes of a delivery. */
export interface Settlement {
  readonly state: Extract<DeliveryState, 'pending' | 'delivered' | 'dead' | 'held'>;
  readonly dueAt: number | null;
  readonly uncertain: boolean;
  readonly progress: Json | null;
  readonly lastError: string | null;
}

export interface Circumstances {
  readonly policy: RetryPolicy;
  readonly now: number;
  /** When the tool has certainly finished the attempt (ms). Asked before, it may not have the message yet. */
  readonly quietAt: number;
  /** How much of the time since then does not count (ms): the clock jumped ahead, or a person had paused the sink. */
  readonly skippedMs: (since: number) => number;
  /** Gives [0, 1). */
  readonly random: () => number;
  /** How long before the delivery is given up to try it a last time, if the backoff is longer. */
  readonly lastTryMs?: number;
}

/** Decides what becomes of a delivery after an attempt. Pure. */
export function settle(
  delivery: Pick<Delivery, 'attempts' | 'since' | 'firstAttemptAt' | 'uncertain' | 'progress'>,
  ending: Ending,
  { policy, now, quietAt, skippedMs, random, lastTryMs = 0 }: Circumstances,
): Settlement {
  const { outcome } = ending;
  const uncertain = mayHaveArrived(outcome) || (delivery.uncertain && !ending.confirmedAbsent);
  const progress =
    'progress' in outcome && outcome.progress !== undefined ? outcome.progress : delivery.progress;
  const rest = { uncertain, progress, dueAt: null };
  if (outcome.outcome === 'delivered') {
    // That somebody was left out is an error, though there is nothing to try again.
    const lastError = outcome.missed ? (outcome.note ?? null) : null;
    return { ...rest, state: 'delivered', uncertain: false, lastError };
  }
  if (outcome.outcome === 'rejected') {
    return { ...rest, state: 'dead', lastError: `${outcome.detail} ${outcome.advice}`.trim() };
  }
  if (ending.hold) {
    return {
      ...rest,
      state: 'held',
      lastError: `${outcome.detail} It may have arrived: look there, then replay or discard it.`,
    };
  }
  // A delay that the tool asks for replaces the backoff, but is not shorter than `minDelay`.
  const waited =
    now +
    (isStated(outcome)
      ? Math.max(outcome.retryAfterMs, policy.minDelayMs)
      : backoffMs(delivery.attempts, policy, random));
  const mayBegin = (time: number) => (outcome.outcome === 'unknown' ? Math.max(time, quietAt) : time);
  const dueAt = Math.ceil(mayBegin(waited));
  // Time when the connector itself was down does not count.
  const since = Math.max(delivery.since, delivery.firstAttemptAt ?? now);
  const giveUpAt = Math.ceil(since + policy.giveUpAfterMs + skippedMs(since));
  // The last attempt, if the delay is longer than what is left: what works again by the deadline gets its messages.
  const lastAt = isStated(outcome) ? giveUpAt : giveUpAt - lastTryMs;
  if (dueAt > giveUpAt && mayBegin(now + (isStated(outcome) ? 1 : policy.minDelayMs)) <= lastAt) {
    return { ...rest, state: 'pending', dueAt: lastAt, lastError: outcome.detail };
  }
  if (dueAt > giveUpAt) {
    return {
      ...rest,
      state: 'dead',
      lastError: `Given up after ${delivery.attempts === 1 ? 'one attempt' : `${delivery.attempts} attempts`}. ${outcome.detail}`,
    };
  }
  return { ...rest, state: 'pending', dueAt, lastError: outcome.detail };
}

function isStated(outcome: Retry | Unknown): outcome is Retry & { readonly retryAfterMs: number } {
  return outcome.outcome === 'retry' && outcome.retryAfterMs !== undefined;
}

export type BackoffPolicy = Pick<RetryPolicy, 'minDelayMs' | 'maxDelayMs'>;

/**
 * The delay after the given attempt (from 1): exponential backoff with full jitter between minDelay and maxDelay.
 * `random` gives [0, 1).
 */
export function backoffMs(
  attempt: number,
  { minDelayMs, maxDelayMs }: BackoffPolicy,
  random: () => number,
): number {
  const ceilingMs = Math.min(maxDelayMs, minDelayMs * 2 ** Math.min(attempt, 40));
  return Math.round(minDelayMs + random() * (ceilingMs - minDelayMs));
}
