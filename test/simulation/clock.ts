import type { Clock } from '../../src/support/clock.ts';

interface Alarm {
  readonly at: number;
  /** Alarms of the same moment ring in the order in which they were set. */
  readonly order: number;
  readonly run: () => void;
}

/**
 * A clock that stands still until it is moved from alarm to alarm. What it shows can be set forth and back, as a wall clock's
 * can; alarms follow the time that really passes.
 */
export class SimulatedClock implements Clock {
  #passedMs = 0;
  #offsetMs: number;
  #orders = 0;
  readonly #alarms = new Set<Alarm>();

  constructor(start: number) {
    this.#offsetMs = start;
  }

  now(): number {
    return this.#offsetMs + this.#passedMs;
  }

  after(delayMs: number, run: () => void): () => void {
    const alarm = { at: this.#passedMs + Math.max(0, Math.round(delayMs)), order: this.#orders++, run };
    this.#alarms.add(alarm);
    return () => void this.#alarms.delete(alarm);
  }

  /** How long it has been running (ms), whatever it shows. */
  elapsed(): number {
    return this.#passedMs;
  }

  jump(byMs: number): void {
    this.#offsetMs += byMs;
  }

  /** Moves to the next alarm and rings it; false if there is none. */
  ring(): boolean {
    const next = [...this.#alarms].reduce<Alarm | null>(
      (first, alarm) => (first && before(first, alarm) ? first : alarm),
      null,
    );
    if (!next) return false;
    this.#alarms.delete(next);
    this.#passedMs = Math.max(this.#passedMs, next.at);
    next.run();
    return true;
  }
}

const before = (a: Alarm, b: Alarm): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
