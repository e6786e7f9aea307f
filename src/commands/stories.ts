import type { EventFilter, EventStory, Store } from '../store/store.ts';

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
