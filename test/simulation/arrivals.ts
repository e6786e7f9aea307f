import { statuses, type CandidateEvent } from '../../src/model.ts';

/** An event that comes in a run. */
export interface Coming {
  readonly event: CandidateEvent;
  readonly atMs: number;
}

/** Tells the events of a run apart. */
export const nameOf = ({ candidateId, status }: Pick<CandidateEvent, 'candidateId' | 'status'>): string =>
  `${candidateId}/${status}`;

/** Of some candidates several, close together or at the same moment. */
export function arrivals(random: () => number, withinMs: number): Coming[] {
  const count = 3 + Math.floor(random() * 10);
  const all: Coming[] = [];
  while (all.length < count) all.push(next(all, random, withinMs));
  return all;
}

function next(before: readonly Coming[], random: () => number, withinMs: number): Coming {
  const id = before.at(-1)?.event.candidateId;
  const same = random() < 0.5 ? before.filter(({ event }) => event.candidateId === id) : [];
  const status = statuses[same.length];
  const testId = 1 + Math.floor(random() * 3);
  const [first] = same;
  if (first && status) {
    const behindMs = random() < 0.3 ? 0 : random() ** 2 * 30_000;
    return { event: { ...first.event, testId, status }, atMs: first.atMs + behindMs };
  }
  const candidateId = `${random() < 0.05 ? 'unwanted' : 'candidate'}-${before.length}`;
  const event = { candidateId, candidateNumericalId: null, testId, status: statuses[0] };
  return { event, atMs: random() * withinMs };
}
