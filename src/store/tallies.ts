import type { DeliveryState } from '../model.ts';

/** `planned` counts a sink's deliveries independently of their states, so that the two can be compared. */
export type Counted = DeliveryState | 'planned';

/**
 * The changes of one transaction to the stored counts. They are written once, at its end: otherwise a sink's rows would
 * be rewritten for every delivery.
 */
export class Tallies {
  readonly #counts = new Map<string, Map<Counted, number>>();
  readonly #uses = new Map<string, number>();

  planned(sink: string, state: DeliveryState, count = 1): void {
    this.#count(sink, 'planned', count);
    this.#count(sink, state, count);
  }

  moved(sink: string, from: DeliveryState, to: DeliveryState, count = 1): void {
    this.#count(sink, from, -count);
    this.#count(sink, to, count);
  }

  used(configId: string, count = 1): void {
    this.#uses.set(configId, (this.#uses.get(configId) ?? 0) + count);
  }

  /** Passes on every change, and clears them. */
  drain(
    count: (sink: string, state: Counted, change: number) => void,
    use: (configId: string, change: number) => void,
  ): void {
    for (const [sink, states] of this.#counts) {
      for (const [state, change] of states) if (change !== 0) count(sink, state, change);
    }
    for (const [configId, change] of this.#uses) if (change !== 0) use(configId, change);
    this.clear();
  }

  clear(): void {
    this.#counts.clear();
    this.#uses.clear();
  }

  #count(sink: string, state: Counted, change: number): void {
    let states = this.#counts.get(sink);
    if (!states) this.#counts.set(sink, (states = new Map()));
    states.set(state, (states.get(state) ?? 0) + change);
  }
}
