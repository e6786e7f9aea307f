import type { StuckCount } from '../../store/store.ts';
import { causeOf, lastNotice, mayNotify } from './conditions.ts';
import type { StuckState } from '../../model.ts';

/** How much later than its end an attempt may be recorded. */
const recordedLateMs = 60_000;

const toldReasons = 3;

/** The deliveries of one cause as one count, with the newest of what was said of them. They are in order of their last ones. */
function asOne(alike: readonly StuckCount[]): StuckCount {
  const sum = (of: 'count' | 'doubtful') => alike.reduce((total, one) => total + one[of], 0);
  return {
    ...alike[0]!,
    count: sum('count'),
    doubtful: sum('doubtful'),
    firstAt: Math.min(...alike.map(({ firstAt }) => firstAt)),
    reason: alike
      .slice(-toldReasons)
      .map(({ reason }) => reason)
      .join(' '),
  };
}

/** Finds deliveries that went dead, or were held, since the last notice of each cause. Costs little while there are none. */
export class StuckDeliveries {
  readonly #kind: StuckState;
  readonly #stuckSince: (time: number) => Promise<StuckCount[]>;
  /** Causes that may need a notice. */
  readonly #open = new Set<string>();
  /** Up to this time (ms), the causes of all stuck deliveries have been added to `#open`. */
  #lookedUntil = 0;

  constructor(kind: StuckState, stuckSince: (time: number) => Promise<StuckCount[]>) {
    this.#kind = kind;
    this.#stuckSince = stuckSince;
  }

  /** The stuck deliveries that a notice may report now. `notified`: when each cause last had a notice (ms). */
  async look(now: number, notified: ReadonlyMap<string, number>): Promise<StuckCount[]> {
    const fresh = await this.#stuckSince(Math.min(this.#lookedUntil, now) - recordedLateMs);
    for (const one of fresh) this.#open.add(this.#causeOf(one));
    this.#lookedUntil = now;
    const due = [...this.#open].filter((cause) => mayNotify(lastNotice(notified, cause), now));
    const stuck: StuckCount[] = [];
    for (const [notifiedAt, causes] of Map.groupBy(due, (cause) => lastNotice(notified, cause) ?? 0)) {
      const found = Map.groupBy(await this.#stuckSince(notifiedAt), (one) => this.#causeOf(one));
      for (const cause of causes) {
        const counts = found.get(cause);
        if (counts) stuck.push(asOne(counts));
        else this.#open.delete(cause);
      }
    }
    return stuck;
  }

  #causeOf({ sink, cause }: StuckCount): string {
    return causeOf(this.#kind, sink, cause);
  }
}
