import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createIntake } from '../../src/intake.ts';
import { openStore } from '../../src/store/open.ts';
import { sample, shortSample, startReceiver } from './receiver.ts';

const json = JSON.stringify(sample);

/** A receiver before a real store, with one rule that matches. */
async function startWithStore() {
  const folder = await mkdtemp(join(tmpdir(), 'receiver-'));
  const file = join(folder, 'config.yaml');
  await writeFile(
    file,
    `
store: { url: "sqlite:${join(folder, 'connector.db')}" }
sinks: { ats: { connector: webhook, url: "https://ats.example.com/hooks" } }
rules: [{ name: all, when: { status: Completed }, then: [{ sink: ats }] }]
`,
  );
  const config = await loadConfig(file, { env: {}, connectors });
  const store = await openStore(config.store.url, { serve: true });
  await store.saveConfig({ id: config.plan.id, source: config.planSource, savedAt: 0 });
  const inbox = createIntake({ store, config: () => config, log: pino({ enabled: false }) });
  const receiver = await startReceiver({}, { inbox });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  return { store, ...receiver };
}

const ids = (correlationId: string) => ({ 'x-service-correlationid': correlationId });

const answerOf = async (response: Response) => ({
  status: response.status,
  ...((await response.json()) as { eventId: string; duplicate: boolean }),
});

test('an event answered 202 is in the store with its delivery', async () => {
  const { post, store } = await startWithStore();
  const { eventId } = await answerOf(
    await post(JSON.stringify({ ...sample, score: 92 }), { 'x-acme-correlationid': 'c-1' }),
  );
  expect(await store.event(eventId)).toMatchObject({
    event: { ...sample, id: eventId, correlationId: 'c-1', raw: { ...sample, score: 92 } },
    deliveries: [{ sink: 'ats', rule: 'all', state: 'pending' }],
  });
});

test("a retry and a duplicate, in other spellings, get the first one's id", async () => {
  const { post, store } = await startWithStore();
  const first = await answerOf(await post(json, ids('c-1')));
  const retry = await answerOf(await post(json, ids('c-1')));
  const spelled = {
    candidateId: '{0F8FAD5B-D9CB-469F-A165-70867728950E}',
    testId: '1234567',
    status: 'completed',
  };
  const again = await answerOf(await post(JSON.stringify(spelled), ids('c-2')));
  const other = await answerOf(
    await post(JSON.stringify({ ...shortSample, status: 'Canceled' }), ids('c-3')),
  );
  expect(first).toEqual({ status: 202, eventId: expect.any(String), duplicate: false });
  expect(retry).toEqual({ status: 200, eventId: first.eventId, duplicate: true });
  expect(again).toEqual(retry);
  expect(other).toMatchObject({ status: 202, duplicate: false });
  expect((await store.event(first.eventId))?.duplicates).toMatchObject([
    { correlationId: 'c-1' },
    { correlationId: 'c-2' },
  ]);
});

test('a request refused for its content is stored, but no event', async () => {
  const { post, store } = await startWithStore();
  await post('{"testId":1}', { 'x-service-correlationid': 'c-1' });
  await post('{');
  await expect.poll(() => store.rejectedRequests({})).toHaveLength(2);
  expect(await store.rejectedRequests({})).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ status: 422, correlationId: 'c-1', body: '{"testId":1}' }),
      expect.objectContaining({ status: 400, body: '{' }),
    ]),
  );
  expect(await store.events({})).toEqual([]);
});

test('deeply nested and oddly named further fields come back as they were', async () => {
  const { post, store } = await startWithStore();
  const extra = `"deep":${'['.repeat(99)}${']'.repeat(99)},"__proto__":{"a":1},"nul":"\\u0000\\ud800"`;
  const { eventId } = await answerOf(await post(`{${extra},${json.slice(1)}`));
  const raw = (await store.event(eventId))?.event.raw;
  expect(JSON.stringify(raw)).toBe(`{${extra},${json.slice(1)}`);
});

test('a store that is closed is 503', async () => {
  const { post, store, lines } = await startWithStore();
  await store.close();
  const response = await post(json);
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('5');
  expect(lines).toMatchObject([{ level: 'warn', outcome: 'failed', warning: expect.any(String) }]);
  expect(lines[0]).not.toHaveProperty('err');
});
