import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApp, type App } from '../src/app.ts';
import { postEvent } from '../src/commands/config/send.ts';
import { lookupOf } from '../src/model.ts';
import { openStore } from '../src/store/open.ts';
import { showBurst } from './burst.ts';
import { arrivals, printReceived } from './print-received.ts';
import { TestingService } from './testing-service.ts';
import { startTools, type Tools } from './tools.ts';

const exampleFile = join(import.meta.dirname, '../config.example.yaml');
const arriveWithinMs = 30_000;
const betweenLooksMs = 200;

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
    what: 'the test of one was canceled, which the catalog lacks',
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

interface Options {
  readonly once: boolean;
  readonly burst: number;
  readonly outage: number;
}

/** Shows the rules at work. Resolves when everything has arrived, or after Ctrl-C. */
export async function demo({ once: ends, burst, outage }: Options): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'candidate-connector-demo-'));
  const tools = await startTools({
    slack: { channels: ['hiring', 'hiring-backend', 'hiring-design'], rate: { perSecond: 1, burst: 5 } },
    sheets: { perMinute: 60 },
  });
  const service = await new TestingService(burst > 0 ? { callsPerMinute: 60_000 } : {}).start();
  const exampleWithNames = join(folder, 'config.yaml');
  await writeFile(
    exampleWithNames,
    (await readFile(exampleFile, 'utf8')) + lookupsOf(service, burst > 0 ? '100/s' : '30/min'),
  );
  const storeUrl = `sqlite:${folder}/connector.db`;
  const digestEvery = burst > 0 ? '20s' : '2s';
  const password = randomBytes(12).toString('base64url');
  const env = { ...tools.env, ...surroundings(storeUrl, digestEvery), ADMIN_PASSWORD: password };
  const app = await startApp(exampleWithNames, env);
  try {
    console.log(`The connector listens at ${app.receiverUrl}, with the rules of config.example.yaml.`);
    console.log('It asks the testing service for names and scores, which is slow about one of them.');
    console.log(`Digests go every ${digestEvery} here, and not every hour.`);
    // At once, so that one can follow an outage on it.
    console.log(`The operations page, with the password ${password}\n  ${app.adminUrl}/\n`);
    service.unscoredFor.set(completed.candidateId, 1);
    await show(app, tools, storeUrl);
    if (burst > 0) await showBurst(app, tools, storeUrl, burst, outage);
    if (!ends) await untilInterrupted(app, tools, storeUrl, password);
  } finally {
    await app.stop();
    await Promise.all([tools.close(), service.close()]);
    await rm(folder, { recursive: true });
  }
}

/** The look-ups that the example would have with such an API. */
function lookupsOf({ url, username, password }: TestingService, rate: string): string {
  const candidate = {
    url: `${url}/candidates/{{ event.candidateId }}`,
    allowPrivate: true,
    auth: { oauth2: { tokenUrl: `${url}/token`, grant: 'password', username, password } },
    when: { status: 'Completed' },
    fields: {
      name: { at: '/name', personal: true },
      score: { at: '/result/score', type: 'number' },
      report: { at: '/reportUrl', type: 'url' },
    },
    until: ['score'],
    rate,
    retry: { minDelay: '200ms' },
  };
  return `\nlookups: ${JSON.stringify({ candidate })}\n`;
}

/** The environment of the example, besides the addresses of the tools. */
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
    // The demo says in its own words what fails on purpose.
    LOG_LEVEL: 'error',
    LOG_FORMAT: 'pretty',
  };
}

async function show(app: App, tools: Tools, storeUrl: string): Promise<void> {
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

async function untilInterrupted(
  { receiverUrl, adminUrl }: App,
  tools: Tools,
  storeUrl: string,
  password: string,
): Promise<void> {
  console.log(`
Post more, from another terminal in this folder:
  npx node src/main.ts send --url ${receiverUrl}
See what became of it:
  npx node src/main.ts events --store ${storeUrl}
The operations page, with the password ${password}
  ${adminUrl}/
Metrics, with the same password:
  ${adminUrl}/metrics

What arrives at a tool is shown here. Ctrl-C ends the demo.`);
  const looks = setInterval(arrivals(tools), betweenLooksMs);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  clearInterval(looks);
}

async function post(url: string, { what, body, correlationId }: Sample): Promise<void> {
  const posted = await postEvent({ url, body: JSON.stringify(body), correlationId, timeoutMs: 30_000 });
  console.log(`▸ ${what}\n  POST ${JSON.stringify(body)}`);
  console.log(
    posted.status === null ? `  no answer: ${posted.failure}` : `  ${posted.status} ${posted.body}`,
  );
}

/** Waits until every delivery is delivered. Resolves to their number; rejects where one is lost. */
async function allDelivered(storeUrl: string): Promise<number> {
  const store = await openStore(storeUrl, { serve: false });
  try {
    const until = Date.now() + arriveWithinMs;
    for (;;) {
      const { undecided } = await store.eventCounts();
      const counts = (await store.counts()).filter(({ sink }) => lookupOf(sink) === null);
      if (undecided === 0 && counts.every(({ planned, states }) => states.delivered === planned)) {
        return counts.reduce((sum, { planned }) => sum + planned, 0);
      }
      if (Date.now() > until) throw new Error('not everything was delivered in time');
      await sleep(50);
    }
  } finally {
    await store.close();
  }
}
