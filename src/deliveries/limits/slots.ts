/**
 * Counts the calls under way, by sink and by lane. Slots are taken before a claim, and unused ones given back after it, so
 * that concurrent claims cannot exceed a limit.
 */
export class Slots {
  readonly #sinks = new Map<string, number>();
  readonly #lanes = new Map<string, number>();
  #waiting: { readonly sink: string | null; readonly resolve: () => void }[] = [];

  /** Takes up to `wanted` slots within both limits. Returns how many. */
  take(key: LaneKey, limits: Limits, wanted: number): number {
    const count = Math.min(wanted, this.left(key, limits));
    if (count <= 0) return 0;
    this.add(key, count);
    return count;
  }

  /** Takes slots whatever the limits. */
  add({ sink, lane }: LaneKey, count: number): void {
    add(this.#sinks, sink, count);
    add(this.#lanes, lane, count);
  }

  free(key: LaneKey, count: number): void {
    if (count === 0) return;
    this.add(key, -count);
    if (this.#waiting.length > 0) this.#tellWhoWaits();
  }

  /** Resolves when no slot of this sink is taken; with null, of any sink. */
  idle(sink: string | null): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ sink, resolve });
      this.#tellWhoWaits();
    });
  }

  #tellWhoWaits(): void {
    const isIdle = (sink: string | null) => (sink === null ? this.#sinks.size === 0 : !this.#sinks.has(sink));
    for (const { sink, resolve } of this.#waiting) if (isIdle(sink)) resolve();
    this.#waiting = this.#waiting.filter(({ sink }) => !isIdle(sink));
  }

  left({ sink, lane }: LaneKey, limits: Limits): number {
    return Math.min(limits.sink - (this.#sinks.get(sink) ?? 0), limits.lane - (this.#lanes.get(lane) ?? 0));
  }
}

export interface LaneKey {
  readonly sink: string;
  readonly lane: string;
}

/** The most calls under way. */
export interface Limits {
  readonly sink: number;
  readonly lane: number;
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  // Channels come and go: an unused lane must not stay in memory.
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
