import type { Delivery, DeliveryState, Event, Status } from '../model.ts';
import type {
  DeliveryFilter,
  EventFilter,
  EventStory,
  NoticeStory,
  RejectedRequest,
  Store,
} from '../store/store.ts';
import { jsonLine, printable } from '../support/text.ts';
import { storyJson } from './json.ts';
import { noticeHead, noticeStoryJson } from './event.ts';
import { CommandError, deliveryLine, exit, type Io, paint, when } from './output.ts';
import { checkSink, type StoreOption, withStore } from './with-store.ts';

interface EventsOptions extends StoreOption {
  /** In milliseconds since the epoch. */
  readonly since?: number;
  readonly status?: Status;
  readonly candidate?: string;
  readonly limit?: number;
  readonly state?: DeliveryState;
  readonly sink?: string;
  readonly rejected?: boolean;
  readonly notices?: boolean;
  readonly json?: boolean;
}

/** What a person looks at; a program gets all. */
const shownToPeople = 100;

export async function events(options: EventsOptions, io: Io): Promise<number> {
  if (options.sink !== undefined && options.state === undefined) {
    throw new CommandError('--sink narrows --state, as in `events --state dead --sink slack`', exit.usage);
  }
  return withStore(options, io, async (store) => {
    if (options.sink !== undefined) await checkSink(options.sink, options, store);
    if (options.rejected) printRejected(await store.rejectedRequests(limitOf(options)), options, io);
    else if (options.notices) await printNotices(store, options, io);
    else await printStories(store, options, io);
    return exit.ok;
  });
}

const limitOf = ({ limit, json }: EventsOptions): number =>
  limit ?? (json ? Number.MAX_SAFE_INTEGER : shownToPeople);

async function printStories(store: Store, options: EventsOptions, io: Io): Promise<void> {
  const { since, status, candidate, state, sink, json } = options;
  const limit = limitOf(options);
  let count = 0;
  const filter = {
    limit: limit + 1,
    ...(since !== undefined && { since }),
    ...(status !== undefined && { status }),
    ...(candidate !== undefined && { candidateId: candidate }),
  };
  const stories =
    state === undefined
      ? storiesOf(store, filter)
      : storiesByState(store, { ...filter, state, ...(sink !== undefined && { sink }) });
  for await (const story of stories) {
    count += 1;
    if (count <= limit) io.out(json ? jsonLine(storyJson(story)) : storyText(story, io));
    if (!(await io.drained())) return;
  }
  if (json) return;
  if (count === 0) io.out('No events.');
  if (count > limit) io.out(`Older ones are not shown: --limit ${limit * 10} shows more.`);
}

function storyText({ event, duplicates, deliveries }: EventStory, io: Io): string {
  const repeated = duplicates === 0 ? '' : `  (repeated ${duplicates}×)`;
  const head = `${when(event.receivedAt)}  ${paint(io, 'bold', event.status)}  test ${event.testId}  candidate ${printable(event.candidateId)}${repeated}`;
  const lines =
    deliveries.length === 0
      ? ['    no rule asked for anything']
      : deliveries.map((one) => deliveryLine(one, io));
  return [head, `    ${event.id}`, ...lines].join('\n');
}

async function printNotices(store: Store, options: EventsOptions, io: Io): Promise<void> {
  const { since, json } = options;
  const notices = await store.notices({ limit: limitOf(options), ...(since !== undefined && { since }) });
  for (const story of notices) {
    io.out(json ? jsonLine(noticeStoryJson(story)) : noticeStoryText(story, io));
    if (!(await io.drained())) return;
  }
  if (notices.length === 0 && !json) io.out('No notices.');
}

function noticeStoryText({ notice, deliveries }: NoticeStory, io: Io): string {
  const lines = deliveries.map((one) => deliveryLine(one, io));
  return [noticeHead(notice, io), `    ${printable(notice.detail)}`, `    ${notice.id}`, ...lines].join('\n');
}

function printRejected(requests: readonly RejectedRequest[], { json }: EventsOptions, io: Io): void {
  for (const request of requests) {
    const { receivedAt, ...rest } = request;
    if (json) io.out(jsonLine({ receivedAt: new Date(receivedAt).toISOString(), ...rest }));
    else io.out(rejectedText(request));
  }
  if (requests.length === 0 && !json) io.out('No refused requests.');
}

function rejectedText({ receivedAt, status, address, correlationId, faults, body }: RejectedRequest): string {
  const correlation = printable(correlationId ?? 'none');
  return [
    `${when(receivedAt)}  ${status}  from ${printable(address)}  correlation id ${correlation}`,
    ...faults.map((fault) => `    ${printable(fault)}`),
    `    body: ${printable(body)}`,
  ].join('\n');
}

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
