import type { Delivery } from '../model.ts';
import type { StuckCount } from '../store/store.ts';
import { causeOf, mayTell } from './troubles.ts';

/** An outcome may be on disk so much later than it says that it ended. */
const recordedLateMs = 60_000;

/** Why deliveries got stuck since people were last told of it, by sink and cause. Looking costs little while none does. */
export class Stuck {
  readonly #kind: 'dead' | 'held';
  readonly #stuckSince: (time: number) => Promise<StuckCount[]>;
  /** Causes that people may not have been told of, as notices name them. */
  readonly #suspects = new Set<string>();
  /** What got stuck until then has made its cause a suspect (ms). */
  #lookedUntil = 0;

  constructor(kind: 'dead' | 'held', stuckSince: (time: number) => Promise<StuckCount[]>) {
    this.#kind = kind;
    this.#stuckSince = stuckSince;
  }

  /** What people may be told of by now. `told`: when they last were, by cause (ms). */
  async look(now: number, told: ReadonlyMap<string, number>): Promise<StuckCount[]> {
    const fresh = await this.#stuckSince(Math.min(this.#lookedUntil, now) - recordedLateMs);
    for (const count of fresh) this.#suspects.add(this.#nameOf(count));
    this.#lookedUntil = now;
    const due = [...this.#suspects].filter((suspect) => mayTell(told.get(suspect), now));
    const stuck: StuckCount[] = [];
    for (const [toldAt, suspects] of Map.groupBy(due, (suspect) => told.get(suspect) ?? 0)) {
      const since = await this.#stuckSince(toldAt);
      const found = since.filter((count) => suspects.includes(this.#nameOf(count)));
      stuck.push(...found);
      const names = new Set(found.map((count) => this.#nameOf(count)));
      for (const suspect of suspects) if (!names.has(suspect)) this.#suspects.delete(suspect);
    }
    return stuck;
  }

  #nameOf({ sink, cause }: StuckCount): string {
    return causeOf(this.#kind, sink, cause);
  }
}

/** Longer than any attempt takes, with the time that it has to end after its time-out. */
const longestAttemptMs = 15 * 60_000;

/**
 * Deliveries that stay `sending` though no attempt takes so long: a fault of the connector itself kept the outcome from
 * being recorded. Counted by the clock that nobody sets.
 */
export class Unrecorded {
  /** When each attempt under way was first seen, by its delivery and number. */
  #seenAt = new Map<string, number>();

  look(sending: readonly Delivery[], now: number, elapsed: number): StuckCount[] {
    const seenAt = new Map(
      sending.map((delivery) => [keyOf(delivery), this.#seenAt.get(keyOf(delivery)) ?? elapsed]),
    );
    this.#seenAt = seenAt;
    const dueAt = (delivery: Delivery) => (seenAt.get(keyOf(delivery)) ?? elapsed) + longestAttemptMs;
    const overdue = sending.filter((delivery) => delivery.noticeId === null && dueAt(delivery) <= elapsed);
    return Array.from(
      Map.groupBy(overdue, ({ sink }) => sink),
      ([sink, all]) => ({
        sink,
        cause: '',
        count: all.length,
        // The last one's: people who were told of the others hear of it, too.
        firstAt: now - elapsed + Math.max(...all.map(dueAt)),
        reason: '',
      }),
    );
  }
}

const keyOf = ({ id, attempts }: Delivery): string => `${id} ${attempts}`;
