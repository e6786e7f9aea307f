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

/** Events with a delivery in this state, newest first. Found by the deliveries, page by page, no more than are shown. */
export async function* storiesByState(
  store: Pick<Store, 'deliveries' | 'event'>,
  { state, sink, since, status, candidateId, limit = Infinity }: StoriesByState,
): AsyncGenerator<EventStory> {
  const filter = {
    states: [state],
    newestFirst: true,
    ...(sink !== undefined && { sink }),
    ...(since !== undefined && { since }),
  };
  let left = limit;
  let last: string | null = null;
  for await (const delivery of each(deliveryPages(store, filter, Math.min(limit, pageSize)))) {
    const { eventId } = delivery;
    // The deliveries of an event stand beside each other.
    if (eventId === null || eventId === last) continue;
    last = eventId;
    const detail = await store.event(eventId);
    if (!detail || !matches(detail.event, { status, candidateId })) continue;
    yield { ...detail, duplicates: detail.duplicates.length };
    left -= 1;
    if (left === 0) return;
  }
}

async function* each<T>(pages: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const page of pages) yield* page;
}

/** A page may change state before the next one is read: that goes on after it. */
export async function* deliveryPages(
  store: Pick<Store, 'deliveries'>,
  filter: Omit<DeliveryFilter, 'after' | 'limit'>,
  size = pageSize,
): AsyncGenerator<readonly Delivery[]> {
  const paged = { ...filter, limit: size };
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
