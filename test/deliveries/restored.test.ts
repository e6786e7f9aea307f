import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { decide } from '../../src/rules/decide.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { eventWith } from '../fixtures/event.ts';
import { bench, configFor, ScriptedTool } from './scripted.ts';
import { noFacts } from '../../src/model.ts';
import { eventually } from '../fixtures/eventually.ts';

const hour = 3_600_000;

async function accept(store: Store, config: Config, candidateId: string, receivedAt: number) {
  const event = eventWith({ id: `evt_${candidateId.padStart(26, '0')}`, candidateId, testId: 1, receivedAt });
  const deliveries = decide(config.plan, event, noFacts, receivedAt);
  await store.accept({ event, configId: config.plan.id, deliveries, windowMs: 0 });
}

/** A store with an event of each of these candidates, as it is after a restore: perhaps all were told by then. */
async function restored(
  config: Config,
  candidates: readonly string[],
  receivedAt: number,
  seenAt = receivedAt,
): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'restored-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'connector.db');
  const store = await openStore(`sqlite:${path}`, { serve: true });
  await store.settleIn(receivedAt);
  await store.saveConfig({ id: config.plan.id, source: config.planSource, savedAt: receivedAt });
  for (const one of candidates) await accept(store, config, one, receivedAt);
  // That of its retention is ten minutes old by then.
  await store.keepSignOfLife({ seenAt: receivedAt, doubt: null });
  const { id } = config.plan;
  await store.keepReplicaState({
    id: 'a',
    saidAt: seenAt,
    stopped: false,
    absences: [],
    config: { id, file: 'config.yaml', since: receivedAt, refused: null, waiting: [] },
    sinks: [],
  });
  await store.close();
  copyFileSync(path, `${path}.copy`);
  renameSync(`${path}.copy`, path);
  const copy = await openStore(`sqlite:${path}`, { serve: true });
  expect(await copy.settleIn(Date.now())).toBe(candidates.length);
  return copy;
}

const allDelivered = async (store: Store) => {
  const stories = await store.events({});
  expect(new Set(stories.flatMap(({ deliveries }) => deliveries.map(({ state }) => state)))).toEqual(
    new Set(['delivered']),
  );
};

test('a restored store asks from when it was due on, also after an attempt at which it could not ask', async () => {
  const tool = new ScriptedTool();
  const failure = { outcome: 'retry', reason: 'rate_limited', detail: '429' } as const;
  tool.find = () => (tool.asked.length === 1 ? { found: 'failed', failure } : { found: null });
  const config = configFor(tool);
  const receivedAt = Date.now() - 2 * hour;
  const store = await restored(config, ['dana'], receivedAt);
  // Outside of its hours, it is claimed in vain.
  const [head] = await store.lanes();
  const [claimed] = await store.claim({ lane: head!.lane, now: Date.now(), limit: 1 });
  const { delivery, claimedAt } = claimed!;
  const put = { deliveryId: delivery.id, attempt: 1, claimedAt, until: claimedAt };
  await store.defer([put], receivedAt);
  await bench(config, { store, pollMs: 20 });
  await eventually(() => allDelivered(store));
  expect(tool.asked.map(({ firstAttemptAt }) => firstAttemptAt)).toEqual([receivedAt, receivedAt]);
});

test.for([
  ['when that was due', -3, 0],
  ['when it was last in use', 5, 5],
] as const)('a restored store asks for what it would have sent %s', async ([, lastInUse, composed]) => {
  const tool = new ScriptedTool();
  tool.find = () => ({ found: null });
  const config = configFor(tool, '', `text: '{{ now | date: "%F %H" }}'`);
  const receivedAt = Date.now() - 30 * hour;
  const seenAt = receivedAt + lastInUse * hour;
  const store = await restored(config, ['dana'], receivedAt, seenAt);
  await bench(config, { store, pollMs: 20 });
  await eventually(() => allDelivered(store));
  const then = new Date(receivedAt + composed * hour).toISOString().slice(0, 13).replace('T', ' ');
  expect([...tool.asked, ...tool.sent].map(({ message }) => message.text)).toEqual([then, then]);
});

test('an event that came after a restore is in no digest that may have been sent before it', async () => {
  const tool = new ScriptedTool();
  tool.find = () => ({ found: { id: 'of both' } });
  const names = '{% for event in events %}{{ event.candidateId }} {% endfor %}';
  const config = configFor(tool, '', `digest: { every: 1h }, text: "${names}"`);
  const receivedAt = Math.floor(Date.now() / hour) * hour - 1000;
  const store = await restored(config, ['ann', 'bea'], receivedAt);
  await accept(store, config, 'cleo', receivedAt);
  await bench(config, { store, pollMs: 20 });
  await eventually(() => allDelivered(store));
  expect(tool.asked.map(({ message }) => message.text)).toEqual(['ann bea ']);
  expect(tool.sent.map(({ message }) => message.text)).toEqual(['cleo ']);
});
