import type { Delivery } from '../model.ts';
import { StoreFaults } from '../store/store-faults.ts';
import { type Lease, type Store, StoreUnavailable } from '../store/store.ts';
import type { Clock } from '../support/clock.ts';
import type { Holding } from './leases.ts';
import { storeRetryMs } from './record.ts';

interface StraysParts {
  readonly store: Pick<Store, 'deliveries'>;
  readonly clock: Clock;
  /** How often to look. */
  readonly everyMs: number;
  readonly faults: StoreFaults<unknown>;
  /** Null where this replica does not see to the sink. */
  readonly serving: (sink: string) => Holding | null;
  /** Resolves when no call to the sink is in flight. */
  readonly idle: (sink: string) => Promise<void>;
  /** Makes all deliveries to the sink that are `sending` due again. */
  readonly rescue: (sink: string, lease: Lease | undefined) => Promise<unknown>;
  readonly isStopping: () => boolean;
}

/** Why what waits for a sink, or was being sent, cannot go on, although the store works. */
export const locked = (sink: string): StoreUnavailable =>
  new StoreUnavailable(
    `What waits for ${sink} is locked: another session changed or locked its rows and has not committed.`,
  );

/**
 * Finds stray deliveries and has them carried out: those that are `sending` in the store while no call carries them out, as
 * their claim was stored after this process had given up on it. A claim that was just stored looks the same, so a delivery
 * has to be found twice.
 */
export class Strays {
  readonly #parts: StraysParts;
  /** Sinks with a claim that may have been stored without an answer. */
  readonly #unclear = new Set<string>();
  readonly #inHand = new Set<string>();
  readonly #unrecorded = new Set<string>();
  #suspects: ReadonlySet<string> = new Set();
  /**
   * The sinks with deliveries that are `sending`, and not by this process: perhaps by another replica, or by one that has
   * ended.
   */
  sinks: ReadonlySet<string> = new Set();
  #lookAt = -Infinity;
  /** The sinks that were cleared up since the last look. */
  readonly #clearedUp = new Set<string>();
  /** Those with strays that were left, as somebody has locked them. */
  readonly #locked: StoreFaults<string>;

  constructor(parts: StraysParts) {
    this.#parts = parts;
    this.#locked = new StoreFaults(parts.clock, () => {});
  }

  begun(id: string): void {
    this.#inHand.add(id);
  }

  ended(id: string): void {
    this.#inHand.delete(id);
  }

  /** Leaves a delivery `sending` until the next start, as its outcome could not be recorded. */
  unrecorded(id: string): void {
    this.#unrecorded.add(id);
  }

  /** Why deliveries stay `sending`, until the next start or for some time already; null if none does. */
  get fault(): unknown {
    const [id] = this.#unrecorded;
    if (id === undefined) return this.#locked.lasting;
    return new Error(
      `Because of a bug, what became of ${id} could not be stored. Restart the connector: the tool is then asked, where it can be. The log says more.`,
    );
  }

  /** Looks for strays, if it is time to. `elapsed`: on the scale of Clock.elapsed. */
  async look(elapsed: number): Promise<void> {
    const { store, everyMs, serving } = this.#parts;
    if (elapsed < this.#lookAt) return;
    this.#lookAt = elapsed + everyMs;
    const sending = await store.deliveries({ states: ['sending'], lookups: true });
    const isKnown = (id: string) => this.#inHand.has(id) || this.#unrecorded.has(id);
    const strays = sending.filter(({ id, carrier }) => !isKnown(carrier ?? id));
    const sinks = strays.filter((one) => this.#suspects.has(keyOf(one))).map(({ sink }) => sink);
    this.#suspects = new Set(strays.map(keyOf));
    this.sinks = new Set(strays.map(({ sink }) => sink));
    this.#locked.keepOnly((sink) => sinks.includes(sink) && (this.isUnclear(sink) || serving(sink) !== null));
    for (const sink of new Set(sinks)) {
      const holding = serving(sink);
      if (holding === null) continue;
      if (this.#clearedUp.has(sink)) this.#locked.held(sink, locked(sink), elapsed);
      void this.clearUp(sink, holding.lease);
    }
    this.#clearedUp.clear();
  }

  /**
   * Rescues the deliveries of a claim that failed: the server may have stored it before it went away. Waits until no call to
   * the sink is under way, so that all that is `sending` is stray. A replica that has taken the sink over has rescued them.
   * It wakes nobody: after a claim that is refused, a look at once would repeat that without end.
   */
  async clearUp(sink: string, lease: Lease | undefined): Promise<void> {
    if (this.#unclear.has(sink)) return;
    this.#unclear.add(sink);
    const { clock, faults, idle, rescue, isStopping } = this.#parts;
    while (!isStopping()) {
      await idle(sink);
      try {
        await rescue(sink, lease);
        break;
      } catch (error) {
        faults.failed(sink, error);
        await new Promise<void>((resolve) => void clock.after(storeRetryMs, resolve));
      }
    }
    faults.over(sink);
    this.#unclear.delete(sink);
    this.#clearedUp.add(sink);
  }

  /** Whether a sink is being cleared up. No call to it may begin meanwhile. */
  isUnclear(sink: string): boolean {
    return this.#unclear.has(sink);
  }
}

const keyOf = ({ id, attempts }: Delivery): string => `${id} ${attempts}`;
