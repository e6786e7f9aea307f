import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { keepRetention } from '../src/retention.ts';
import { openStore } from '../src/store/open.ts';
import { arrival, configId, day, t0 } from './contract/store-fixtures.ts';

/** A clock that stands still; its alarms go off when told. */
function stillClock(now: number) {
  const alarms: { delayMs: number; run: () => void }[] = [];
  return {
    alarms,
    now: () => now,
    elapsed: () => now,
    after(delayMs: number, run: () => void) {
      const alarm = { delayMs, run };
      alarms.push(alarm);
      return () => void alarms.splice(alarms.indexOf(alarm), 1);
    },
    ring: () => alarms.shift()?.run(),
  };
}

async function openTemporary() {
  const folder = await mkdtemp(join(tmpdir(), 'retention-'));
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  return store;
}

const finished = (receivedAt: number) => arrival({ receivedAt }, { deliveries: [] });

test('what is older than the retention goes, in small steps, and the rest stays', async () => {
  const store = await openTemporary();
  const old = Array.from({ length: 450 }, () => finished(t0));
  const young = finished(t0 + 2 * day);
  await Promise.all([...old, young].map((one) => store.accept(one)));
  const clock = stillClock(t0 + 10 * day);
  const steps: number[] = [];
  const stop = keepRetention({
    store,
    clock,
    retentionMs: () => 9 * day,
    pruned: (events) => void steps.push(events),
    failed: (error) => expect.unreachable(String(error)),
  });
  for (const delayMs of [0, 0, 600_000]) {
    clock.ring();
    await vi.waitFor(() => expect(clock.alarms).toMatchObject([{ delayMs }]));
  }
  expect(steps).toEqual([200, 200, 50]);
  expect((await store.events({})).map(({ event }) => event.id)).toEqual([young.event.id]);
  stop();
  expect(clock.alarms).toEqual([]);
});

test('a store that cannot be used is reported, and tried again later', async () => {
  const store = await openTemporary();
  await store.close();
  const clock = stillClock(t0);
  const failures: unknown[] = [];
  const stop = keepRetention({
    store,
    clock,
    retentionMs: () => day,
    pruned: () => expect.unreachable(),
    failed: (error) => void failures.push(error),
  });
  clock.ring();
  await vi.waitFor(() => expect(clock.alarms).toHaveLength(1));
  expect(failures).toMatchObject([{ name: 'StoreUnavailable' }]);
  stop();
});

test('a store that is closed under the last step, after the stop, is no failure', async () => {
  const store = await openTemporary();
  const clock = stillClock(t0);
  const failed = vi.fn<(error: unknown) => void>();
  const stop = keepRetention({ store, clock, retentionMs: () => day, pruned: () => {}, failed });
  await store.close();
  clock.ring();
  stop();
  // Longer than the round, which fails at once.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect(failed).not.toHaveBeenCalled();
  expect(clock.alarms).toEqual([]);
});
