import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import binary from '@sparticuz/chromium';
import { type Browser, chromium } from 'playwright-core';
import { type App, startApp } from '../src/app.ts';
import { postEvent } from '../src/commands/config/send.ts';
import { type Event, type PlannedDelivery, type Status, statuses, unknownOfEvent } from '../src/model.ts';
import { openStore } from '../src/store/open.ts';
import type { Store } from '../src/store/store.ts';
import { eventIds } from '../src/support/ids.ts';
import { startTools } from './tools.ts';

/** Flags to leave out. With one process, the browser would end with its first page; the others remove what keeps sites apart. */
const notForTests =
  /^--(?:single-process|allow-running-insecure-content|disable-(?:web-security|site-isolation-trials|features=.*IsolateOrigins.*))$/;

/**
 * Launches the browser for tests and pictures. On Linux it comes from npm; elsewhere an installed Chrome or Edge is taken. `CHROMIUM`
 * names another one.
 */
export async function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  const named = process.env['CHROMIUM'];
  if (named !== undefined) return chromium.launch({ executablePath: named, args: [...more] });
  // No page draws in three dimensions; a graphics card that is computed costs more than all pages.
  binary.setGraphicsMode = false;
  const args = [...binary.args.filter((arg) => !notForTests.test(arg)), ...more];
  if (process.platform === 'linux')
    // SIGHUP is for the connector, which a test tells so to read its config; it would end the browser of later tests.
    return chromium.launch({ executablePath: await binary.executablePath(), args, handleSIGHUP: false });
  return chromium
    .launch({ channel: 'chrome', args: [...more] })
    .catch(() => chromium.launch({ channel: 'msedge', args: [...more] }))
    .catch((error: unknown) => {
      throw new Error('A browser is needed: Chrome or Edge, or CHROMIUM may name another Chromium.', {
        cause: error,
      });
    });
}

export interface ShowcaseOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The store is empty; else it is as after two weeks of work. */
  readonly isFirstDay?: boolean;
  /** Changes the config before it starts. */
  readonly configure?: (text: string) => string;
}

/** Starts a connector with the rules of config.example.yaml and the sandbox of the tools. */
export async function startShowcase(options: ShowcaseOptions = {}) {
  const { env: given, isFirstDay = false, configure = (text) => text } = options;
  const folder = await mkdtemp(join(tmpdir(), 'showcase-'));
  // One channel is missing, so that somebody is needed.
  const tools = await startTools({ slack: { channels: ['hiring', 'hiring-backend'] } });
  const storeUrl = `sqlite:${folder}/connector.db`;
  const env = { ...tools.env, ...surroundings, STORE_URL: storeUrl, ...given };
  const example = await readFile(join(import.meta.dirname, '../config.example.yaml'), 'utf8');
  const file = join(folder, 'config.example.yaml');
  // By the default pace, a second row would wait for its turn.
  await writeFile(file, configure(example.replace('connector: google-sheets', '$&\n    rate: 60/s')));
  // This run stores the config. While it ran, it would carry out the deliveries that are stored below.
  await (await startApp(file, env)).stop();
  const store = await openStore(storeUrl, { serve: false });
  if (!isFirstDay) await fillTwoWeeks(store);
  const app = await startApp(file, env);
  if (!isFirstDay) await postToday(app, store);
  return {
    app,
    tools,
    store,
    async close() {
      await store.close();
      await app.stop();
      await tools.close();
      await rm(folder, { recursive: true });
    },
  };
}

const surroundings = {
  HOST: '127.0.0.1',
  PORT: '0',
  ADMIN_PORT: '0',
  ALLOW_FROM: 'any',
  ATS_IS_PRIVATE: 'true',
  DIGEST_EVERY: '1s',
  LOG_LEVEL: 'fatal',
};

const dayMs = 86_400_000;

const planned = (sink: string, connector: string, dueAt: number): PlannedDelivery => ({
  rule: 'completed',
  action: 0,
  sink,
  connector,
  // A lane that the connector does not look into.
  lane: `${sink} before`,
  dueAt,
  group: null,
  groupMax: null,
});

