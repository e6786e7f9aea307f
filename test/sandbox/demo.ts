import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startApp, type App } from '../../src/app.ts';
import { postEvent } from '../../src/commands/post-event.ts';
import { openStore } from '../../src/store/open.ts';
import { showBurst } from './burst.ts';
import { printReceived } from './print-received.ts';
import { startTools, type Tools } from './tools.ts';

/** `npm run demo`: the rules of config.example.yaml at work, with a sandbox of the four tools and no credentials. */

const exampleFile = join(import.meta.dirname, '../../config.example.yaml');
const arriveWithinMs = 30_000;

interface Sample {
  readonly what: string;
  readonly body: object;
  readonly correlationId: string;
}

const completed = {
  candidateId: '6f1c2d3e4b5a69788796a5b4c3d2e1f0',
  candidateNumericalId: 4711,
  testId: 1234567,
  status: 'Completed',
};
const didNotTake = { candidateId: '0a9b8c7d6e5f40312213243546576879', testId: 2345678, status: 'DidNotTake' };
const first = randomUUID();
const second = randomUUID();

const samples: readonly Sample[] = [
  { what: 'a candidate completed a test', body: completed, correlationId: first },
  { what: 'a candidate did not take one', body: didNotTake, correlationId: second },
  {
    what: 'one was canceled, of a test that the catalog lacks',
    body: { ...didNotTake, testId: 99, status: 'Canceled' },
    correlationId: randomUUID(),
  },
  {
    what: 'a practice test, which nobody hears of',
    body: { ...completed, testId: 7654321 },
    correlationId: randomUUID(),
  },
  { what: 'the first one again, as a duplicate', body: completed, correlationId: randomUUID() },
  { what: 'the second one again, as a retry', body: didNotTake, correlationId: second },
  {
    what: 'something that is no final status',
    body: { ...completed, status: 'InProgress' },
    correlationId: randomUUID(),
  },
];

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      once: { type: 'boolean', default: false },
      burst: { type: 'string' },
      outage: { type: 'string' },
    },
  });
  const folder = await mkdtemp(join(tmpdir(), 'candidate-connector-demo-'));
  const tools = await startTools({
    slack: { channels: ['hiring', 'hiring-backend', 'hiring-design'], rate: { perSecond: 1, burst: 5 } },
    sheets: { perMinute: 60 },
  });
  const storeUrl = `sqlite:${folder}/connector.db`;
  const app = await startApp(exampleFile, {
    ...tools.env,
    ...surroundings(storeUrl, values.burst ? '20s' : '2s'),
  });
  try {
    await show(app, tools, storeUrl);
    if (values.burst) await showBurst(app, tools, storeUrl, Number(values.burst), Number(values.outage ?? 0));
    if (!values.once) await untilInterrupted(app);
  } finally {
    await app.stop();
    await tools.close();
    await rm(folder, { recursive: true });
  }
}

/** What else the example asks of the environment, besides where the tools are. */
function surroundings(storeUrl: string, digestEvery: string) {
  return {
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    ALLOW_FROM: 'any',
    STORE_URL: storeUrl,
    ATS_IS_PRIVATE: 'true',
    // Nobody wants to wait an hour to see a digest.
    DIGEST_EVERY: digestEvery,
    LOG_LEVEL: 'warn',
    LOG_FORMAT: 'pretty',
  };
}

async function show(app: App, tools: Tools, storeUrl: string): Promise<void> {
  console.log(`The connector listens at ${app.receiverUrl}, with the rules of config.example.yaml.\n`);
  for (const sample of samples) await post(app.receiverUrl, sample);
  const planned = await allDelivered(storeUrl);
  printReceived(tools);
  const received = Object.values(tools.received).flatMap((ids) => ids());
  if (received.length !== planned || new Set(received).size !== planned) {
    throw new Error(`the tools have ${received.length} deliveries, and should have ${planned}, each once`);
  }
  console.log(
    `\nEach of the ${planned} deliveries is there once. The duplicate, the retry and the refused one caused none.`,
  );
}

async function untilInterrupted({ receiverUrl, adminUrl }: App): Promise<void> {
  console.log(`\nMetrics:   ${adminUrl}/metrics`);
  console.log(`Post more: npx node src/main.ts send --url ${receiverUrl}`);
  console.log('Ctrl-C ends the demo.');
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
}

async function post(url: string, { what, body, correlationId }: Sample): Promise<void> {
  const posted = await postEvent({ url, body: JSON.stringify(body), correlationId, timeoutMs: 30_000 });
  console.log(`▸ ${what}\n  POST ${JSON.stringify(body)}`);
  console.log(
    posted.status === null ? `  no answer: ${posted.failure}` : `  ${posted.status} ${posted.body}`,
  );
}

/** Waits until every delivery is delivered; returns how many they are. A demo in which something got lost has to fail. */
async function allDelivered(storeUrl: string): Promise<number> {
  const store = await openStore(storeUrl, { serve: false });
  try {
    const until = Date.now() + arriveWithinMs;
    for (;;) {
      const counts = await store.counts();
      if (counts.every(({ planned, states }) => states.delivered === planned)) {
        return counts.reduce((sum, { planned }) => sum + planned, 0);
      }
      if (Date.now() > until) throw new Error('not everything was delivered in time');
      await sleep(50);
    }
  } finally {
    await store.close();
  }
}

await main();
