import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { postEvent } from '../src/commands/config/send.ts';
import { ConnectorProcess } from '../test/faults/connector-process.ts';
import { startTools, type Tools } from '../sandbox/tools.ts';
import { median, type BenchResult } from './result.ts';

const starts = 5;
const readyWithinMs = 500;
const idleWithinMb = 130;
const idleAfterMs = 1000;
const deliveredWithinMs = 15_000;

const root = join(import.meta.dirname, '..');

/**
 * How long after its start the connector is ready, with the example's four sinks and a new SQLite store, and its memory
 * when it is idle. Ratios to the limits, since there is nothing else to hold them against.
 */
export async function benchStart(): Promise<BenchResult[]> {
  const tools = await startTools({ slack: { channels: ['hiring', 'hiring-backend'] } });
  const folder = await mkdtemp(join(tmpdir(), 'bench-start-'));
  const measured: Measured[] = [];
  try {
    for (let round = 1; round <= starts; round += 1) {
      measured.push(await measure(tools, `sqlite:${folder}/${round}.db`));
    }
  } finally {
    await tools.close();
    await rm(folder, { recursive: true });
  }
  return [ready(measured), idle(measured)];
}

interface Measured {
  readonly readyMs: number;
  readonly idleMb: number;
  /** After a message to each of the four tools, for which their client libraries had to be loaded. */
  readonly usedMb: number;
}

function ready(measured: readonly Measured[]): BenchResult {
  const readyMs = median(measured.map((one) => one.readyMs));
  return {
    name: 'ready after the start, against the limit',
    ratio: readyMs / readyWithinMs,
    detail: `${Math.round(readyMs)} ms, the median of ${measured.length} starts`,
    target: `at most 1: ${readyWithinMs} ms`,
    met: readyMs <= readyWithinMs,
  };
}

function idle(measured: readonly Measured[]): BenchResult {
  const idleMb = median(measured.map((one) => one.idleMb));
  const usedMb = median(measured.map((one) => one.usedMb));
  return {
    name: 'memory when idle, against the limit',
    ratio: idleMb / idleWithinMb,
    detail: `${Math.round(idleMb)} MB resident; ${Math.round(usedMb)} MB once all four tools were used`,
    target: `at most 1: ${idleWithinMb} MB`,
    met: idleMb <= idleWithinMb,
  };
}

async function measure(tools: Tools, storeUrl: string): Promise<Measured> {
  const connector = new ConnectorProcess(join(root, 'config.example.yaml'), {
    ...tools.env,
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    ALLOW_FROM: 'any',
    ATS_IS_PRIVATE: 'true',
    DIGEST_EVERY: '1s',
    STORE_URL: storeUrl,
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
  });
  const startedMs = performance.now();
  try {
    const url = await connector.start();
    const readyMs = performance.now() - startedMs;
    await sleep(idleAfterMs);
    const idleMb = await residentMb(connector);
    await useAllTools(url, tools);
    return { readyMs, idleMb, usedMb: await residentMb(connector) };
  } finally {
    await connector.stop();
  }
}

async function useAllTools(url: string, { received }: Tools): Promise<void> {
  const before = Object.values(received).map((ids) => ids().length);
  for (const status of ['Completed', 'Canceled']) {
    const body = JSON.stringify({ candidateId: 'Dana', testId: 1234567, status });
    await postEvent({ url: `${url}/webhooks/candidates`, body, correlationId: status, timeoutMs: 10_000 });
  }
  const until = Date.now() + deliveredWithinMs;
  while (Object.values(received).some((ids, index) => ids().length === before[index])) {
    if (Date.now() > until) throw new Error('not every tool got its message');
    await sleep(20);
  }
  await sleep(idleAfterMs);
}

/** NaN where the system does not tell. */
async function residentMb({ pid }: ConnectorProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}
