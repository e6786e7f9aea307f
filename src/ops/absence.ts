import type { Absence, ReplicaState, Store } from '../store/store.ts';
import { aheadMs, type Clock, setBackMs } from '../support/clock.ts';

/** An update, or a move to another machine, takes less. */
const longAbsenceMs = 120_000;
/** One that goes on starting and ending makes many; the longest of them tell most. */
const mostAbsences = 10;
/** So long people are told of what no command makes up for: of requests that were not valid events, say. A summary covers as much. */
export const weekMs = 7 * 86_400_000;

interface AbsencesParts {
  readonly store: Pick<Store, 'replicaStates' | 'lastEventAt'>;
  readonly clock: Clock;
  /** The id of this replica. */
  readonly id: string;
  readonly found: (absence: Absence) => void;
}

/**
 * When nobody served the store for long: before a start, and while this process stood still, as with a machine that was
 * suspended. Events of that time are lost, since the service sends each twice at most. `states`: what the replicas said last.
 */
export class Absences {
  /** Since when the store has been served (ms), as far as the replicas before knew: at least since they had their configs. */
  readonly servedSince: number;
  readonly #parts: AbsencesParts;
  #known: readonly Absence[];
  #lookedAt: number;
  #aheadMs: number;

  private constructor(parts: AbsencesParts, states: readonly ReplicaState[]) {
    this.#parts = parts;
    const before = states.map(({ servedSince, config }) => servedSince ?? config.since);
    this.servedSince = Math.min(parts.clock.now(), ...before);
    this.#lookedAt = states.length > 0 ? Math.max(...states.map(({ saidAt }) => saidAt)) : parts.clock.now();
    this.#aheadMs = aheadMs(parts.clock);
    this.#known = absencesIn(states, parts.clock.now());
  }

  static async before(parts: AbsencesParts, states: readonly ReplicaState[]): Promise<Absences> {
    const absences = new Absences(parts, states);
    await absences.look();
    return absences;
  }

  get known(): readonly Absence[] {
    return this.#known;
  }

  /** To be called every few seconds. */
  async look(): Promise<void> {
    const { store, clock, id, found } = this.#parts;
    const now = clock.now();
    this.#takeBack(setBackMs(clock, this.#aheadMs));
    if (now - this.#lookedAt >= longAbsenceMs) {
      const others = (await store.replicaStates()).filter((state) => state.id !== id);
      const absence = { from: Math.max(this.#lookedAt, ...others.map(({ saidAt }) => saidAt)), to: now };
      if (isLong(absence) && (await store.lastEventAt()) !== null) {
        this.#known = absencesIn([{ absences: [...this.#known, absence] }], now);
        found(absence);
      }
    }
    this.#lookedAt = now;
    this.#aheadMs = aheadMs(clock);
  }

  /** After the clock was set back, what ended by it while it was ahead ended sooner, or was none. */
  #takeBack(ms: number): void {
    if (ms === 0) return;
    const now = this.#parts.clock.now();
    const right = this.#known.map((one) => (one.to > now ? { ...one, to: one.to - ms } : one));
    this.#known = right.filter(isLong);
  }
}

const isLong = ({ from, to }: Absence): boolean => to - from >= longAbsenceMs;

/** What the replicas know of absences that ended in the last week, in their order. None ends later than now by a right clock. */
export function absencesIn(states: readonly Pick<ReplicaState, 'absences'>[], now: number): Absence[] {
  const all = states
    .flatMap(({ absences = [] }) => absences)
    .filter(({ to }) => to >= now - weekMs && to <= now);
  const longest = all.toSorted((a, b) => b.to - b.from - (a.to - a.from));
  // Replicas that start together, or were suspended together, find the same one. It begins by what each had heard last.
  const apart = longest.filter(
    (one, place) => !longest.slice(0, place).some(({ from }) => Math.abs(from - one.from) < longAbsenceMs),
  );
  return apart.slice(0, mostAbsences).toSorted((a, b) => a.from - b.from);
}
