import { spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadResult } from './burst/load.ts';
import { cpuMs, end, messageOf, start } from './child.ts';
import type { forms } from './connection.ts';
import { dataFolder } from './data-folder.ts';
import { atLeast, atMost, median, spreadOf, type BenchResult } from './result.ts';
import { served } from './served.ts';

const scripts = join(import.meta.dirname, 'burst');

/** Before a burst that counts as warm: until then V8 still compiles, and takes a third more time for each event. */
const warmUp = 30_000;
const eventsPerBurst = 10_000;
const coldEvents = 5000;

/** What the connector is measured against. */
const yardsticks = {
  naive: { script: 'naive-server.ts', form: 'event' },
  alertmanager: { script: 'alertmanager-server.ts', form: 'alert' },
} as const;

/** Against Alertmanager, by the number of the senders' connections. */
const targets = [
  { connections: 16, cpu: 1, delivered: 0.95, cold: 0.85 },
  { connections: 64, cpu: 0.85, delivered: 1.15, cold: 0.85 },
];

/**
 * A burst of events with one webhook each, from the first that is answered to the last that is delivered: the connector, with every
 * event, intent and outcome durable, against the handler that people write themselves.
 */
export async function benchBurst(rounds = 5): Promise<BenchResult[]> {
  const pairs = await inTurns('naive', [], { connections: 64, bursts: [warmUp, eventsPerBurst], rounds });
  return [judge('a burst, accepted and delivered', pairs, 1, 'delivered', (ratio) => atLeast(ratio, 1))];
}

/** The same against Alertmanager, which keeps nothing on disk, where its program is there: from cold processes, and warm. */
export async function benchAlertmanager(rounds = 5): Promise<BenchResult[]> {
  const program = findAlertmanager();
  if (program === undefined) {
    console.log('alertmanager: left out, as none is on the PATH and ALERTMANAGER names none.');
    return [];
  }
  const bursts = [coldEvents, warmUp - coldEvents, eventsPerBurst];
  const results: BenchResult[] = [];
  for (const { connections, cpu, delivered, cold } of targets) {
    const pairs = await inTurns('alertmanager', [program], { connections, bursts, rounds });
    const named = (what: string) => `${what}, ${connections} connections, against Alertmanager`;
    results.push(
      judge(named('CPU an event'), pairs, 2, 'cpuUs', (ratio) => atMost(ratio, cpu)),
      judge(named('deliveries a second'), pairs, 2, 'delivered', (ratio) => atLeast(ratio, delivered)),
      judge(named(`${coldEvents} from a cold process`), pairs, 0, 'delivered', (ratio) =>
        atLeast(ratio, cold),
      ),
    );
  }
  return results;
}

/** What `ALERTMANAGER` names, or what is on the PATH, by Debian's name or its own. */
function findAlertmanager(): string | undefined {
  const names = ['prometheus-alertmanager', 'alertmanager'];
  return (
    process.env['ALERTMANAGER'] ?? names.find((name) => spawnSync(name, ['--version']).error === undefined)
  );
}

/** The bursts of one round, one after the other in the same processes. */
interface Pair {
  readonly yardstick: readonly Burst[];
  readonly connector: readonly Burst[];
}

interface Rounds {
  readonly connections: number;
  readonly bursts: readonly number[];
  readonly rounds: number;
}

async function inTurns(
  yardstick: keyof typeof yardsticks,
  args: readonly string[],
  { rounds, ...options }: Rounds,
): Promise<Pair[]> {
  const folder = await mkdtemp(join(await dataFolder(), 'bench-burst-'));
  const { script, form } = yardsticks[yardstick];
  try {
    const pairs: Pair[] = [];
    for (let round = 0; round < rounds; round += 1) {
      pairs.push({
        yardstick: await burst(script, [folder, ...args], { ...options, folder, form }),
        connector: await burst('connector-server.ts', [folder], { ...options, folder }),
      });
    }
    return pairs;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function judge(
  name: string,
  pairs: readonly Pair[],
  which: number,
  figure: keyof Burst,
  judged: (ratio: number) => Pick<BenchResult, 'ratio' | 'target' | 'met'>,
): BenchResult {
  const ratios = pairs.map(
    ({ yardstick, connector }) => connector[which]![figure] / yardstick[which]![figure],
  );
  const typical = (who: keyof Pair) => {
    const of = (what: keyof Burst) => Math.round(median(pairs.map((pair) => pair[who][which]![what])));
    return `${of('delivered')} events/s for ${of('cpuUs')} µs of CPU time each`;
  };
  const detail = `${typical('connector')}, against ${typical('yardstick')}; ratios ${spreadOf(ratios)}`;
  return { name, ...judged(median(ratios)), detail };
}

interface BurstOptions {
  readonly folder: string;
  /** How many events each has. All go to the same process. */
  readonly bursts: readonly number[];
  readonly connections?: number;
  readonly form?: keyof typeof forms;
}

export interface Burst {
  /** Events a second, from the first that was answered on. */
  readonly accepted: number;
  readonly delivered: number;
  /** The server's CPU time for each event: that of all its threads, as the system counts it. */
  readonly cpuUs: number;
}

export async function burst(
  server: string,
  args: readonly string[],
  { folder, bursts, connections = 64, form = 'event' }: BurstOptions,
): Promise<Burst[]> {
  const running = {
    folder,
    endpoint: [join(scripts, 'endpoint.ts'), ...bursts.map(String)] as const,
    server: [join(scripts, server), ...args] as const,
  };
  return served(running, async ({ server: child, endpoint, port }) => {
    const measured: Burst[] = [];
    for (const events of bursts)
      measured.push(await one(child, endpoint, events, [port, connections, form].map(String)));
    return measured;
  });
}

async function one(
  server: ChildProcess,
  endpoint: ChildProcess,
  events: number,
  args: readonly string[],
): Promise<Burst> {
  const beforeMs = cpuMs(server.pid!);
  const done = messageOf<{ lastAt: number }>(endpoint);
  done.catch(() => {});
  const load = start(join(scripts, 'load.ts'), [String(events), ...args], { core: 1 });
  const { firstAt, answeredAt, refused } = await messageOf<LoadResult>(load);
  if (refused > 0) throw new Error(`${refused} events were refused`);
  const { lastAt } = await done;
  const cpuUs = ((cpuMs(server.pid!) - beforeMs) / events) * 1000;
  await end(load);
  const perSecond = (until: number) => (events / (until - firstAt)) * 1000;
  return { accepted: perSecond(answeredAt), delivered: perSecond(lastAt), cpuUs };
}
