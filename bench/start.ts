import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTools } from '../sandbox/tools.ts';
import { ConnectorProcess } from '../test/faults/connector-process.ts';
import { makeBundle } from '../test/fixtures/bundle.ts';
import { exampleChannels, exampleEnv, postExample, useAllTools } from '../test/fixtures/example.ts';
import { cpuMs, processEnv } from './child.ts';
import { webhookConfig } from './config-file.ts';
import { atMost, median, type BenchResult } from './result.ts';

const readyWithinMs = 350;
const idleWithinMb = 110;
const usedWithinMb = 140;
const idleAfterMs = 1000;

const root = join(import.meta.dirname, '..');
const source = join(root, 'src/main.ts');

/**
 * How long after its start the connector is ready, with the example's four sinks and a new SQLite store, as the image has it
 * and in a clone; and the image's memory when it is idle, after a message to each of its tools, for which their client
 * libraries had to be loaded. Ratios to the limits, since there is nothing else to hold them against.
 */
export async function benchStart(rounds = 5): Promise<BenchResult[]> {
  const tools = await startTools(exampleChannels);
  const folder = await mkdtemp(join(tmpdir(), 'bench-start-'));
  const image: Start[] = [];
  const clone: Start[] = [];
  const oneSink: Start[] = [];
  try {
    const bundle = await makeBundle();
    const example = join(root, 'config.example.yaml');
    const all = (receiver: string) => useAllTools(receiver, tools);
    const one = async (receiver: string) => {
      await postExample(receiver, 'Completed');
      while (tools.http.calls.length === before) await sleep(20);
    };
    let before = 0;
    for (let round = 1; round <= rounds; round += 1) {
      const home = join(folder, String(round));
      await mkdir(home);
      image.push(await start(bundle, example, exampleEnv(tools, `sqlite:${home}/image.db`), all));
      const cloned = { ...processEnv, ...exampleEnv(tools, `sqlite:${home}/clone.db`) };
      clone.push(await start(source, example, cloned, all));
      before = tools.http.calls.length;
      const secret = { BENCH_SECRET: tools.env.ATS_SECRET };
      oneSink.push(await start(bundle, await webhookConfig(home, tools.http.url), secret, one));
    }
  } finally {
    await tools.close();
    await rm(folder, { recursive: true });
  }
  return [
    ready('as the image has it', image),
    ready('in a clone', clone),
    idle('with one sink', oneSink, idleWithinMb),
    idle('with four sinks', image, usedWithinMb),
  ];
}

interface Start {
  readonly readyMs: number;
  /** Until it was ready. */
  readonly cpuMs: number;
  readonly idleMb: number;
}

async function start(
  program: string,
  config: string,
  env: Record<string, string>,
  use: (receiver: string) => Promise<void>,
): Promise<Start> {
  const connector = new ConnectorProcess(config, env, { program });
  const startedMs = performance.now();
  try {
    const receiver = await connector.start();
    const readyMs = performance.now() - startedMs;
    const computedMs = cpuMs(connector.pid!);
    await use(receiver);
    await sleep(idleAfterMs);
    return { readyMs, cpuMs: computedMs, idleMb: await residentMb(connector) };
  } finally {
    await connector.stop();
  }
}

function ready(where: string, starts: readonly Start[]): BenchResult {
  const ms = median(starts.map(({ readyMs }) => readyMs));
  const cpu = median(starts.map((one) => one.cpuMs));
  return {
    name: `ready after the start, ${where}, against the limit`,
    ...atMost(ms / readyWithinMs, 1, `${readyWithinMs} ms`),
    detail: `${ms.toFixed(0)} ms, ${cpu.toFixed(0)} ms of CPU time, the medians of ${starts.length} starts`,
  };
}

function idle(what: string, starts: readonly Start[], withinMb: number): BenchResult {
  const mb = median(starts.map(({ idleMb }) => idleMb));
  return {
    name: `memory when idle, ${what}, against the limit`,
    ...atMost(mb / withinMb, 1, `${withinMb} MB`),
    detail: `${mb.toFixed(0)} MB resident, once each tool was used`,
  };
}

/** NaN where the system does not tell. */
async function residentMb({ pid }: ConnectorProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}
