import type { Delivery } from '../model.ts';

/**
 * Finds deliveries that are `sending` and in nobody's hands: their claim was stored after this process had given up on
 * it. A claim that has just been stored may look like one, so it has to look so twice.
 */
export class Strays {
  readonly #inHand = new Set<string>();
  readonly #unrecorded = new Set<string>();
  #suspects: ReadonlySet<string> = new Set();
  #lookAt = -Infinity;

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

  /** Whether it is time to look. The times are on the scale of Clock.elapsed. */
  areDue(elapsed: number, everyMs: number): boolean {
    if (elapsed < this.#lookAt) return false;
    this.#lookAt = elapsed + everyMs;
    return true;
  }

  /** The sinks of those among all that are `sending`. */
  sinksWith(sending: readonly Delivery[]): ReadonlySet<string> {
    const strays = sending.filter(({ id, carrier }) => !this.#isKnown(carrier ?? id));
    const sinks = strays.filter((one) => this.#suspects.has(keyOf(one))).map(({ sink }) => sink);
    this.#suspects = new Set(strays.map(keyOf));
    return new Set(sinks);
  }

  #isKnown(id: string): boolean {
    return this.#inHand.has(id) || this.#unrecorded.has(id);
  }
}

const keyOf = ({ id, attempts }: Delivery): string => `${id} ${attempts}`;
