import type { Delivery, Status } from '../model.ts';
import type { EventStory, RejectedRequest, Store } from '../store/store.ts';
import { CommandError, exit, type Io } from './io.ts';
import { storyJson } from './json.ts';
import { jsonLine, paint, paintState, printable, when } from './paint.ts';
import { storiesOf } from './stories.ts';
import { withStore, type ConfigOption } from './with-store.ts';

interface EventsOptions extends ConfigOption {
  /** In milliseconds since the epoch. */
  readonly since?: number;
  readonly status?: Status;
  readonly candidate?: string;
  readonly limit?: number;
  readonly rejected?: boolean;
  readonly json?: boolean;
}

/** What a person looks at; a program gets all. */
const shownToPeople = 100;

export async function events(options: EventsOptions, io: Io): Promise<number> {
  const { since, status, candidate, rejected } = options;
  if (rejected && [since, status, candidate].some((filter) => filter !== undefined)) {
    throw new CommandError('--rejected goes with --limit and --json only', exit.usage);
  }
  return withStore(options, io, async (store) => {
    if (rejected) printRejected(await store.rejectedRequests(limitOf(options)), options, io);
    else await printStories(store, options, io);
    return exit.ok;
  });
}

const limitOf = ({ limit, json }: EventsOptions): number =>
  limit ?? (json ? Number.MAX_SAFE_INTEGER : shownToPeople);

async function printStories(store: Store, options: EventsOptions, io: Io): Promise<void> {
  const { since, status, candidate, json } = options;
  const limit = limitOf(options);
  let count = 0;
  const filter = {
    limit: limit + 1,
    ...(since !== undefined && { since }),
    ...(status !== undefined && { status }),
    ...(candidate !== undefined && { candidateId: candidate }),
  };
  for await (const story of storiesOf(store, filter)) {
    count += 1;
    if (count <= limit) io.out(json ? jsonLine(storyJson(story)) : storyText(story, io));
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
      : deliveries.map((one) => deliveryText(one, io));
  return [head, `    ${event.id}`, ...lines].join('\n');
}

function deliveryText(delivery: Delivery, io: Io): string {
  const due = delivery.state === 'pending' ? `, due ${when(delivery.dueAt)}` : '';
  const error = delivery.lastError === null ? '' : `: ${printable(delivery.lastError)}`;
  return `    ${delivery.sink}  ${paintState(io, delivery.state)}${due}  ${delivery.id}${error}`;
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
