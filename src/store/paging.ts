import type { Delivery } from '../model.ts';
import type { DeliveryFilter, EventSearch, EventStory, Store } from './store.ts';

export const pageSize = 500;

/** Reads stored events page by page, newest first. */
export function storiesOf(
  store: Pick<Store, 'events'>,
  { limit = Infinity, ...filter }: Omit<EventSearch, 'after'>,
): AsyncGenerator<EventStory> {
  return pageByPage<EventStory>(limit, (size, last) =>
    store.events({ ...filter, limit: size, ...(last && { after: last.event.id }) }),
  );
}

/** Reads a list page by page, so that any number of entries fits into memory. */
export async function* pageByPage<Entry>(
  limit: number,
  read: (size: number, last: Entry | undefined) => Promise<Entry[]>,
): AsyncGenerator<Entry> {
  let left = limit;
  let last: Entry | undefined;
  while (left > 0) {
    const size = Math.min(left, pageSize);
    const page = await read(size, last);
    yield* page;
    last = page.at(-1);
    left = page.length < size ? 0 : left - page.length;
  }
}

/** Reads deliveries in pages. The deliveries of a page may be changed before the next one is read. */
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

/**
 * Runs `work` for each item, 50 at a time: a store that is served has other things to do. Returns the results in order.
 */
export async function inParts<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += atOnce)
    results.push(...(await Promise.all(items.slice(from, from + atOnce).map(work))));
  return results;
}

const atOnce = 50;
