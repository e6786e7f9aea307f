import type { DeliveryState, Status } from '../model.ts';
import type { EventStory, NoticeStory, RejectedRequest, Store } from '../store/store.ts';
import { jsonLine, printable } from '../support/text.ts';
import { deliveryLine } from './delivery-text.ts';
import { CommandError, exit, type Io } from './io.ts';
import { storyJson } from './json.ts';
import { noticeHead, noticeStoryJson } from './notice.ts';
import { paint, when } from './paint.ts';
import { storiesByState, storiesOf } from './stories.ts';
import { checkSink, withStore, type StoreOption } from './with-store.ts';

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
