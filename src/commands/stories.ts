import type { Delivery, DeliveryState, Event } from '../model.ts';
import type { DeliveryFilter, EventFilter, EventStory, Store } from '../store/store.ts';

const pageSize = 500;

/** Stored events, newest first, read page by page, so that any number of them fits into memory. */
export async function* storiesOf(
  store: Pick<Store, 'events'>,
  { limit = Infinity, ...filter }: Omit<EventFilter, 'after'>,
): AsyncGenerator<EventStory> {
  let left = limit;
  let after: string | undefined;
  while (left > 0) {
    const size = Math.min(left, pageSize);
    const page = await store.events({ ...filter, limit: size, ...(after !== undefined && { after }) });
    yield* page;
    after = page.at(-1)?.event.id;
    left = page.length < size ? 0 : left - page.length;
  }
}

export interface StoriesByState extends Omit<EventFilter, 'after'> {
  readonly state: DeliveryState;
  readonly sink?: string;
}

/** Events with a delivery in this state, newest first. Found by the deliveries, which are few in all states but delivered. */
export async function* storiesByState(
  store: Pick<Store, 'deliveries' | 'event'>,
  { state, sink, since, status, candidateId, limit = Infinity }: StoriesByState,
): AsyncGenerator<EventStory> {
  const filter = {
    states: [state],
    ...(sink !== undefined && { sink }),
    ...(since !== undefined && { since }),
  };
  const ids = new Set<string>();
  for await (const page of deliveryPages(store, filter)) {
    for (const { eventId } of page) if (eventId !== null) ids.add(eventId);
  }
  let left = limit;
  for (const id of [...ids].toReversed()) {
    if (left === 0) return;
    const detail = await store.event(id);
    if (!detail || !matches(detail.event, { status, candidateId })) continue;
    left -= 1;
    yield { ...detail, duplicates: detail.duplicates.length };
  }
}

/** Oldest first. A page may change state before the next one is read: that goes on after it. */
export async function* deliveryPages(
  store: Pick<Store, 'deliveries'>,
  filter: Omit<DeliveryFilter, 'after' | 'limit'>,
): AsyncGenerator<readonly Delivery[]> {
  const paged = { ...filter, limit: pageSize };
  for (let page = await store.deliveries(paged); page.length > 0;) {
    yield page;
    page = await store.deliveries({ ...paged, after: page.at(-1)!.id });
  }
}

function matches(
  event: Event,
  { status, candidateId }: { status: string | undefined; candidateId: string | undefined },
): boolean {
  return (
    (status === undefined || event.status === status) &&
    (candidateId === undefined || event.candidateId === candidateId)
  );
}