/** Stores events of the days before, with deliveries as they would have ended. */
async function fillTwoWeeks(store: Store): Promise<void> {
  const config = await store.latestConfig();
  const nextId = eventIds({ after: undefined });
  const now = Date.now();
  const past: Event[] = [];
  for (let day = 13; day >= 0; day -= 1) {
    const isWeekend = [0, 6].includes(new Date(now - day * dayMs).getUTCDay());
    const events = (isWeekend ? 3 : 9) + ((day * 7) % 6);
    for (let n = 0; n < events; n += 1) {
      const at = now - day * dayMs - (n + 1) * 1_300_000;
      past.push(eventOf(nextId(at), n + day, at));
    }
  }
  const accepted = past.map((event) => {
    const { receivedAt: at } = event;
    const deliveries = [planned('slack', 'slack', at), planned('ats', 'webhook', at)];
    return store.accept({ event, configId: config!.id, deliveries, windowMs: 0 });
  });
  await Promise.all(accepted);
  for (const sink of ['slack', 'ats']) await deliverPast(store, sink, past);
}

function eventOf(id: string, n: number, receivedAt: number): Event {
  const candidateId = (n * 7_919 + receivedAt).toString(16).padEnd(32, '6f1c2d3e4b5a69788796a5b4');
  const status: Status = n % 4 === 0 ? statuses[1 + (n % 3 === 0 ? 1 : 0)]! : 'Completed';
  const sent = {
    candidateId,
    candidateNumericalId: 4000 + n,
    testId: n % 3 === 0 ? 2345678 : 1234567,
    status,
  };
  return { ...unknownOfEvent, ...sent, id, raw: sent, correlationId: `cor-${id.slice(-8)}`, receivedAt };
}

async function deliverPast(store: Store, sink: string, events: readonly Event[]): Promise<void> {
  const timeOf = new Map(events.map(({ id, receivedAt }) => [id, receivedAt]));
  const claimed = await store.claim({ lane: `${sink} before`, now: Date.now(), limit: events.length });
  const results = claimed.map(({ delivery, claimedAt, row }) => {
    const at = timeOf.get(delivery.eventId!)!;
    const delayMs = 180 + (Math.floor(at / 1000) % 37) * (sink === 'slack' ? 60 : 15);
    return {
      row,
      claimedAt,
      attempt: {
        number: delivery.attempts,
        startedAt: at + delayMs - 90,
        endedAt: at + delayMs,
        outcome: { outcome: 'delivered', receipt: { status: 200 } } as const,
      },
      state: 'delivered' as const,
      settledAt: at + delayMs,
      delayMs,
      dueAt: null,
      uncertain: false,
      progress: null,
      lastError: null,
      message: null,
      thread: null,
    };
  });
  // One transaction each, in order: all of a transaction count for the hour of the last, and a later hour replaces the one before.
  for (const result of results.toSorted((a, b) => a.settledAt - b.settledAt)) await store.record([result]);
}

const today: readonly {
  candidateId: string;
  candidateNumericalId?: number;
  testId: number;
  status: Status;
}[] = [
  { candidateId: '0a9b8c7d6e5f40312213243546576879', testId: 2345678, status: 'DidNotTake' },
  { candidateId: 'a1c3e5f70b2d4f6a8c0e1f3a5b7d9e0c', testId: 1234567, status: 'Canceled' },
  { candidateId: '77d0c4b2a19e4f35b6c8d7e9f0a1b2c3', testId: 2345678, status: 'Completed' },
  {
    candidateId: '6f1c2d3e4b5a69788796a5b4c3d2e1f0',
    candidateNumericalId: 4711,
    testId: 1234567,
    status: 'Completed',
  },
];

async function postToday({ receiverUrl }: App, store: Store): Promise<void> {
  for (const event of today) {
    const sent = { url: receiverUrl, body: JSON.stringify(event), timeoutMs: 10_000 };
    await postEvent({ ...sent, correlationId: `cor-${event.candidateId.slice(0, 6)}` });
    // Again, as a duplicate.
    if (event === today.at(-1)) await postEvent({ ...sent, correlationId: 'cor-again' });
  }
  while ((await store.deliveries({ states: ['pending', 'sending'] })).length > 0) await sleep(50);
}
