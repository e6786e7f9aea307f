import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { LatencyResult } from './burst/steady.ts';
import { messageOf } from './child.ts';
import { dataFolder } from './data-folder.ts';
import { atMost, median, type BenchResult } from './result.ts';
import { served } from './served.ts';

const perSecond = 200;
const seconds = 20;
const uncountedSeconds = 5;
const targetP50Ms = 1.2;
const targetP99Ms = 4;

const scripts = join(import.meta.dirname, 'burst');

/**
 * How long an event takes to the tool while few come: from its post to the call of the webhook. Beside it, what a handler that calls
 * at once and stores nothing takes of that. Each round has a new process of each.
 */
export async function benchLatency(rounds = 5): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(await dataFolder(), 'bench-latency-'));
  const measured: LatencyResult[] = [];
  const naive: LatencyResult[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      naive.push(await measure(folder, 'naive-server.ts'));
      measured.push(await measure(folder, 'connector-server.ts'));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const { p50Ms, p99Ms } = medians(measured);
  return [
    {
      name: `event to tool at ${perSecond} a second, against the limits`,
      ...atMost(
        Math.max(p50Ms / targetP50Ms, p99Ms / targetP99Ms),
        1,
        `${targetP50Ms} ms, ${targetP99Ms} ms`,
      ),
      detail: `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms; of the rounds ${measured.map(inWords).join(', ')}; by a handler that stores nothing ${inWords(medians(naive))}`,
    },
  ];
}

const inWords = ({ p50Ms, p99Ms }: LatencyResult) => `${p50Ms.toFixed(1)} / ${p99Ms.toFixed(1)}`;

const medians = (of: readonly LatencyResult[]): LatencyResult => ({
  p50Ms: median(of.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(of.map(({ p99Ms }) => p99Ms)),
});

async function measure(folder: string, server: string): Promise<LatencyResult> {
  const running = {
    folder,
    endpoint: [join(scripts, 'steady.ts'), ...[perSecond, seconds, uncountedSeconds].map(String)] as const,
    server: [join(scripts, server), folder] as const,
  };
  return served(running, async ({ endpoint, port }) => {
    endpoint.send({ port });
    return messageOf<LatencyResult>(endpoint);
  });
}
