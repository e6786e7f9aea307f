import type { ChildProcess } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadResult } from './accept/load.ts';
import { end, messageOf, start } from './child.ts';
import { dataFolder } from './data-folder.ts';
import { median, type BenchResult } from './result.ts';

const rounds = 7;
const secondsPerRound = 3;
const targetRatio = 0.55;
const targetP99Ms = 50;

const scripts = join(import.meta.dirname, 'accept');

/**
 * Accepted events per second of the connector's way in, durably stored, against an Express app that parses, validates and
 * stores nothing: one after the other in each round, so that both meet the same machine.
 */
export async function benchAccept(): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(await dataFolder(), 'bench-accept-'));
  const log = await open(join(folder, 'log'), 'w');
  const servers = [
    start(join(scripts, 'plain-server.ts'), []),
    start(join(scripts, 'connector-server.ts'), [folder], { stdout: log.fd }),
  ] as const;
  try {
    const [plain, connector] = await Promise.all([portOf(servers[0]), portOf(servers[1])]);
    return judge(await measure(plain, connector));
  } finally {
    await Promise.all(servers.map(end));
    await log.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Round {
  readonly plain: LoadResult;
  readonly connector: LoadResult;
}

async function measure(plain: number, connector: number): Promise<Round[]> {
  const results: Round[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    results.push({ plain: await load(plain), connector: await load(connector) });
  }
  // The first one was for the compiler to warm up.
  return results.slice(1);
}

function judge(measured: readonly Round[]): BenchResult[] {
  const others = measured.reduce((sum, { plain, connector }) => sum + plain.others + connector.others, 0);
  if (others > 0) throw new Error(`${others} events were not answered 202`);
  const ratio = median(measured.map(({ plain, connector }) => connector.perSecond / plain.perSecond));
  const p99Ms = median(measured.map(({ connector }) => connector.p99Ms));
  const perSecond = (server: keyof Round) =>
    Math.round(median(measured.map((round) => round[server].perSecond)));
  const detail = `${perSecond('connector')} events/s accepted, ${perSecond('plain')}/s by the app that stores nothing; p99 ${p99Ms.toFixed(1)} ms`;
  return [
    {
      name: 'accepting, durably',
      ratio,
      detail,
      target: `at least ${targetRatio}, p99 under ${targetP99Ms} ms`,
      met: ratio >= targetRatio && p99Ms < targetP99Ms,
    },
  ];
}

async function portOf(server: ChildProcess): Promise<number> {
  const { port } = await messageOf<{ port: number }>(server);
  return port;
}

async function load(port: number): Promise<LoadResult> {
  return messageOf<LoadResult>(start(join(scripts, 'load.ts'), [String(port), String(secondsPerRound)]));
}
