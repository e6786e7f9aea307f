import { mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadResult } from './burst/load.ts';
import { end, messageOf, start } from './child.ts';
import { dataFolder } from './data-folder.ts';
import { median, type BenchResult } from './result.ts';

const eventsPerBurst = 10_000;
const rounds = 5;

const scripts = join(import.meta.dirname, 'burst');

/**
 * A burst of events with one webhook each, from the first that is answered to the last that is delivered: the connector, with every
 * event, intent and outcome durable, against the handler that people write themselves, one after the other in each round. Each has
 * one core; the load and the endpoint have the other.
 */
export async function benchBurst(): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(await dataFolder(), 'bench-burst-'));
  try {
    const measured: { naive: number; connector: number }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      measured.push({
        naive: (await burst('naive-server.ts', [], { folder, events: eventsPerBurst })).delivered,
        connector: (await burst('connector-server.ts', [folder], { folder, events: eventsPerBurst }))
          .delivered,
      });
    }
    return judge(measured);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function judge(measured: readonly { naive: number; connector: number }[]): BenchResult[] {
  const ratio = median(measured.map(({ naive, connector }) => connector / naive));
  const perSecond = (who: 'naive' | 'connector') => Math.round(median(measured.map((round) => round[who])));
  return [
    {
      name: 'a burst, accepted and delivered',
      ratio,
      detail: `${perSecond('connector')} events/s from first accepted to last delivered, ${perSecond('naive')}/s by the handler that stores nothing`,
      target: 'at least 1',
      met: ratio >= 1,
    },
  ];
}

/** Events a second, from the first that was answered on. */
export interface Burst {
  readonly accepted: number;
  readonly delivered: number;
}

export async function burst(
  server: string,
  args: readonly string[],
  { folder, events }: { readonly folder: string; readonly events: number },
): Promise<Burst> {
  const log = await open(join(folder, 'log'), 'a');
  const endpoint = start(join(scripts, 'endpoint.ts'), [String(events)], { core: 1 });
  const { port: to } = await messageOf<{ port: number }>(endpoint);
  const url = `http://127.0.0.1:${to}/`;
  const child = start(join(scripts, server), [url, ...args], { core: 0, stdout: log.fd });
  const { port } = await messageOf<{ port: number }>(child);
  const done = messageOf<{ lastAt: number }>(endpoint);
  const load = start(join(scripts, 'load.ts'), [String(port), String(events)], { core: 1 });
  const { firstAt, answeredAt, refused } = await messageOf<LoadResult>(load);
  if (refused > 0) throw new Error(`${refused} events were refused`);
  const { lastAt } = await done;
  await Promise.all([end(child), end(endpoint), end(load)]);
  await log.close();
  const perSecond = (until: number) => (events / (until - firstAt)) * 1000;
  return { accepted: perSecond(answeredAt), delivered: perSecond(lastAt) };
}
