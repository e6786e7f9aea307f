import type { PaceLimit } from '../connector.ts';

/**
 * Keeps lanes to their rates, in memory (the generic cell rate algorithm: one number per lane), and holds them where the
 * tool asks for it. After a restart they begin anew: each may start with its burst, and the tool says again when it is
 * too fast. Times are Clock.elapsed's.
 */
export class Pace {
  /** When a lane's allowance would be whole again, by lane (ms). */
  readonly #wholeAt = new Map<string, number>();
  /** Until when the tool wants nothing, by lane (ms). */
  readonly #heldUntil = new Map<string, number>();

  /** How many may start now. */
  allowance(lane: string, limit: PaceLimit | null, now: number): number {
    if (this.#heldMs(lane, now) > 0) return 0;
    if (!limit) return Infinity;
    return Math.max(0, Math.floor(limit.burst - this.#owedMs(lane, limit, now) / intervalMs(limit)));
  }

  /** When the next one may start (ms). */
  readyAt(lane: string, limit: PaceLimit | null, now: number): number {
    const heldUntil = now + this.#heldMs(lane, now);
    if (!limit) return heldUntil;
    return Math.max(heldUntil, Math.ceil(now + this.#owedMs(lane, limit, now) - spareMs(limit)));
  }

  /** Counts `count` as started now. */
  spend(lane: string, limit: PaceLimit, now: number, count: number): Spent {
    const before = now + this.#owedMs(lane, limit, now);
    const after = before + count * intervalMs(limit);
    this.#wholeAt.set(lane, after);
    return { before, after };
  }

  /** Takes back what asked nothing of the tool, unless something else was counted or held in the lane since. */
  giveBack(lane: string, { before, after }: Spent): void {
    if (this.#wholeAt.get(lane) === after) this.#wholeAt.set(lane, before);
  }

  /** Lets nothing start before `time`, as the tool asked, and no burst then. */
  hold(lane: string, limit: PaceLimit | null, time: number): void {
    raise(this.#heldUntil, lane, time);
    if (limit) raise(this.#wholeAt, lane, time + spareMs(limit));
  }

  /** How long until the allowance is whole. Where a slower limit held before, from now on no longer than for an empty one. */
  #owedMs(lane: string, limit: PaceLimit, now: number): number {
    const owedMs = Math.max(0, (this.#wholeAt.get(lane) ?? 0) - now);
    const mostMs = this.#heldMs(lane, now) + limit.burst * intervalMs(limit);
    if (owedMs <= mostMs) return owedMs;
    this.#wholeAt.set(lane, now + mostMs);
    return mostMs;
  }

  #heldMs(lane: string, now: number): number {
    return Math.max(0, (this.#heldUntil.get(lane) ?? 0) - now);
  }

  /** Drops lanes whose allowance is whole; channels come and go. */
  forget(now: number): void {
    for (const times of [this.#wholeAt, this.#heldUntil]) {
      for (const [lane, time] of times) if (time <= now) times.delete(lane);
    }
  }
}

/** When the allowance would be whole (ms), before and after something was counted. */
export interface Spent {
  readonly before: number;
  readonly after: number;
}

const intervalMs = ({ count, perMs }: PaceLimit): number => perMs / count;

/** How far from whole an allowance may be for one to start. */
const spareMs = (limit: PaceLimit): number => (limit.burst - 1) * intervalMs(limit);

function raise(times: Map<string, number>, lane: string, time: number): void {
  times.set(lane, Math.max(times.get(lane) ?? 0, time));
}
