import type { Clock } from '../support/clock.ts';

interface Alarm {
  readonly at: number;
  readonly run: () => void;
}

/** A clock that stands still until it is moved from alarm to alarm: a year takes as long as what happens in it. */
export class VirtualClock implements Clock {
  readonly #startMs: number;
  #passedMs = 0;
  /** Alarms of the same moment ring in the order in which they were set. */
  readonly #alarms = new Set<Alarm>();

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.#passedMs;
  }

  elapsed(): number {
    return this.#passedMs;
  }

  after(delayMs: number, run: () => void): () => void {
    const alarm = { at: this.#passedMs + Math.max(0, Math.round(delayMs)), run };
    this.#alarms.add(alarm);
    return () => void this.#alarms.delete(alarm);
  }

  /** Moves to the next alarm and rings it; false if there is none. */
  ring(): boolean {
    const [next] = [...this.#alarms].toSorted((a, b) => a.at - b.at);
    if (!next) return false;
    this.#alarms.delete(next);
    this.#passedMs = Math.max(this.#passedMs, next.at);
    next.run();
    return true;
  }
}
