import type { Delivery } from '../model.ts';
import type { Lease, Store } from '../store/store.ts';
import type { Clock } from '../support/clock.ts';
import type { Holding } from './leases.ts';
import { storeRetryMs } from './record.ts';

interface StraysParts {
  readonly store: Pick<Store, 'deliveries'>;
  readonly clock: Clock;
  /** How often to look. */
  readonly everyMs: number;
  readonly storeFailed: (error: unknown) => void;
  /** Null where this replica does not see to the sink. */
  readonly serving: (sink: string) => Holding | null;
  /** Resolves when no call to the sink is in flight. */
  readonly idle: (sink: string) => Promise<void>;
  /** Makes everything due again that is `sending` to the sink. */
  readonly rescue: (sink: string, lease: Lease | undefined) => Promise<unknown>;
  readonly isStopping: () => boolean;
  readonly wake: () => void;
}

/**
 * Finds deliveries that are `sending` and in nobody's hands, and has them carried out: their claim was stored after this
 * process had given up on it. A claim that has just been stored may look like one, so it has to look so twice.
 */
export class Strays {
  readonly #parts: StraysParts;
  /** Sinks of which a claim may have been stored without an answer. */
  readonly #unclear = new Set<string>();
  readonly #inHand = new Set<string>();
  readonly #unrecorded = new Set<string>();
  #suspects: ReadonlySet<string> = new Set();
  #lookAt = -Infinity;

  constructor(parts: StraysParts) {
    this.#parts = parts;
  }

  begun(id: string): void {
    this.#inHand.add(id);
  }

  ended(id: string): void {
    this.#inHand.delete(id);
  }

  /** It stays `sending` until the next start. */
  unrecorded(id: string): void {
    this.#unrecorded.add(id);
  }

  /** Looks for them where it is time to. `elapsed`: on the scale of Clock.elapsed. */
  async look(elapsed: number): Promise<void> {
    const { store, everyMs, serving } = this.#parts;
    if (elapsed < this.#lookAt) return;
    this.#lookAt = elapsed + everyMs;
    const sending = await store.deliveries({ states: ['sending'], lookups: true });
    const strays = sending.filter(({ id, carrier }) => !this.#isKnown(carrier ?? id));
    const sinks = strays.filter((one) => this.#suspects.has(keyOf(one))).map(({ sink }) => sink);
    this.#suspects = new Set(strays.map(keyOf));
    for (const sink of new Set(sinks)) {
      const holding = serving(sink);
      if (holding !== null) void this.clearUp(sink, holding.lease);
    }
  }

  /**
   * A server that went away during a claim may have stored it: nobody would carry out those deliveries. Once no call of
   * the sink is in flight, whatever is `sending` is such a one. If another replica has taken it over, that one has seen to it.
   */
  async clearUp(sink: string, lease: Lease | undefined): Promise<void> {
    if (this.#unclear.has(sink)) return;
    this.#unclear.add(sink);
    const { clock, storeFailed, idle, rescue, isStopping, wake } = this.#parts;
    while (!isStopping()) {
      await idle(sink);
      try {
        await rescue(sink, lease);
        break;
      } catch (error) {
        storeFailed(error);
        await new Promise<void>((resolve) => void clock.after(storeRetryMs, resolve));
      }
    }
    this.#unclear.delete(sink);
    wake();
  }

  /** Nothing more may begin to such a sink until it is cleared up. */
  isUnclear(sink: string): boolean {
    return this.#unclear.has(sink);
  }

  #isKnown(id: string): boolean {
    return this.#inHand.has(id) || this.#unrecorded.has(id);
  }
}

const keyOf = ({ id, attempts }: Delivery): string => `${id} ${attempts}`;
