import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startSlack } from '../../sandbox/slack.ts';
import { openStore } from '../../src/store/open.ts';
import type { ReplicaState } from '../../src/store/store.ts';
import { arrival, configId, planned, t0 } from '../contract/store-fixtures.ts';
import { freshSchema } from '../fixtures/postgres.ts';
import { base, post, run, serving, telling, workplace } from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

const said = (id: string, since: number): ReplicaState => ({
  id,
  saidAt: Date.now(),
  stopped: false,
  config: { id: 'same', file: 'a.yaml', since, refused: null, waiting: [] },
  sinks: [{ name: 'ats', connector: 'webhook' }],
});

test('status says since when a sink that works is behind, and that this is its rate', async () => {
  const { app, http, folder, command } = await telling({ ats: ', rate: 1/min' });
  for (const candidateId of ['a', 'b']) await post(app, { candidateId });
  await eventually(() => expect(http.calls).toHaveLength(1));
  const late =
    /working, 1 waiting.*\n +the first of them has been due since 1970-.*: more comes than its rate/;
  const shown = async () => (await command('status')).out;
  await eventually(async () => expect(await shown()).toContain('working, 1 waiting'));
  expect(await shown()).not.toContain('has been due');
  using store = new DatabaseSync(`${folder}/connector.db`);
  store.exec("update deliveries set due_at = 1 where state = 'pending'");
  expect(await shown()).toMatch(late);
});

test('events, event and the page say that what was not tried yet waits for its digest, or its hours', async () => {
  const hours = "hours:\n  never: { days: [mon], from: '00:00', to: '00:01' }\n";
  const rule = (name: string, more: string) =>
    `  - { name: ${name}, when: {}, then: [{ sink: ats, ${more} }] }\n`;
  const { app, command } = await telling({
    rules: `${hours}rules:\n${rule('many', 'digest: { every: 1d }')}${rule('late', 'hours: never')}`,
  });
  const { eventId } = await post(app, { candidateId: 'a' });
  const lists = [command('events', '--state', 'pending'), command('event', eventId)];
  for (const { out } of await Promise.all(lists)) {
    expect(out).toMatch(/pending, due \S+ \S+ \S+, in a digest {2}dlv/);
    expect(out).toMatch(/pending, due \S+ \S+ \S+, when its hours begin {2}dlv/);
  }
  const page = await (await fetch(new URL(`/events/${eventId}`, app.adminUrl))).text();
  expect(page).toMatch(/It waits: due <time[^]*?<\/time>, in a digest\./);
});

test('a message that waits for another one of its key is not said to wait for its hours alone', async () => {
  const { folder, write } = await workplace();
  const slack = await startSlack();
  onTestFinished(() => slack.close());
  const file = await write(
    'config.yaml',
    `${base(folder)}
sinks: { slack: { connector: slack, token: xoxb-sandbox-token, apiUrl: '${slack.url}', retry: { minDelay: 5m } } }
rules: [ { name: told, when: {}, then: [ { sink: slack, channel: '#hiring', updateBy: x, text: hello } ] } ]
`,
  );
  const app = await serving(file);
  slack.faults.only = ['chat.postMessage'];
  slack.faults.once({ kind: 'drop', commit: true });
  await post(app, { candidateId: 'dana', status: 'DidNotTake' });
  await eventually(() => expect(slack.calls).not.toHaveLength(0));
  const { eventId } = await post(app, { candidateId: 'dana', status: 'Completed' });
  const shown = async () => (await run(['event', eventId, '--config', file])).out;
  await eventually(async () => expect(await shown()).toMatch(/pending, due .*, when /));
  expect(await shown()).toContain(
    ', when its hours begin, or it is known whether another message of its key has arrived  dlv',
  );
});

test("what is due is late by the store's clock, not by that of the machine where status runs", async () => {
  const url = await freshSchema();
  const store = await openStore(url, { serve: false });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  await store.accept(arrival({}, { deliveries: [planned({ sink: 'ats', dueAt: Date.now() })] }));
  await store.keepReplicaState(said('one', 1_000));
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
  const { out } = await run(['status', '--store', url]);
  expect(out).toContain('1 waiting');
  expect(out).not.toContain('has been due since');
  await store.close();
});

test('status names one config of replicas that were started one after the other', async () => {
  const url = await freshSchema();
  const store = await openStore(url, { serve: false });
  await store.keepReplicaState(said('one', 9_000));
  await store.keepReplicaState(said('two', 1_000));
  const { out } = await run(['status', '--store', url]);
  expect(out).toMatch(/a\.yaml, in force since 1970-01-01 00:00:09 UTC\n +2 replicas, all by this config\n/);
  await store.close();
});
