import type { ChildProcess } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadResult } from './accept/load.ts';
import { PostgresServer } from '../test/fixtures/postgres.ts';
import { end, messageOf, start } from './child.ts';
import { dataFolder } from './data-folder.ts';
import { atLeast, median, spreadOf, type BenchResult } from './result.ts';

const usualRounds = 7;
const secondsPerRound = 3;
const targetRatio = 0.85;
const targetP99Ms = 50;
const targetRatioOfStores = 0.6;

const scripts = join(import.meta.dirname, 'accept');

/**
 * Accepted events per second of the connector's way in, durably stored, against an Express app that parses, validates and
 * stores nothing: one after the other in each round, so that both meet the same machine.
 */
export async function benchAccept(rounds = usualRounds): Promise<BenchResult[]> {
  return judge(
    await inTurn(rounds, (folder, stdout) => [
      start(join(scripts, 'plain-server.ts'), []),
      start(join(scripts, 'connector-server.ts'), [folder], { stdout }),
    ]),
  );
}

/** The same on PostgreSQL, which runs on the same machine, against SQLite. */
export async function benchPostgres(rounds = usualRounds): Promise<BenchResult[]> {
  const server = await PostgresServer.start();
  try {
    return judgeStores(
      await inTurn(rounds, (folder, stdout) => [
        start(join(scripts, 'connector-server.ts'), [folder], { stdout }),
        start(join(scripts, 'connector-server.ts'), [folder, server.url()], { stdout }),
      ]),
    );
  } finally {
    await server.remove();
  }
}

async function inTurn(
  rounds: number,
  begin: (folder: string, stdout: number) => readonly [ChildProcess, ChildProcess],
): Promise<Round[]> {
  const folder = await mkdtemp(join(await dataFolder(), 'bench-accept-'));
  const log = await open(join(folder, 'log'), 'w');
  const servers = begin(folder, log.fd);
  try {
    const [yardstick, measured] = await Promise.all([portOf(servers[0]), portOf(servers[1])]);
    return await measure(rounds, yardstick, measured);
  } finally {
    await Promise.all(servers.map(end));
    await log.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Round {
  readonly yardstick: LoadResult;
  readonly measured: LoadResult;
}

async function measure(rounds: number, yardstick: number, measured: number): Promise<Round[]> {
  const results: Round[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    results.push({ yardstick: await load(yardstick), measured: await load(measured) });
  }
  // The first one was for the compiler to warm up.
  return results.slice(1);
}

function judge(rounds: readonly Round[]): BenchResult[] {
  const { ratio, spread, p99Ms, ofYardstick, ofMeasured } = figures(rounds);
  return [
    {
      name: 'accepting, durably',
      ratio,
      detail: `${ofMeasured} events/s accepted, ${ofYardstick}/s by the app that stores nothing; p99 ${p99Ms.toFixed(1)} ms; ratios ${spread}`,
      target: `at least ${targetRatio}, p99 under ${targetP99Ms} ms`,
      met: ratio >= targetRatio && p99Ms < targetP99Ms,
    },
  ];
}

function judgeStores(rounds: readonly Round[]): BenchResult[] {
  const { ratio, spread, p99Ms, ofYardstick, ofMeasured } = figures(rounds);
  return [
    {
      name: 'accepting, on PostgreSQL',
      ...atLeast(ratio, targetRatioOfStores),
      detail: `${ofMeasured} events/s accepted, ${ofYardstick}/s on SQLite; p99 ${p99Ms.toFixed(1)} ms; ratios ${spread}`,
    },
  ];
}

function figures(rounds: readonly Round[]) {
  const others = rounds.reduce((sum, { yardstick, measured }) => sum + yardstick.others + measured.others, 0);
  if (others > 0) throw new Error(`${others} events were not answered 202`);
  const perSecond = (of: keyof Round) => Math.round(median(rounds.map((round) => round[of].perSecond)));
  const ratios = rounds.map(({ yardstick, measured }) => measured.perSecond / yardstick.perSecond);
  return {
    ratio: median(ratios),
    spread: spreadOf(ratios),
    p99Ms: median(rounds.map(({ measured }) => measured.p99Ms)),
    ofYardstick: perSecond('yardstick'),
    ofMeasured: perSecond('measured'),
  };
}

export async function portOf(server: ChildProcess): Promise<number> {
  const { port } = await messageOf<{ port: number }>(server);
  return port;
}

/** Over connections that are spread over these ports. */
export async function load(...ports: number[]): Promise<LoadResult> {
  return messageOf<LoadResult>(start(join(scripts, 'load.ts'), [ports.join(), String(secondsPerRound)]));
}
