import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { LatencyResult } from './burst/steady.ts';
import { messageOf } from './child.ts';
import { dataFolder } from './data-folder.ts';
import { median, type BenchResult } from './result.ts';
import { served } from './served.ts';

const perSecond = 200;
const seconds = 20;
const uncountedSeconds = 5;
const targetP50Ms = 1.2;
const targetP99Ms = 4;

const scripts = join(import.meta.dirname, 'burst');

/** How long an event takes to the tool while few come: from its post to the call of the webhook. Each round has a new process. */
export async function benchLatency(rounds = 5): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(await dataFolder(), 'bench-latency-'));
  const measured: LatencyResult[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) measured.push(await measure(folder));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const [p50Ms, p99Ms] = (['p50Ms', 'p99Ms'] as const).map((which) =>
    median(measured.map((round) => round[which])),
  ) as [number, number];
  const all = measured.map((round) => `${round.p50Ms.toFixed(1)} / ${round.p99Ms.toFixed(1)}`).join(', ');
  return [
    {
      name: `event to tool at ${perSecond} a second, against the limits`,
      ratio: Math.max(p50Ms / targetP50Ms, p99Ms / targetP99Ms),
      detail: `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms; of the rounds ${all}`,
      target: `at most 1 (${targetP50Ms} ms, ${targetP99Ms} ms)`,
      met: p50Ms <= targetP50Ms && p99Ms <= targetP99Ms,
    },
  ];
}

async function measure(folder: string): Promise<LatencyResult> {
  const running = {
    folder,
    endpoint: [join(scripts, 'steady.ts'), ...[perSecond, seconds, uncountedSeconds].map(String)] as const,
    server: [join(scripts, 'connector-server.ts'), folder] as const,
  };
  return served(running, async ({ endpoint, port }) => {
    endpoint.send({ port });
    return messageOf<LatencyResult>(endpoint);
  });
}
