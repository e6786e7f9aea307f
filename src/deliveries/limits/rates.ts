import type { PaceLimit } from '../../connector.ts';

/**
 * Token buckets, one for each lane, by the generic cell rate algorithm: one number a lane. Also holds lanes back for which the
 * tool asks. After a restart each bucket is full again. Times are on the scale of Clock.elapsed.
 */
export class RateLimiter {
  readonly #full = new Map<string, Full>();
  /** Until when the tool wants no calls, by lane (ms). */
  readonly #heldUntil = new Map<string, number>();

  /** How many calls may start within the next `aheadMs`; 0 if none may within `leadMs`. */
  allowance(lane: string, limit: PaceLimit | null, now: number, { aheadMs, leadMs } = noLookahead): number {
    if (this.#heldMs(lane, now) > 0) return 0;
    if (!limit) return Infinity;
    const owedMs = this.#owedMs(lane, limit, now);
    if (owedMs > burstMs(limit) + leadMs) return 0;
    return Math.max(1, Math.floor(limit.burst - (owedMs - aheadMs) / intervalMs(limit)));
  }

  /** When the next call may start within `leadMs` (ms). */
  readyAt(lane: string, limit: PaceLimit | null, now: number, leadMs = 0): number {
    const heldUntil = now + this.#heldMs(lane, now);
    if (!limit) return heldUntil;
    return Math.max(heldUntil, Math.ceil(now + this.#owedMs(lane, limit, now) - burstMs(limit) - leadMs));
  }

  /** Takes `count` tokens. */
  spend(lane: string, limit: PaceLimit, now: number, count: number): Spent {
    const before = now + this.#owedMs(lane, limit, now);
    const after = before + count * intervalMs(limit);
    const known = this.#full.get(lane);
    const series = known?.intervalMs === intervalMs(limit) ? known.series : {};
    this.#full.set(lane, { at: after, intervalMs: intervalMs(limit), series });
    return { before, after, series };
  }

  /** Gives tokens back that time has not refilled yet, unless the lane was held since. */
  refund(lane: string, { before, after, series }: Spent, now: number): void {
    const full = this.#full.get(lane);
    if (full?.series !== series) return;
    const owedMs = Math.min(after - before, Math.max(0, after - now));
    this.#full.set(lane, { ...full, at: full.at - owedMs });
  }

  /** Lets no call start before `time`, and no burst then. */
  hold(lane: string, limit: PaceLimit | null, time: number): void {
    this.#heldUntil.set(lane, Math.max(this.#heldUntil.get(lane) ?? 0, time));
    if (!limit) return;
    const at = Math.max(this.#full.get(lane)?.at ?? 0, time + burstMs(limit));
    this.#full.set(lane, { at, intervalMs: intervalMs(limit), series: {} });
  }

  /** Ends the holds of lanes: one call may start. */
  release(isMeant: (lane: string) => boolean, now: number): void {
    for (const lane of [...this.#heldUntil.keys()].filter(isMeant)) {
      const full = this.#full.get(lane);
      if (full) this.#full.set(lane, { ...full, at: full.at - this.#heldMs(lane, now) });
      this.#heldUntil.delete(lane);
    }
  }

  /** Notes that the bucket was empty at `time`. */
  wasEmpty(lane: string, limit: PaceLimit, time: number): void {
    const known = this.#full.get(lane);
    const at = Math.max(known?.at ?? 0, time + limit.burst * intervalMs(limit));
    if (known?.at === at && known.intervalMs === intervalMs(limit)) return;
    this.#full.set(lane, { at, intervalMs: intervalMs(limit), series: {} });
  }

  /**
   * How long until the bucket is full (ms). It may be more than a bucketful, as a call may count for several. What was owed
   * at another rate, before a reload, does not count.
   */
  #owedMs(lane: string, limit: PaceLimit, now: number): number {
    const full = this.#full.get(lane);
    return full?.intervalMs === intervalMs(limit) ? Math.max(0, full.at - now) : 0;
  }

  #heldMs(lane: string, now: number): number {
    return Math.max(0, (this.#heldUntil.get(lane) ?? 0) - now);
  }

  /** Forgets lanes whose bucket is full. */
  forget(now: number): void {
    for (const [lane, { at }] of this.#full) if (at <= now) this.#full.delete(lane);
    for (const [lane, time] of this.#heldUntil) if (time <= now) this.#heldUntil.delete(lane);
  }
}

/** Which calls count as those that may start: see RateLimiter.allowance. */
export interface Lookahead {
  readonly aheadMs: number;
  readonly leadMs: number;
}

export const noLookahead: Lookahead = { aheadMs: 0, leadMs: 0 };

/** When a lane's bucket is full again (ms), at the interval of its rate. */
interface Full {
  readonly at: number;
  readonly intervalMs: number;
  /** The same object as long as tokens were only taken and given back. */
  readonly series: object;
}

/** When the bucket is full again (ms), before and after tokens were taken. */
export interface Spent extends Pick<Full, 'series'> {
  readonly before: number;
  readonly after: number;
}

const intervalMs = ({ count, perMs }: PaceLimit): number => perMs / count;

/** How far from full the bucket may be for a call to start. */
export const burstMs = (limit: PaceLimit): number => (limit.burst - 1) * intervalMs(limit);
