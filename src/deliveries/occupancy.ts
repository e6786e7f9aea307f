/**
 * Counts the attempts under way, in each sink and in each lane. Takes places before a claim and gives back what the
 * claim did not fill, so that two claims at once cannot overfill a sink.
 */
export class Occupancy {
  readonly #sinks = new Map<string, number>();
  readonly #lanes = new Map<string, number>();

  /** Takes up to `wanted` of the places that both limits leave; returns how many. */
  take(place: Place, limits: Limits, wanted: number): number {
    const room = Math.min(wanted, this.#room(place, limits));
    if (room <= 0) return 0;
    add(this.#sinks, place.sink, room);
    add(this.#lanes, place.lane, room);
    return room;
  }

  isFull(place: Place, limits: Limits): boolean {
    return this.#room(place, limits) <= 0;
  }

  free(place: Place, count: number): void {
    if (count === 0) return;
    add(this.#sinks, place.sink, -count);
    add(this.#lanes, place.lane, -count);
  }

  #room({ sink, lane }: Place, limits: Limits): number {
    return Math.min(limits.sink - (this.#sinks.get(sink) ?? 0), limits.lane - (this.#lanes.get(lane) ?? 0));
  }
}

export interface Place {
  readonly sink: string;
  readonly lane: string;
}

/** How many may be under way at once. */
export interface Limits {
  readonly sink: number;
  readonly lane: number;
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  // Lanes come and go with channels, so an empty one must not stay in memory.
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
