import { execFileSync } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { parseConfig } from '../../src/config/load.ts';
import { accepting, acceptRefused } from '../../src/intake.ts';
import { refusals } from '../../src/ops/refusals.ts';
import { RefusedFigures } from '../../src/ops/refused.ts';
import { openStore } from '../../src/store/open.ts';
import { basic, password } from '../pages/tools.ts';
import { base, endpoint, loud, nothing, post, run, serve, workplace } from '../commands/tools.ts';
import { eventually } from '../fixtures/eventually.ts';

test('what was not stored is looked for by a command that can be called so', () => {
  const [told] = refusals([{ reason: 'store', from: '203.0.113.7', count: 1, first: 0, last: 0 }]);
  expect(told?.fix).toContain(
    ' reconcile export.csv --candidate COLUMN --test COLUMN --status COLUMN --at COLUMN',
  );
});

test.each(['127.0.0.1', '10.0.3.7', '192.168.1.1', '100.64.0.9', '::1', 'fd00:1::/64', 'fe80::/64'])(
  'an address such as %s leads to trustProxy first, also beside those of others',
  (from) => {
    const refused = { count: 1, first: 0, last: 0 };
    const there = { ...refused, reason: 'address', from } as const;
    const elsewhere = { ...refused, reason: 'address', from: '203.0.113.9' } as const;
    const first = `A proxy of yours seems to be at ${from}, and anybody may be behind it: first set receiver.trustProxy, to 1 for one proxy, to 2 for two; each has to add to X-Forwarded-For.`;
    const [alone, both, others] = [[there], [elsewhere, there], [elsewhere]].flatMap((some) =>
      refusals(some),
    );
    expect(alone!.fix).toBe(first);
    expect(both!.fix).toContain(`${first} If that is the service, add its address to receiver.allowFrom`);
    for (const { advice } of [alone!, both!]) expect(advice).not.toContain('accept --from');
    expect(others!.advice).toContain('accept --from 203.0.113.9');
    // A wrong token may come from anybody behind it, too.
    expect(refusals([{ ...there, reason: 'token' }])[0]!.advice).toMatch(/trustProxy.*receiver\.token/);
    expect(refusals([{ ...there, reason: 'store' }])[0]!.advice).not.toContain('proxy');
  },
);

/** As on a full disk; Linux also lets it be undone. */
const limitFiles = (pid: number | undefined, bytes: string) =>
  execFileSync('prlimit', ['--pid', `${pid}`, `--fsize=${bytes}:`]);

/** A config by which what cannot be stored is refused at once. */
const atOnce = (config: string) => config.replace('receiver: {', 'receiver: { retryFor: 0s,');

test('an event that comes while the disk takes nothing is stored when it does again, as long as the service waits', async () => {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', loud(folder) + nothing);
  const { app, connector } = await serve(file);
  limitFiles(connector.pid, '0');
  const answers = ['Dana', 'Robin'].map((candidateId) => post(app, { candidateId }));
  // It tries a write, after those of the events.
  const readyz = async () => (await fetch(new URL('/readyz', app.receiverUrl))).json();
  const down = { parts: [{ part: 'store', ok: false }, {}] };
  await eventually(async () => expect(await readyz()).toMatchObject(down));
  limitFiles(connector.pid, 'unlimited');
  expect((await Promise.all(answers)).map((answer) => answer.status)).toEqual([202, 202]);
  expect((await run(['status', '--config', file])).code).toBe(0);
  expect(await connector.stop()).toBe(0);
});

test('a disk that takes nothing is told of while it lasts, and how many events that cost until it is seen to', async () => {
  const ops = await endpoint();
  const { folder, write } = await workplace();
  const file = await write(
    'config.yaml',
    `${atOnce(loud(folder)).replace('{ port: 0 }', `{ port: 0, password: ${password} }`)}
sinks: { ops: { connector: webhook, url: '${ops.url}', allowPrivate: true } }
rules: []
alerts: { refused: { then: [ { sink: ops } ] } }
`,
  );
  const { app, connector, lines } = await serve(file);
  const admin = lines().find(({ msg }) => msg === 'ready')!['admin'] as string;
  const headers = basic();
  const page = async (path: string) => (await fetch(`${admin}${path}`, { headers })).text();
  const json = async (path: string) => JSON.parse(await page(path));
  const seen = (until: string) => {
    const body = new URLSearchParams({ reason: 'store', until });
    return fetch(`${admin}/attention/seen`, { method: 'POST', headers, body });
  };
  const status = async () => (await run(['status', '--config', file])).code;
  const limit = (bytes: string) => limitFiles(connector.pid, bytes);
  expect((await post(app, { candidateId: 'Dana' })).status).toBe(202);
  expect(await status()).toBe(0);
  expect(await page('/')).not.toContain('A person is needed');

  limit('65536');
  const answers: number[] = [];
  while (answers.filter((one) => one === 503).length < 3)
    answers.push((await post(app, { candidateId: `Robin ${answers.length}` })).status);
  // Nothing is lost where they cannot be written.
  expect((await seen('0')).status).toBe(503);
  const [total] = (await json('/api/refused')).totals;
  expect(total).toMatchObject({ reason: 'store', from: '127.0.0.1', count: 3 });
  expect(await json('/api/status')).toMatchObject({ needsPerson: true, storeProblem: expect.any(String) });
  expect(await page('/')).toMatch(/The store cannot be written.*3 events from 127\.0\.0\.1 were refused/s);
  expect(await page('/metrics')).toContain('candidate_connector_ready{part="store"} 0');
  expect(await page('/metrics')).toContain('candidate_connector_ready{part="config"} 1');
  expect(await page('/metrics')).toContain('candidate_connector_refused_events{reason="store"} 3');

  limit('unlimited');
  await eventually(async () => expect(await status()).toBe(4));
  await eventually(() => expect(ops.calls).toHaveLength(1));
  expect(JSON.parse(ops.calls[0]!.body)).toMatchObject({
    type: 'connector.alert',
    data: { alert: 'refused', from: '127.0.0.1', count: 3, since: total.first },
  });
  expect(await page('/metrics')).toContain('candidate_connector_ready{part="store"} 1');
  const [, until = ''] = /name="until" value="(\d+)"/.exec(await page('/attention')) ?? [];
  // What came after the page was shown stays.
  await seen(`${Date.parse(total.first) - 1}`);
  expect(await status()).toBe(4);
  await seen(until);
  expect(await status()).toBe(0);
});

