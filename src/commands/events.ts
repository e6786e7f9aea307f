import type { Delivery } from '../model.ts';
import type { EventStory, RejectedRequest } from '../store/store.ts';
import { exit, type Io } from './io.ts';
import { storyJson } from './json.ts';
import { paint, paintState, printable, when } from './paint.ts';
import { sinceTime } from './since.ts';
import { withStore, type ConfigOption } from './with-store.ts';

interface EventsOptions extends ConfigOption {
  readonly since?: string;
  readonly status?: string;
  readonly candidate?: string;
  readonly limit: number;
  readonly rejected?: boolean;
  readonly json?: boolean;
}

export async function events(options: EventsOptions, io: Io): Promise<number> {
  return withStore(options, io, async (store) => {
    if (options.rejected) printRejected(await store.rejectedRequests(options.limit), options, io);
    else printStories(await store.events(filterOf(options)), options, io);
    return exit.ok;
  });
}

function filterOf({ since, status, candidate, limit }: EventsOptions) {
  return {
    limit,
    ...(since !== undefined && { since: sinceTime(since) }),
    ...(status !== undefined && { status }),
    ...(candidate !== undefined && { candidateId: candidate }),
  };
}

function printStories(stories: readonly EventStory[], options: EventsOptions, io: Io): void {
  if (options.json) for (const story of stories) io.out(JSON.stringify(storyJson(story)));
  else if (stories.length === 0) io.out('No events.');
  else for (const story of stories) io.out(storyText(story, io));
}

function storyText({ event, duplicates, deliveries }: EventStory, io: Io): string {
  const repeated = duplicates === 0 ? '' : `  (repeated ${duplicates}×)`;
  const head = `${when(event.receivedAt)}  ${paint(io, 'bold', event.status)}  test ${event.testId}  candidate ${printable(event.candidateId)}${repeated}`;
  const none = '    no rule asked for anything';
  return [head, `    ${event.id}`, ...(deliveries.length === 0 ? [none] : deliveries.map((one) => line(one, io)))].join('\n');
}

function line(delivery: Delivery, io: Io): string {
  const due = delivery.state === 'pending' ? `, due ${when(delivery.dueAt)}` : '';
  const error = delivery.lastError === null ? '' : `: ${printable(delivery.lastError)}`;
  return `    ${delivery.sink}  ${paintState(io, delivery.state)}${due}  ${delivery.id}${error}`;
}

function printRejected(requests: readonly RejectedRequest[], options: EventsOptions, io: Io): void {
  if (options.json) {
    for (const { receivedAt, ...rest } of requests) {
      io.out(JSON.stringify({ receivedAt: new Date(receivedAt).toISOString(), ...rest }));
    }
  } else if (requests.length === 0) io.out('No refused requests.');
  else for (const request of requests) io.out(rejectedText(request));
}

function rejectedText({ receivedAt, status, address, correlationId, faults, body }: RejectedRequest): string {
  return [
    `${when(receivedAt)}  ${status}  from ${address}  correlation id ${correlationId ?? 'none'}`,
    ...faults.map((fault) => `    ${printable(fault)}`),
    `    body: ${printable(body)}`,
  ].join('\n');
}
