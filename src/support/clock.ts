/** The time and its alarms, passed in so that tests and simulations can own them. */
export interface Clock {
  /** Milliseconds since the epoch, as the machine's clock shows them: it can be set, forth and back. */
  now(): number;
  /** Milliseconds that have passed since some fixed moment. Never set, so it is what to measure waiting with. */
  elapsed(): number;
  /** Calls `run` once after `delayMs`; the returned function calls it off. */
  after(delayMs: number, run: () => void): () => void;
}

/** Node clamps longer timers to 1 ms instead of waiting. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: Date.now,
  elapsed: () => performance.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, Math.min(delayMs, longestTimerMs));
    return () => clearTimeout(timer);
  },
};
