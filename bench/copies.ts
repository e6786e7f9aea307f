import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PostgresServer } from '../test/fixtures/postgres.ts';
import { load, portOf } from './accept.ts';
import { cpuMs, end, start } from './child.ts';
import { dataFolder } from './data-folder.ts';
import { median, type BenchResult } from './result.ts';

const mostCopies = 3;
const targetRatio = 0.8;

/**
 * Accepted events per second of two and three copies on one PostgreSQL against one copy: one after the other in each round. All of it
 * runs on one machine, so with few cores more copies only have to share them.
 */
export async function benchCopies(rounds = 5): Promise<BenchResult[]> {
  const server = await PostgresServer.start();
  const folder = await mkdtemp(join(await dataFolder(), 'bench-copies-'));
  const log = await open(join(folder, 'log'), 'w');
  const script = join(import.meta.dirname, 'accept/connector-server.ts');
  const copies = Array.from({ length: mostCopies }, () =>
    start(script, [folder, server.url()], { stdout: log.fd }),
  );
  try {
    const running = { server, copies, ports: await Promise.all(copies.map(portOf)) };
    const all: Measured[][] = [];
    for (let round = 0; round <= rounds; round += 1) {
      const measured: Measured[] = [];
      for (let count = 1; count <= mostCopies; count += 1) measured.push(await measure(running, count));
      all.push(measured);
    }
    // The first one was for the compiler to warm up.
    return judge(all.slice(1));
  } finally {
    await Promise.all(copies.map(end));
    await log.close();
    await rm(folder, { recursive: true, force: true });
    await server.remove();
  }
}

interface Running {
  readonly server: PostgresServer;
  readonly copies: readonly ChildProcess[];
  readonly ports: readonly number[];
}

interface Measured {
  readonly perSecond: number;
  /** How many cores this benchmark kept busy. */
  readonly cores: number;
  /** What of that went into one event (µs). */
  readonly copiesUs: number;
  readonly postgresUs: number;
}

async function measure(running: Running, count: number): Promise<Measured> {
  const before = used(running);
  const { perSecond, others } = await load(...running.ports.slice(0, count));
  if (others > 0) throw new Error(`${others} events were not answered 202`);
  const after = used(running);
  const per = (what: keyof typeof after) => (after[what] - before[what]) / (after.atMs - before.atMs);
  const anEvent = (what: keyof typeof after) => (per(what) / perSecond) * 1e6;
  return { perSecond, cores: per('allMs'), copiesUs: anEvent('copiesMs'), postgresUs: anEvent('postgresMs') };
}

function used({ copies, server }: Running) {
  return {
    atMs: performance.now(),
    // The senders, too: whoever has ended counts with this process.
    allMs: cpuMs(process.pid),
    copiesMs: copies.reduce((sum, { pid }) => sum + cpuMs(pid!), 0),
    postgresMs: cpuMs(Number.parseInt(readFileSync(join(server.dataFolder, 'postmaster.pid'), 'utf8'), 10)),
  };
}

function judge(rounds: readonly (readonly Measured[])[]): BenchResult[] {
  const of = (count: number, what: keyof Measured) => median(rounds.map((round) => round[count - 1]![what]));
  const cost = (count: number) =>
    `${of(count, 'cores').toFixed(1)} cores busy, ${of(count, 'copiesUs').toFixed(0)} µs an event in the connector and ${of(count, 'postgresUs').toFixed(0)} in PostgreSQL`;
  return [2, 3].map((count) => {
    const ratio = median(rounds.map((round) => round[count - 1]!.perSecond / round[0]!.perSecond));
    return {
      name: `accepting with ${count} copies against one`,
      ratio,
      detail: `${of(count, 'perSecond').toFixed(0)} events/s, ${cost(count)}; by one ${of(1, 'perSecond').toFixed(0)}/s, ${cost(1)}`,
      target: `at least ${targetRatio}`,
      met: ratio >= targetRatio,
    };
  });
}
