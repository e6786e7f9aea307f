import type { Delivery, Event } from '../model.ts';
import { mayHaveArrived } from '../model/outcomes.ts';
import type { Store } from '../store/store.ts';
import { parseDeliveryId } from '../support/ids.ts';
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

/**
 * When the last attempt at an uncertain delivery began that may have arrived (ms): the tool is asked about what was sent then,
 * and nothing else goes out meanwhile. Null if there was none since a person replayed it, who wants what is known today.
 */
export async function perhapsSentAt(
  { id, replayed }: Delivery,
  store: Pick<Store, 'event'>,
): Promise<number | null> {
  if (replayed) return null;
  const story = await store.event(parseDeliveryId(id)!.eventId);
  const history = story?.deliveries.find((one) => one.id === id)?.history ?? [];
  return history.findLast(({ outcome }) => mayHaveArrived(outcome))?.startedAt ?? null;
}
