import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SteadyResult } from './backlog/load.ts';
import { messageOf, start } from './child.ts';
import { dataFolder } from './data-folder.ts';
import { median, type BenchResult } from './result.ts';
import { served } from './served.ts';

const backlog = 100_000;
const perSecond = 500;
const seconds = 10;
const targetP99Ms = 25;

const scripts = join(import.meta.dirname, 'backlog');

/**
 * How long the sender waits for its answer while the whole connector drains a backlog as fast as it can, against the same without a
 * backlog. The connector has one core; the load and the endpoint have the other.
 */
export async function benchBacklog(rounds = 3): Promise<BenchResult[]> {
  const measured: { idle: Measured; draining: Measured }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    measured.push({ idle: await measure(0), draining: await measure(backlog) });
  }
  return judge(measured);
}

function judge(measured: readonly { idle: Measured; draining: Measured }[]): BenchResult[] {
  if (measured.some(({ draining }) => draining.left === 0)) {
    throw new Error('The backlog was gone before the measuring ended.');
  }
  const p99Ms = median(measured.map(({ draining }) => draining.p99Ms));
  const all = measured.map(({ draining }) => draining.p99Ms.toFixed(1)).join(', ');
  const idleMs = median(measured.map(({ idle }) => idle.p99Ms));
  const drained = Math.round(median(measured.map(({ draining }) => draining.perSecond)));
  return [
    {
      name: `accepting while a backlog of ${backlog} drains, p99`,
      ratio: p99Ms / idleMs,
      detail: `${p99Ms.toFixed(1)} ms (${all}) at ${perSecond} events/s, while ${drained} deliveries/s drain; ${idleMs.toFixed(1)} ms without a backlog`,
      target: `p99 under ${targetP99Ms} ms`,
      met: p99Ms < targetP99Ms,
    },
  ];
}

interface Measured {
  readonly p99Ms: number;
  /** Still to be delivered at the end. */
  readonly left: number;
  /** Delivered, while it was measured. */
  readonly perSecond: number;
}

async function measure(count: number): Promise<Measured> {
  const folder = await mkdtemp(join(await dataFolder(), 'bench-backlog-'));
  const running = {
    folder,
    endpoint: [join(import.meta.dirname, 'burst/endpoint.ts')] as const,
    server: [join(scripts, 'connector-server.ts'), folder, String(count)] as const,
  };
  try {
    return await served(running, async ({ port, metrics = '' }) => {
      const startedMs = performance.now();
      const args = [port, perSecond, seconds].map(String);
      const load = await messageOf<SteadyResult>(start(join(scripts, 'load.ts'), args, { core: 1 }));
      if (load.others > 0) throw new Error(`${load.others} events were not answered 202`);
      const left = await pending(metrics);
      const tookS = (performance.now() - startedMs) / 1000;
      return { p99Ms: load.p99Ms, left, perSecond: (count + load.sent - left) / tookS };
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function pending(metrics: string): Promise<number> {
  const text = await (await fetch(metrics)).text();
  return Number(/^candidate_connector_deliveries\{sink="ats",state="pending"\} (\d+)/m.exec(text)?.[1]);
}
