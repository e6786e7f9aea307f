import type { RetryPolicy } from '../config/config.ts';
import type { Delivery, DeliveryState, Json, Outcome, Retry, Unknown } from '../model.ts';

/** How an attempt ended, with what only its execution knows. */
export interface Ending {
  readonly outcome: Outcome;
  /** The tool was asked before sending and had nothing of an earlier attempt. */
  readonly askedAbsent: boolean;
  /** A person has to decide: it may have arrived, the tool cannot be asked and the sink says `onUnknown: hold`. */
  readonly hold: boolean;
  /** Nothing was sent, and nothing learnt of the sink: a fault of our own, or nobody can tell what became of an earlier attempt. */
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
  /** When the tool is done with the attempt for certain (ms): before that it could say "not here" of what it still works on. */
  readonly quietAt: number;
  /** Gives [0, 1). */
  readonly random: () => number;
}

/** Decides what becomes of a delivery after an attempt. Pure. */
export function settle(
  delivery: Pick<Delivery, 'attempts' | 'since' | 'firstAttemptAt' | 'uncertain' | 'progress'>,
  ending: Ending,
  { policy, now, quietAt, random }: Circumstances,
): Settlement {
  const { outcome } = ending;
  const uncertain = outcome.outcome === 'unknown' || (delivery.uncertain && !ending.askedAbsent);
  const progress =
    'progress' in outcome && outcome.progress !== undefined ? outcome.progress : delivery.progress;
  const rest = { uncertain, progress, dueAt: null };
  if (outcome.outcome === 'delivered') {
    return { ...rest, state: 'delivered', uncertain: false, lastError: null };
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
  const waited = now + delayMs(delivery.attempts, outcome, policy, random);
  const dueAt = Math.ceil(outcome.outcome === 'unknown' ? Math.max(waited, quietAt) : waited);
  // A connector that was itself down for days still gives a delivery its whole time from the first attempt on.
  const giveUpAt = Math.max(delivery.since, delivery.firstAttemptAt ?? now) + policy.giveUpAfterMs;
  if (dueAt > giveUpAt && isStated(outcome) && now < giveUpAt) {
    // The tool asked for more time than there is: it gets what there is, and one more attempt.
    return { ...rest, state: 'pending', dueAt: giveUpAt, lastError: outcome.detail };
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

/** What the tool asked for wins over the backoff, but never calls it again sooner than `minDelay`. */
function delayMs(
  attempt: number,
  outcome: Retry | Unknown,
  policy: RetryPolicy,
  random: () => number,
): number {
  if (isStated(outcome)) return Math.max(outcome.retryAfterMs, policy.minDelayMs);
  return backoffMs(attempt, policy, random);
}

function isStated(outcome: Retry | Unknown): outcome is Retry & { readonly retryAfterMs: number } {
  return outcome.outcome === 'retry' && outcome.retryAfterMs !== undefined;
}

/**
 * How long to wait after the given attempt (from 1): exponential with full jitter, so that deliveries which failed
 * together do not come back together. Never below minDelay nor above maxDelay. `random` gives [0, 1).
 */
export function backoffMs(
  attempt: number,
  policy: Pick<RetryPolicy, 'minDelayMs' | 'maxDelayMs'>,
  random: () => number,
): number {
  const { minDelayMs, maxDelayMs } = policy;
  const ceilingMs = Math.min(maxDelayMs, minDelayMs * 2 ** Math.min(attempt, 40));
  return Math.round(minDelayMs + random() * (ceilingMs - minDelayMs));
}
