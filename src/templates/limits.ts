/** How many characters a template may make, those in between counted too, and how many steps its loops may take. */
const maxMemory = 4_000_000;
export const maxSteps = 100_000;

/** Thrown where a template goes too far; the message says by what. */
class LimitError extends Error {
  override readonly name = 'LimitError';
}

/**
 * Stands in for the limiter of LiquidJS, which reads the clock: there a busy machine would make a good template fail.
 * LiquidJS asks it once for every piece of a template that it renders.
 */
export class StepLimit {
  #steps = 0;

  check(): void {
    this.#steps += 1;
    if (this.#steps <= maxSteps) return;
    throw new LimitError(`its loops take more than ${maxSteps.toLocaleString('en')} steps`);
  }
}

/** Likewise for memory; LiquidJS says what it is about to use. */
export class MemoryLimit {
  #used = 0;

  use(count: number): void {
    if (!(count > 0)) return;
    this.#used += count;
    if (this.#used <= maxMemory) return;
    throw new LimitError(`it makes more than ${maxMemory.toLocaleString('en')} characters or list entries`);
  }
}
