import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApp, type App } from '../src/app.ts';
import { run } from '../src/commands/program.ts';
import { postEvent } from '../src/commands/config/send.ts';
import { HttpSandbox } from '../sandbox/http.ts';
import { webhookConfig, webhookEnv } from './config-file.ts';
import { dataFolder } from './data-folder.ts';
import { fillSqlite } from './history.ts';
import { type BenchResult, median, percentile } from './result.ts';

const rounds = 5;
const pageWithinMs = 200;
const candidateWithinMs = 100;
const statusWithinMs = 300;
const posted = 400;
/** Noise of a machine that has both to do. */
const mostSlower = 1.5;

const pages = {
  today: '/',
  events: '/events',
  'events of a candidate': '/events?candidate=00000000000000000000000010500000',
  'a number that nobody has': '/find?q=7654321',
  'the beginning of an id that nobody has': '/find?q=abcdef',
  'events of a test': '/events?test=1234567',
  'a test without events': '/events?test=7654321',
  'a search that finds nothing': '/events?rule=none&status=Completed',
  'dead deliveries': '/events?state=dead',
  attention: '/attention',
  rules: '/rules',
  'the API': '/api/events?limit=100',
};

/** How fast people see pages of a SQLite store with many past events, and what their looking costs those who send. */
export async function benchPages({ events }: { readonly events: number }): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(await dataFolder(), 'bench-pages-'));
  const http = await new HttpSandbox().start();
  try {
    const file = await webhookConfig(folder, http.url);
    await appendFile(file, 'log: { level: fatal }\n');
    await begin(file);
    fillSqlite(join(folder, 'connector.db'), events);
    const app = await startApp(file, webhookEnv);
    const results = [
      ...(await pagesOf(app, events)),
      ...(await commands(file, events)),
      await whileBrowsing(app),
    ];
    await app.stop();
    return results;
  } finally {
    await http.close();
    await rm(folder, { recursive: true });
  }
}

/** The event that all others are made of. */
async function begin(file: string): Promise<void> {
  const app = await startApp(file, webhookEnv);
  await post(app, 'first');
  const metrics = async () => (await fetch(`${app.adminUrl}/metrics`)).text();
  while (!(await metrics()).includes('state="delivered"} 1')) await sleep(50);
  await app.stop();
}

const post = ({ receiverUrl }: App, candidateId: string) =>
  postEvent({
    url: receiverUrl,
    body: JSON.stringify({ candidateId, testId: 1_234_567, status: 'Completed' }),
    correlationId: candidateId,
    timeoutMs: 30_000,
  });

async function took(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const get = async ({ adminUrl }: App, path: string): Promise<void> => {
  const answer = await fetch(adminUrl + path, { headers: { accept: 'text/html' } });
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}`);
};

async function pagesOf(app: App, events: number): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  // The thread has started.
  await get(app, '/');
  for (const [name, path] of Object.entries(pages)) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) times.push(await took(() => get(app, path)));
    results.push(judged(`page ${name} with ${events} past events`, median(times), pageWithinMs));
  }
  return results;
}

async function commands(file: string, events: number): Promise<BenchResult[]> {
  const timed = async (argv: string[], withinMs: number) => {
    const io = { out: () => {}, drained: async () => true, err: () => {}, env: webhookEnv, color: false };
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1)
      times.push(await took(() => run([...argv, '--config', file], io)));
    return judged(`${argv.slice(0, 2).join(' ')} with ${events} past events`, median(times), withinMs);
  };
  return [
    await timed(['events', '--candidate', '00000000000000000000000010500000'], candidateWithinMs),
    await timed(['status'], statusWithinMs),
  ];
}

function judged(name: string, ms: number, withinMs: number): BenchResult {
  const ratio = ms / withinMs;
  return {
    name,
    ratio,
    detail: `${ms.toFixed(0)} ms`,
    target: `at most 1 (${withinMs} ms)`,
    met: ratio <= 1,
  };
}

/** Events one after the other, while nobody looks and while somebody always does, in turn. */
async function whileBrowsing(app: App): Promise<BenchResult> {
  const measured: { alone: number; beside: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const alone = await p99(app, `alone-${round}`);
    const ended = new AbortController();
    const browsing = (async () => {
      while (!ended.signal.aborted) for (const path of Object.values(pages)) await get(app, path);
    })();
    const beside = await p99(app, `beside-${round}`);
    ended.abort();
    await browsing;
    measured.push({ alone, beside });
  }
  const ratio = median(measured.map(({ alone, beside }) => beside / alone));
  const ms = (of: 'alone' | 'beside') => median(measured.map((round) => round[of])).toFixed(1);
  return {
    name: 'p99 of accepting while somebody browses, against nobody',
    ratio,
    detail: `${ms('beside')} ms against ${ms('alone')} ms`,
    target: `at most ${mostSlower}`,
    met: ratio <= mostSlower,
  };
}

async function p99(app: App, name: string): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < posted; n += 1) times.push(await took(() => post(app, `${name}-${n}`)));
  return percentile(times, 0.99);
}
