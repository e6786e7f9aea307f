/** Marks a correlation id that came with several contents. */
const several = Symbol('several');

/**
 * The contents of recent correlation ids. Kept in memory, because an index of random ids would cost more than the rest of
 * accepting an event, and only a warning depends on it.
 */
export class RecentCorrelations {
  readonly #generationSize: number;
  #young = new Map<string, string | typeof several>();
  #old: ReadonlyMap<string, string | typeof several> = new Map();

  /** Remembers at least the last `generationSize` correlation ids, and at most twice as many. */
  constructor(generationSize: number) {
    this.#generationSize = generationSize;
  }

  /** Remembers an id with its content. Returns whether the id came with another content before. */
  note(correlationId: string, content: string): boolean {
    const earlier = this.#young.get(correlationId) ?? this.#old.get(correlationId) ?? content;
    const reused = earlier !== content;
    if (this.#young.size >= this.#generationSize) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(correlationId, reused ? several : content);
    return reused;
  }
}
