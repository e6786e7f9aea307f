import { inForce, type PersonPause, type Store } from '../../store/store.ts';
import type { Clock } from '../../support/clock.ts';

/** What people have paused, as it was when the store was last asked. */
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

  /** Tells whoever asked for a pause that nothing more is begun: of the sinks that are this replica's. */
  async take(isMine: (sink: string) => boolean): Promise<void> {
    const asked = this.#all.filter(({ phase, sink }) => phase === 'asked' && isMine(sink));
    for (const one of asked) await this.#store.takePause(one);
  }

  isPaused(sink: string): boolean {
    return this.#all.length > 0 && inForce(this.#all, this.#clock.now()).has(sink);
  }

  /** For how much of the time since then (ms). */
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
