import type { LaneHead } from '../store/store.ts';

/** Whose turn it is among the lanes of each sink, so that none waits for ever for its sink's places. */
export class Turns {
  /** The lane that was last served, by sink. */
  readonly #last = new Map<string, string>();

  served({ sink, lane }: LaneHead): void {
    this.#last.set(sink, lane);
  }

  /** Each sink's lanes, from the one on that follows the last one served. */
  inTurn(heads: readonly LaneHead[]): LaneHead[] {
    const bySink = Map.groupBy(heads, ({ sink }) => sink);
    return [...bySink].flatMap(([sink, own]) => startingAfter(this.#last.get(sink) ?? '', own));
  }
}

function startingAfter(last: string, heads: readonly LaneHead[]): LaneHead[] {
  const inOrder = heads.toSorted((a, b) => (a.lane < b.lane ? -1 : 1));
  const next = inOrder.findIndex(({ lane }) => lane > last);
  return next <= 0 ? inOrder : inOrder.slice(next).concat(inOrder.slice(0, next));
}
