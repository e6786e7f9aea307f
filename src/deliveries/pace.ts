import type { PaceLimit } from '../connector.ts';

/**
 * Keeps lanes to their rates, in memory (the generic cell rate algorithm: one number per lane). Forgets nothing that
 * matters at a restart, since a restart takes longer than a burst.
 */
export class Pace {
  /** When a lane's allowance would be whole again, by lane (ms). */
  readonly #wholeAt = new Map<string, number>();

  /** How many may start now. */
  allowance(lane: string, limit: PaceLimit, now: number): number {
    const owedMs = Math.max(0, (this.#wholeAt.get(lane) ?? 0) - now);
    return Math.max(0, Math.floor(limit.burst - owedMs / intervalMs(limit)));
  }

  /** When the next one may start (ms). */
  readyAt(lane: string, limit: PaceLimit, now: number): number {
    const wholeAt = this.#wholeAt.get(lane) ?? 0;
    return Math.max(now, Math.ceil(wholeAt - (limit.burst - 1) * intervalMs(limit)));
  }

  /** Counts `count` as started now. */
  spend(lane: string, limit: PaceLimit, now: number, count: number): void {
    const wholeAt = Math.max(this.#wholeAt.get(lane) ?? 0, now);
    this.#wholeAt.set(lane, wholeAt + count * intervalMs(limit));
  }

  /** Lets nothing start before `time`: the tool asked for a pause. */
  hold(lane: string, limit: PaceLimit, time: number): void {
    const wholeAt = time + (limit.burst - 1) * intervalMs(limit);
    this.#wholeAt.set(lane, Math.max(this.#wholeAt.get(lane) ?? 0, wholeAt));
  }

  /** Drops lanes whose allowance is whole; channels come and go. */
  forget(now: number): void {
    for (const [lane, wholeAt] of this.#wholeAt) if (wholeAt <= now) this.#wholeAt.delete(lane);
  }
}

const intervalMs = ({ count, perMs }: PaceLimit): number => perMs / count;
