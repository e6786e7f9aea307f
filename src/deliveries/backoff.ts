import type { RetryPolicy } from '../config/config.ts';

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
