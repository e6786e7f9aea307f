import { inForce, type PersonPause, type Store } from '../../store/store.ts';
import type { Clock } from '../../support/clock.ts';

/** The sinks that people have paused, as the store had them at the last `load`. */
export class PersonPauses {
  readonly #store: Pick<Store, 'personPauses' | 'takePause'>;
  readonly #clock: Pick<Clock, 'now'>;
  #all: readonly PersonPause[] = [];

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  async load(): Promise<void> {
    this.#all = await this.#store.personPauses();
  }

  /** Notes in the store that this replica begins no more deliveries of its paused sinks. */
  async take(isMine: (sink: string) => boolean): Promise<void> {
    const asked = this.#all.filter(({ phase, sink }) => phase === 'asked' && isMine(sink));
    for (const one of asked) await this.#store.takePause(one);
  }

  isPaused(sink: string): boolean {
    return this.#all.length > 0 && inForce(this.#all, this.#clock.now()).has(sink);
  }

  /** How long people have paused the sink since that time (ms). */
  pausedMs(sink: string, since: number): number {
    const now = this.#clock.now();
    return this.#all
      .filter((one) => one.sink === sink)
      .reduce(
        (sum, one) => sum + Math.max(0, Math.min(now, one.until ?? now) - Math.max(since, one.since)),
        0,
      );
  }
}
