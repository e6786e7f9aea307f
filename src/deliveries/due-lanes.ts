import type { LaneHead, Store } from '../store/store.ts';
import type { Clock } from '../support/clock.ts';

/** A look at everything that takes no longer is not worth saving. */
const cheapMs = 20;
/** After a dear one, so many times as long is looked only where there is news. */
const pauses = 20;
const longestPauseMs = 30_000;
/** What is put into a lane later than that after it was due is found by the next look at everything. */
const lateMs = 5000;
const mostLanes = 1000;

/**
 * Finds the first pending delivery of each lane. While a long transaction runs, PostgreSQL has to keep what other lanes and
 * earlier times had, and reads all of it again in each look. So once that takes long, most looks go only through the known
 * lanes, each from where it began last.
 */
export class DueLanes {
  readonly #store: Pick<Store, 'lanes'>;
  readonly #clock: Clock;
  #known = new Map<string, LaneHead>();
  /** When to look at everything again, on the scale of Clock.elapsed. */
  #allAt = -Infinity;

  constructor(store: Pick<Store, 'lanes'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async look(): Promise<LaneHead[]> {
    const [now, elapsed] = [this.#clock.now(), this.#clock.elapsed()];
    const all = elapsed >= this.#allAt;
    try {
      const heads = await this.#store.lanes(all ? undefined : [...this.#known.values()]);
      if (all && this.#known.size > mostLanes) this.#known.clear();
      this.#learn(heads, now - lateMs);
      return heads;
    } finally {
      if (all) this.#pause(this.#clock.elapsed() - elapsed);
    }
  }

  /** Deliveries may have become due at any time. */
  forget(): void {
    this.#allAt = -Infinity;
  }

  #pause(tookMs: number): void {
    if (tookMs > cheapMs) this.#allAt = this.#clock.elapsed() + Math.min(pauses * tookMs, longestPauseMs);
  }

  #learn(heads: readonly LaneHead[], until: number): void {
    for (const [lane, known] of this.#known) this.#known.set(lane, { ...known, dueAt: until, seq: 0 });
    for (const head of heads)
      this.#known.set(head.lane, head.dueAt < until ? head : { ...head, dueAt: until, seq: 0 });
  }
}
