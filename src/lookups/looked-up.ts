import type { Event } from '../model.ts';
import type { Store } from '../store/store.ts';
import { foundBy, knownAt } from './kept-facts.ts';

/** The look-ups of events, and the facts that these have found. */
export async function lookedUp(events: readonly Event[], store: Pick<Store, 'lookupsOf'>) {
  const lookups = await store.lookupsOf(events.map(({ id }) => id));
  const factsBy = (found: typeof foundBy) =>
    new Map(events.map(({ id }, place) => [id, found(lookups[place]!)]));
  return {
    facts: factsBy(foundBy),
    /** The facts as they were known at a time (ms). */
    factsAt: (time: number) => factsBy((asked) => knownAt(time, asked)),
    lookups: lookups.flat(),
  };
}
