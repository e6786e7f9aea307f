import { type ChildProcess, spawnSync } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadResult } from './burst/load.ts';
import { cpuMs, end, messageOf, start } from './child.ts';
import type { forms } from './connection.ts';
import { dataFolder } from './data-folder.ts';
import { median, type BenchResult } from './result.ts';

const eventsPerBurst = 10_000;
const rounds = 5;

const scripts = join(import.meta.dirname, 'burst');

/** What the connector is measured against: the script that starts it, and what it is. */
const yardsticks = {
  naive: {
    script: 'naive-server.ts',
    form: 'event',
    name: 'a burst, accepted and delivered',
    is: 'the handler that stores nothing',
  },
  alertmanager: {
    script: 'alertmanager-server.ts',
    form: 'alert',
    name: 'the same against Alertmanager',
    is: 'Alertmanager, which stores nothing',
  },
} as const;

type Yardstick = keyof typeof yardsticks;
type Round = Readonly<Partial<Record<Yardstick | 'connector', Burst>>>;

/**
 * A burst of events with one webhook each, from the first that is answered to the last that is delivered: the connector, with every
 * event, intent and outcome durable, against the handler that people write themselves and against Alertmanager, one after the other
 * in each round, and each after a burst that is not counted. Each has one core; the load and the endpoint have the other.
 */
export async function benchBurst(): Promise<BenchResult[]> {
  const program = findAlertmanager();
  if (program === undefined) {
    console.log('burst: without Alertmanager, as none is on the PATH and ALERTMANAGER names none.');
  }
  const folder = await mkdtemp(join(await dataFolder(), 'bench-burst-'));
  try {
    const measured: Round[] = [];
    for (let round = 0; round < rounds; round += 1) measured.push(await inTurn(folder, program));
    return judge(measured, program === undefined ? ['naive'] : ['naive', 'alertmanager']);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What `ALERTMANAGER` names, or what is on the PATH, by Debian's name or its own. */
function findAlertmanager(): string | undefined {
  const names = ['prometheus-alertmanager', 'alertmanager'];
  return (
    process.env['ALERTMANAGER'] ?? names.find((name) => spawnSync(name, ['--version']).error === undefined)
  );
}

async function inTurn(folder: string, program: string | undefined): Promise<Round> {
  const sizes = { folder, events: eventsPerBurst, uncounted: eventsPerBurst };
  const run = (of: Yardstick, args: readonly string[]) => {
    const { script, form } = yardsticks[of];
    return burst(script, args, { ...sizes, form });
  };
  return {
    naive: await run('naive', []),
    ...(program !== undefined && { alertmanager: await run('alertmanager', [folder, program]) }),
    connector: await burst('connector-server.ts', [folder], sizes),
  };
}

function judge(measured: readonly Round[], against: readonly Yardstick[]): BenchResult[] {
  const typical = (who: keyof Round, what: keyof Burst) =>
    Math.round(median(measured.map((round) => round[who]![what])));
  const rates = (who: keyof Round) =>
    `${typical(who, 'delivered')} events/s, ${typical(who, 'cpuUs')} µs of CPU time each,`;
  return against.map((yardstick) => {
    const ratio = median(measured.map((round) => round.connector!.delivered / round[yardstick]!.delivered));
    const { name, is } = yardsticks[yardstick];
    return {
      name,
      ratio,
      detail: `${rates('connector')} from first accepted to last delivered; ${rates(yardstick)} by ${is}`,
      target: 'at least 1',
      met: ratio >= 1,
    };
  });
}

interface BurstOptions {
  readonly folder: string;
  readonly events: number;
  /** Events of a burst before it, for the compiler to warm up. */
  readonly uncounted?: number;
  readonly form?: keyof typeof forms;
}

export interface Burst {
  /** Events a second, from the first that was answered on. */
  readonly accepted: number;
  readonly delivered: number;
  /** The server's CPU time for each event. */
  readonly cpuUs: number;
}

export async function burst(
  server: string,
  args: readonly string[],
  { folder, events, uncounted, form = 'event' }: BurstOptions,
): Promise<Burst> {
  const bursts = uncounted === undefined ? [events] : [uncounted, events];
  const log = await open(join(folder, 'log'), 'a');
  const endpoint = start(join(scripts, 'endpoint.ts'), bursts.map(String), { core: 1 });
  const { port: to } = await messageOf<{ port: number }>(endpoint);
  const url = `http://127.0.0.1:${to}/`;
  const child = start(join(scripts, server), [url, ...args], { core: 0, stdout: log.fd });
  try {
    const { port } = await messageOf<{ port: number }>(child);
    const measured: Burst[] = [];
    for (const count of bursts) measured.push(await one(child, endpoint, [port, count, form].map(String)));
    return measured.at(-1)!;
  } finally {
    await Promise.all([end(child), end(endpoint)]);
    await log.close();
  }
}

async function one(server: ChildProcess, endpoint: ChildProcess, args: readonly string[]): Promise<Burst> {
  const beforeMs = cpuMs(server.pid!);
  const done = messageOf<{ lastAt: number }>(endpoint);
  done.catch(() => {});
  const load = start(join(scripts, 'load.ts'), args, { core: 1 });
  const { firstAt, answeredAt, refused } = await messageOf<LoadResult>(load);
  if (refused > 0) throw new Error(`${refused} events were refused`);
  const { lastAt } = await done;
  const cpuUs = ((cpuMs(server.pid!) - beforeMs) / Number(args[1])) * 1000;
  await end(load);
  const perSecond = (until: number) => (Number(args[1]) / (until - firstAt)) * 1000;
  return { accepted: perSecond(answeredAt), delivered: perSecond(lastAt), cpuUs };
}
