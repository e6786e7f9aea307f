/** A delay longer than this would only make a delivery be given up. */
const longestMs = 24 * 3_600_000;

/**
 * The delay that a Retry-After header states (RFC 9110, 10.2.3), in whole ms and at most a day; null where it states
 * none. `now` (ms) is what a date in it is measured from; without it only seconds are understood.
 */
export function statedDelayMs(header: string | null | undefined, now?: number): number | null {
  if (header === null || header === undefined) return null;
  const delayMs = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : untilDate(header, now);
  return Number.isNaN(delayMs) ? null : Math.min(Math.max(delayMs, 0), longestMs);
}

function untilDate(header: string, now = Number.NaN): number {
  // Date.parse makes a date even of `-5`.
  return /^\s*[a-z]/i.test(header) ? Date.parse(header) - now : Number.NaN;
}
