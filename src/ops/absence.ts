import type { Absence, ReplicaState } from '../store/store.ts';

/** An update, or a move to another machine, takes less. */
const longAbsenceMs = 120_000;

/**
 * When nobody served the store before a start, or, if that was short, what was found so by an earlier one; null if nothing is
 * known of any. `states`: what the replicas said last. Events of that time are lost, since the service sends each twice at most.
 */
export function absenceBefore(states: readonly ReplicaState[], now: number): Absence | null {
  const from = Math.max(...states.map(({ saidAt }) => saidAt));
  return states.length > 0 && now - from >= longAbsenceMs
    ? { from, to: now }
    : lastAbsence(states, -Infinity);
}

/** The last absence that ended at `since` (ms) or later. */
export function lastAbsence(states: readonly ReplicaState[], since: number): Absence | null {
  const all = states.flatMap(({ absence }) => (absence && absence.to >= since ? [absence] : []));
  return all.reduce<Absence | null>((last, one) => (last && last.to >= one.to ? last : one), null);
}