test('where it is stopped before the disk takes anything again, its log says what that cost', async () => {
  const { folder, write } = await workplace();
  const { app, connector, lines } = await serve(await write('config.yaml', atOnce(loud(folder)) + nothing));
  limitFiles(connector.pid, '0');
  for (const candidateId of ['Dana', 'Robin']) expect((await post(app, { candidateId })).status).toBe(503);
  expect(await connector.stop()).toBe(0);
  expect(lines()).toContainEqual(
    expect.objectContaining({ level: 'error', reason: 'store', from: '127.0.0.1', count: 2 }),
  );
});

test('a flood from 5,000 addresses, while nothing can be written, leaves memory and store bounded, and is counted', async () => {
  const { folder } = await workplace();
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: true });
  onTestFinished(() => store.close());
  const figures = new RefusedFigures(store, { after: () => () => {} });
  const raw = JSON.stringify({ more: 'x'.repeat(2_000) });
  const event = { testId: 7, status: 'Completed', candidateNumericalId: null, correlationId: null } as const;
  const refuse = (n: number, from: string, candidateId = `candidate-${n}`) => {
    const one = { reason: 'address', from } as const;
    const id = `rej_${String(n).padStart(26, '0')}`;
    figures.add(
      { ...one, count: 1, first: n, last: n },
      { ...event, ...one, candidateId, id, at: n, attempts: 1, raw },
    );
  };
  const flood = 100_000;
  for (let n = 0; n < flood; n += 1) refuse(n, `address-${n % 5_000}`);
  for (const n of [flood, flood + 1]) refuse(n, 'the service', 'dana');
  const before = store.commits;
  await figures.write();
  expect(store.commits - before).toBeLessThan(15);
  const kept = await store.refusedEvents({});
  expect(kept).toHaveLength(1_000);
  expect(kept[0]).toMatchObject({ from: 'the service', attempts: 2 });
  const totals = await store.refused();
  expect(totals).toHaveLength(51);
  expect(totals.reduce((sum, { count }) => sum + count, 0)).toBe(flood + 2);
  await figures.write();
  expect(await store.refusedEvents({})).toEqual(kept);
});

test('what is refused again long after the same had come is another event, and no repeat of that one', async () => {
  const { folder } = await workplace();
  const config = parseConfig(`${base(folder)}sinks: {}\nrules: []\n`, 'config.yaml', { env: {}, connectors });
  const store = await openStore(config.store.url, { serve: true });
  onTestFinished(() => store.close());
  await store.saveConfig({ id: config.plan.id, source: {}, savedAt: 0 });
  const day = 86_400_000;
  const long = (await store.now()) - 30 * day;
  const event = { candidateId: 'dana', candidateNumericalId: null, testId: 7, status: 'Completed' } as const;
  const refused = (at: number) =>
    ({ ...event, at, from: 'a', reason: 'address', correlationId: null }) as const;
  const accept = accepting({ store, config: () => config });
  // The service's second try came from an address that is allowed. Weeks later the candidate takes the test again.
  await accept({ event, raw: {}, correlationId: null, traceparent: null, receivedAt: long + 60_000 });
  for (const at of [long, long + 20 * day])
    await store.keepRefusedEvents([{ ...refused(at), id: `rej_${at}`, attempts: 1, raw: '{}' }]);
  const [one] = await store.refusedEvents({});
  const by = { who: 'dana', from: 'a test', note: null };
  const taken = await acceptRefused(one!.id, by, { store, config: () => config, accept });
  expect(taken).toMatchObject({ duplicate: false });
});
