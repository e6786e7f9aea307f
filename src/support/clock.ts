/** Time and timers, passed in so that tests and simulations can control them. */
export interface Clock {
  /** Milliseconds since the epoch. The machine's clock can be set, forward and back. */
  now(): number;
  /** Milliseconds since some fixed moment, monotonic: for measuring durations. */
  elapsed(): number;
  /** Calls `run` once after `delayMs`; the returned function cancels it. */
  after(delayMs: number, run: () => void): () => void;
}

/** One instant on both scales of Clock (ms). */
export interface Moment {
  readonly now: number;
  readonly elapsed: number;
}

/** A difference of the two scales that no gradual correction of the clock explains. */
const partedMs = 2000;

/** By how much Clock.now is ahead of Clock.elapsed (ms). */
export const aheadMs = (clock: Pick<Clock, 'now' | 'elapsed'>): number => clock.now() - clock.elapsed();

/**
 * Whether the machine may have been suspended since `aheadMs` was `before`: Clock.elapsed stands still meanwhile. A clock that
 * was set ahead looks the same.
 */
export const wasSuspended = (clock: Pick<Clock, 'now' | 'elapsed'>, before: number): boolean =>
  aheadMs(clock) - before > partedMs;

/** By how much the clock was set back since `aheadMs` was `before` (ms). Nothing else lowers that. */
export function setBackMs(clock: Pick<Clock, 'now' | 'elapsed'>, before: number): number {
  const behindMs = Math.round(before - aheadMs(clock));
  return behindMs > partedMs ? behindMs : 0;
}

/** Smaller changes of the clock are ignored, as they delay nobody for long. */
export const leastSetMs = 60_000;

/**
 * The jumps ahead of a clock while this process runs: it was set, or the machine was suspended. Call `look` now and then,
 * which notes the time of a jump.
 */
export class ClockJumps {
  readonly #clock: Clock;
  #offsetMs: number;
  /** `at`: what the clock said after it. */
  #jumps: readonly { readonly at: number; readonly byMs: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offsetMs = aheadMs(clock);
  }

  look(): void {
    const now = this.#clock.now();
    const offsetMs = now - this.#clock.elapsed();
    const byMs = offsetMs - this.#offsetMs;
    this.#offsetMs = offsetMs;
    if (byMs >= leastSetMs) this.#jumps = [...this.#jumps, { at: now, byMs }];
    if (byMs <= -leastSetMs) this.#takeBack(-byMs);
  }

  /** How much of the time since then never passed (ms). */
  skippedMs(since: number): number {
    this.look();
    return this.#jumps.reduce((sum, { at, byMs }) => sum + Math.max(0, Math.min(byMs, at - since)), 0);
  }

  /** Undoes the latest jumps, as the clock was set back. */
  #takeBack(backMs: number): void {
    let leftMs = backMs;
    const kept = this.#jumps.toReversed().flatMap(({ at, byMs }) => {
      const undoneMs = Math.min(leftMs, byMs);
      leftMs -= undoneMs;
      return undoneMs < byMs ? [{ at: at - undoneMs, byMs: byMs - undoneMs }] : [];
    });
    this.#jumps = kept.toReversed();
  }
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

/** When a signal aborts. */
interface TimeLimit {
  readonly isOver: boolean;
  abort(): void;
}

/**
 * A signal that looks at the time whenever it is asked. A process that stood still may go on with an answer before its timers
 * run, and another replica may have done meanwhile what it was about. A class, as defining `aborted` on each signal would be
 * slow.
 */
export class TimedSignal extends AbortSignal {
  declare limit: TimeLimit;

  /** Changes the class of a signal, as only controllers make signals. */
  static of(signal: AbortSignal, limit: TimeLimit): AbortSignal {
    const timed = Object.setPrototypeOf(signal, TimedSignal.prototype) as TimedSignal;
    timed.limit = limit;
    return timed;
  }

  override get aborted(): boolean {
    if (!super.aborted && this.limit.isOver) this.limit.abort();
    return super.aborted;
  }
}

/** A signal that aborts after so long, and after the machine was suspended where it is asked then. Keeps no process alive. */
export function endingAfter(ms: number): AbortSignal {
  const controller = new AbortController();
  const [endsAt, before] = [systemClock.elapsed() + ms, aheadMs(systemClock)];
  const abort = () => controller.abort();
  setTimeout(abort, ms).unref();
  return TimedSignal.of(controller.signal, {
    get isOver() {
      return systemClock.elapsed() >= endsAt || wasSuspended(systemClock, before);
    },
    abort,
  });
}
