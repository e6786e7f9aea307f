import type { LaneHead, Store } from '../store/store.ts';
import type { Clock } from '../support/clock.ts';

/** A look at everything that takes no longer is made each time. */
const cheapMs = 20;
/** After two longer ones, the looks for so many times the shorter one's duration go only through the known lanes. */
const pauses = 20;
const longestPauseMs = 30_000;
/** A delivery that is stored longer than this after its due time is found only by a look at everything. */
const lateMs = 5000;
const mostLanes = 1000;

/**
 * Finds the first pending delivery of each lane. While a long transaction runs, PostgreSQL cannot clean up the index entries
 * of deliveries that have ended, and reads them again in each look. Once that takes long, most looks go only through the known
 * lanes, each from where the last one began.
 */
export class DueLanes {
  readonly #store: Pick<Store, 'lanes'>;
  readonly #clock: Clock;
  /** The last lane served, by sink. */
  readonly #served = new Map<string, string>();
  #crowded = new Set<string>();
  #known = new Map<string, LaneHead>();
  /** When to look at everything again, on the scale of Clock.elapsed. */
  #allAt = -Infinity;
  /** How long the last look at everything took (ms). A long one may be chance, as at a start or on a busy machine. */
  #lastTookMs = 0;
  /** Counts `forget`. A look that began before one may not have seen the change. */
  #forgotten = 0;

  constructor(store: Pick<Store, 'lanes'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async look(): Promise<LaneHead[]> {
    const [now, elapsed] = [this.#clock.now(), this.#clock.elapsed()];
    const all = elapsed >= this.#allAt;
    const forgotten = this.#forgotten;
    try {
      const heads = await this.#store.lanes(all ? undefined : [...this.#known.values()]);
      if (all && this.#known.size > mostLanes) this.#known.clear();
      const until = now - lateMs;
      for (const [lane, known] of this.#known) this.#known.set(lane, { ...known, dueAt: until, seq: 0 });
      for (const head of heads)
        this.#known.set(head.lane, head.dueAt < until ? head : { ...head, dueAt: until, seq: 0 });
      return heads;
    } finally {
      if (all) this.#pause(this.#clock.elapsed() - elapsed, forgotten === this.#forgotten);
    }
  }

  /** Puts off the next look at everything, where such looks take long. */
  #pause(tookMs: number, sawAll: boolean): void {
    const usualMs = Math.min(tookMs, this.#lastTookMs);
    this.#lastTookMs = tookMs;
    if (usualMs > cheapMs && sawAll)
      this.#allAt = this.#clock.elapsed() + Math.min(pauses * usualMs, longestPauseMs);
  }

  /** Notes lanes in which deliveries were stored just now, so that also a look at the known lanes finds them. */
  expect(stored: readonly Pick<LaneHead, 'sink' | 'lane'>[]): void {
    const dueAt = this.#clock.now() - lateMs;
    for (const { sink, lane } of stored)
      if (!this.#known.has(lane)) this.#known.set(lane, { sink, lane, dueAt, seq: 0 });
  }

  served({ sink, lane }: LaneHead): void {
    this.#served.set(sink, lane);
  }

  /** Orders each sink's lanes, beginning after the last one served, so that none starves. */
  inTurn(heads: readonly LaneHead[]): LaneHead[] {
    return [...Map.groupBy(heads, ({ sink }) => sink)].flatMap(([sink, own]) => {
      const inOrder = own.toSorted((a, b) => (a.lane < b.lane ? -1 : 1));
      const next = inOrder.findIndex(({ lane }) => lane > (this.#served.get(sink) ?? ''));
      return next <= 0 ? inOrder : inOrder.slice(next).concat(inOrder.slice(0, next));
    });
  }

  /** Whether more deliveries were due in this lane than could begin, when it was last claimed from. */
  isCrowded(lane: string): boolean {
    return this.#crowded.has(lane);
  }

  get isAnyCrowded(): boolean {
    return this.#crowded.size > 0;
  }

  setCrowded(lane: string, isCrowded: boolean): void {
    if (isCrowded) this.#crowded.add(lane);
    else this.#crowded.delete(lane);
  }

  /** Forgets lanes as crowded in which nothing is due. */
  keepCrowded(due: readonly LaneHead[]): void {
    if (this.#crowded.size === 0) return;
    this.#crowded = this.#crowded.intersection(new Set(due.map(({ lane }) => lane)));
  }

  /** Has the next look go through everything, as deliveries may have become due at any time. */
  forget(): void {
    this.#allAt = -Infinity;
    this.#forgotten += 1;
  }
}
