import { DatabaseSync } from 'node:sqlite';
import { eventWith } from '../fixtures/event.ts';
import { expect, test } from 'vitest';
import { decide, planNotice } from '../../src/rules/decide.ts';
import { connectors } from '../../connectors/index.ts';
import { loadConfig } from '../../src/config/load.ts';
import { openStore } from '../../src/store/open.ts';
import { base, jsonLines, run, workplace } from './tools.ts';
import { noFacts } from '../../src/model.ts';

/** The store of a config, which is saved in it. */
async function storeOf(file: string) {
  const config = await loadConfig(file, { env: {}, connectors });
  const { plan, planSource: source } = config;
  const store = await openStore(config.store.url, { serve: true });
  await store.saveConfig({ id: plan.id, source, savedAt: Date.UTC(2026, 0, 1, 12) });
  return { store, plan };
}

test("event of a digest's member names the delivery that the digest went out as", async () => {
  const { folder, write } = await workplace();
  const file = await write(
    'config.yaml',
    `${base(folder)}
sinks: { ats: { connector: webhook, url: 'https://ats.example.com' } }
rules: [ { name: told, when: {}, then: [ { sink: ats, digest: { every: 24h } } ] } ]
`,
  );
  const receivedAt = Date.UTC(2026, 0, 1, 12);
  const [first, second] = ['evt_01jd3v5m8k2q4r6t8w0y1z3a5c', 'evt_01jd3v5m8k2q4r6t8w0y1z3a5d'] as const;
  const { store, plan } = await storeOf(file);
  for (const id of [first, second]) {
    const event = eventWith({ id, candidateId: id, testId: 1, receivedAt });
    const deliveries = decide(plan, event, noFacts, receivedAt);
    await store.accept({ event, configId: plan.id, deliveries, windowMs: 0 });
  }
  const nextDay = Date.UTC(2026, 0, 3);
  for (const { lane } of await store.lanes()) await store.claim({ lane, now: nextDay, limit: 1 });
  await store.close();

  const carrier = `dlv_${first.slice(4)}_1`;
  const { out } = await run(['event', second, '--config', file]);
  expect(out).toContain(`in the digest that went out as ${carrier}`);
  expect((await run(['event', first, '--config', file])).out).not.toContain('in the digest');
  const [story] = jsonLines(await run(['event', second, '--json', '--config', file]));
  expect(story).toMatchObject({ deliveries: [{ carrier }] });
});

test('a notice is listed and shown, with what became of it', async () => {
  const { folder, write } = await workplace();
  const file = await write(
    'config.yaml',
    `${base(folder)}
sinks: { ats: { connector: webhook, url: 'https://ats.example.com' } }
rules: []
alerts: { silence: { after: 1d, then: [ { sink: ats } ] } }
`,
  );
  const { store, plan } = await storeOf(file);
  const notice = {
    id: 'ntc_01jd3v5m8k2q4r6t8w0y1z3a5c',
    raisedAt: Date.UTC(2026, 0, 2),
    since: Date.UTC(2026, 0, 1),
    alert: 'silence',
    cause: 'silence',
    sink: null,
    count: 0,
    detail: 'No event has come for 24 hours.',
    advice: 'Look there.',
    recovered: false,
  } as const;
  const deliveries = plan.alerts.flatMap(({ actions }) =>
    actions.map((action) => planNotice(action, notice, notice.raisedAt)),
  );
  await store.raise({ notice, configId: plan.id, deliveries, quietMs: 0 });
  await store.close();

  const { code, out } = await run(['event', notice.id, '--config', file]);
  expect(code).toBe(0);
  expect(out).toContain('No event has come for 24 hours.');
  expect(out).toMatch(/ats {2}pending.* dlv_01jd3v5m8k2q4r6t8w0y1z3a5c_1/);
  const [json] = jsonLines(await run(['event', notice.id, '--json', '--config', file]));
  expect(json).toMatchObject({
    id: notice.id,
    cause: 'silence',
    raisedAt: '2026-01-02T00:00:00.000Z',
    deliveries: [{ sink: 'ats', state: 'pending', history: [] }],
  });

  const list = (...argv: string[]) => run(['events', '--notices', ...argv, '--config', file]);
  const text = (await list()).out;
  expect(text).toMatch(/^2026-01-02 00:00:00 UTC {2}silence\n {4}No event has come for 24 hours\.\n {4}ntc_/);
  expect(text).toMatch(/ats {2}pending.* dlv_01jd3v5m8k2q4r6t8w0y1z3a5c_1/);
  const line = { id: notice.id, advice: 'Look there.', deliveries: [{ sink: 'ats', lastError: null }] };
  expect(jsonLines(await list('--json'))).toMatchObject([line]);
  expect((await run(['status', '--config', file])).out).toContain(
    'Last notices\n  2026-01-02 00:00:00 UTC  No event has come for 24 hours. This has reached nobody yet.\n',
  );
  using db = new DatabaseSync(`${folder}/connector.db`);
  db.exec(`update notices set recovered = 1, cause = 'silence over: ${notice.id}'`);
  expect((await list()).out).toMatch(/ UTC {2}over: silence\n/);
  expect((await list('--since', '1h')).out).toBe('No notices.\n');
});
