/** Time and timers, passed in so that tests and simulations can control them. */
export interface Clock {
  /** Milliseconds since the epoch. The machine's clock can be set, forward and back. */
  now(): number;
  /** Milliseconds since some fixed moment, monotonic: for measuring durations. */
  elapsed(): number;
  /** Calls `run` once after `delayMs`; the returned function cancels it. */
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
