import type { Absence, ReplicaState } from '../store/store.ts';

/** An update, or a move to another machine, takes less. */
const longAbsenceMs = 120_000;
/** One that goes on starting and ending makes many; the longest of them tell most. */
const mostAbsences = 10;

/**
 * When nobody served the store before a start; null if it was short, or nobody had served it. `states`: what the replicas said
 * last. Events of that time are lost, since the service sends each twice at most.
 */
export function absenceBefore(states: readonly ReplicaState[], now: number): Absence | null {
  const from = Math.max(...states.map(({ saidAt }) => saidAt));
  return states.length > 0 && now - from >= longAbsenceMs ? { from, to: now } : null;
}

/** What the replicas know of absences that ended at `since` (ms) or later, in their order. */
export function absencesIn(states: readonly Pick<ReplicaState, 'absences'>[], since: number): Absence[] {
  const all = states.flatMap(({ absences = [] }) => absences).filter(({ to }) => to >= since);
  // Replicas that start together find the same one.
  const byStart = new Map(all.toSorted((a, b) => b.to - a.to).map((one) => [one.from, one]));
  const longest = [...byStart.values()].toSorted((a, b) => b.to - b.from - (a.to - a.from));
  return longest.slice(0, mostAbsences).toSorted((a, b) => a.from - b.from);
}
