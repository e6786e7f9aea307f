import type { Clock } from '../support/clock.ts';
import type { Store } from '../store/store.ts';
import { longestBetweenProbesMs, type Pause } from './breaker.ts';

/**
 * The pauses of sinks in the store, where they outlast the process: a restart in an outage must not begin to call a
 * dead tool anew. The store has the time of the clock, a pause that of Clock.elapsed.
 */
export class KeptPauses {
  readonly #store: Pick<Store, 'pauses' | 'keepPause' | 'endPause'>;
  readonly #clock: Clock;
  /** What the store has, by sink. */
  readonly #kept = new Map<string, Pause>();

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** What an earlier life of the process left, by sink. */
  async load(): Promise<ReadonlyMap<string, Pause>> {
    const now = this.#clock.now();
    const offsetMs = now - this.#clock.elapsed();
    for (const { sink, since, probeAt, probes } of await this.#store.pauses()) {
      // The clock may have been set back in between.
      const inTime = {
        since: Math.min(since, now),
        probeAt: Math.min(probeAt, now + longestBetweenProbesMs),
      };
      const pause = { since: inTime.since - offsetMs, probeAt: inTime.probeAt - offsetMs, probes };
      this.#kept.set(sink, pause);
    }
    return this.#kept;
  }

  /** Brings the store up to date. */
  async keep(pauses: ReadonlyMap<string, Pause>): Promise<void> {
    const offsetMs = this.#clock.now() - this.#clock.elapsed();
    for (const [sink, pause] of pauses) {
      if (this.#kept.get(sink) === pause) continue;
      const since = Math.round(offsetMs + pause.since);
      const probeAt = Math.round(offsetMs + pause.probeAt);
      await this.#store.keepPause({ sink, since, probeAt, probes: pause.probes });
      this.#kept.set(sink, pause);
    }
    for (const sink of [...this.#kept.keys()].filter((one) => !pauses.has(one))) {
      await this.#store.endPause(sink);
      this.#kept.delete(sink);
    }
  }
}
