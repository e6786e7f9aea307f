/** The most characters of a template, and levels of nested tags. */
export const maxCharacters = 500_000;
export const maxDepth = 50;

/** The most faults of one template, and slips: to find or place each takes time linear to its length. */
export const mostFaults = 100;

export const tooDeep = `this is nested more than ${maxDepth} levels deep`;

/** The most characters and list entries that one rendering may read or make, and steps of its loops. */
const maxUse = 4_000_000;
export const maxSteps = 40_000;

export const formatCount = (count: number): string => count.toLocaleString('en');

/**
 * Replaces LiquidJS's time limit, which reads the clock: on a busy machine it would fail a good template. LiquidJS
 * calls `check` once for every tag, output and text that it renders.
 */
export class StepLimit {
  #steps = 0;

  check(): void {
    this.#steps += 1;
    if (this.#steps <= maxSteps) return;
    throw new Error(`the loops take more than ${formatCount(maxSteps)} steps`);
  }
}

/** Replaces LiquidJS's memory limit. LiquidJS reports what it is about to allocate, and filters what they are given. */
export class UseLimit {
  #used = 0;

  use(count: number): void {
    if (!(count > 0)) return;
    this.#used += count;
    if (this.#used <= maxUse) return;
    throw new Error(
      `the template reads or makes more than ${formatCount(maxUse)} characters or list entries`,
    );
  }
}
