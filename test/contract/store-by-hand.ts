import { expect, test } from 'vitest';
import type { PlannedDelivery } from '../../src/model.ts';
import type { Bench } from './store.ts';
import {
  arrival,
  carriedOut,
  claimDue,
  configId,
  day,
  delivered,
  idsOf,
  planned,
  rejected,
  resultOf,
  t0,
  unknown,
} from './store-fixtures.ts';

const today = 'cfg_today';

const replayItem = (deliveryId: string, changes: Partial<PlannedDelivery> = {}) => ({
  deliveryId,
  configId: today,
  planned: planned(changes),
});

export function byHand(bench: () => Bench): void {
  const saveToday = () => bench().store.saveConfig({ id: today, source: {}, savedAt: t0 });

  test("replays what is dead under today's config, and keeps what happened before", async () => {
    const { store } = bench();
    await saveToday();
    const [id] = await carriedOut(store, [rejected]);
    const moved = { rule: 'new rule', action: 2, sink: 'chat', lane: 'chat #new' };
    expect(await store.replay([replayItem(id!, moved)], t0 + day)).toEqual([{ deliveryId: id, done: true }]);
    expect(await store.delivery(id!)).toMatchObject({
      ...moved,
      state: 'pending',
      configId: today,
      dueAt: t0 + day,
      since: t0 + day,
      attempts: 1,
      firstAttemptAt: t0,
    });
    const [claimed] = await claimDue(store, t0 + day, 'chat #new');
    await store.record([resultOf(claimed!, delivered)]);
    const detail = await store.event(claimed!.events[0]!.id);
    expect(detail).toMatchObject({ configId, deliveries: [{ history: [{ number: 1 }, { number: 2 }] }] });
    expect((await store.counts()).map(({ sink, planned: all }) => [sink, all])).toEqual([
      ['chat', 1],
      ['slack', 0],
    ]);
  });

  test('replays what is held, which may have arrived still', async () => {
    const { store } = bench();
    await saveToday();
    const [id] = await carriedOut(store, [unknown]);
    await store.replay([replayItem(id!)], t0 + 1);
    expect(await store.delivery(id!)).toMatchObject({ state: 'pending', uncertain: true });
  });

  test.each([
    ['keeps', 'slack', { done: 1 }],
    ['forgets', 'email', null],
  ])('%s what was achieved in part when replayed through %s', async (_verb, connector, expected) => {
    const { store } = bench();
    await saveToday();
    await store.accept(arrival());
    const [claimed] = await claimDue(store);
    await store.record([resultOf(claimed!, rejected, { progress: { done: 1 } })]);
    await store.replay([replayItem(claimed!.delivery.id, { connector })], t0 + 1);
    expect((await store.delivery(claimed!.delivery.id))?.progress).toEqual(expected);
  });

  test('replays only what is dead or held', async () => {
    const { store } = bench();
    await saveToday();
    const [done] = await carriedOut(store, [delivered]);
    const [waiting] = idsOf(await store.accept(arrival()));
    const items = [done!, waiting!, 'dlv_unknown_1', 'nonsense'].map((id) => replayItem(id));
    expect(await store.replay(items, t0)).toEqual([
      { deliveryId: done, done: false, state: 'delivered' },
      { deliveryId: waiting, done: false, state: 'pending' },
      { deliveryId: 'dlv_unknown_1', done: false, state: null },
      { deliveryId: 'nonsense', done: false, state: null },
    ]);
    expect(await store.delivery(done!)).toMatchObject({ state: 'delivered', configId });
  });

  test('refuses a replay under a config that was never saved, and changes nothing', async () => {
    const { store } = bench();
    const [id] = await carriedOut(store, [rejected]);
    await expect(store.replay([replayItem(id!)], t0)).rejects.toThrow(today);
    expect(await store.delivery(id!)).toMatchObject({ state: 'dead', configId });
  });

  test('discards what is pending, dead or held, and nothing else', async () => {
    const { store } = bench();
    const [dead, held, done] = await carriedOut(store, [rejected, unknown, delivered]);
    const [waiting] = idsOf(await store.accept(arrival()));
    const results = await store.discard([dead!, held!, done!, waiting!, 'dlv_unknown_1'], t0);
    expect(results).toEqual([
      { deliveryId: dead, done: true },
      { deliveryId: held, done: true },
      { deliveryId: done, done: false, state: 'delivered' },
      { deliveryId: waiting, done: true },
      { deliveryId: 'dlv_unknown_1', done: false, state: null },
    ]);
    expect(await store.lanes()).toEqual([]);
    expect((await store.counts())[0]?.states).toMatchObject({ discarded: 3, delivered: 1, pending: 0 });
  });

  test('leaves a delivery that is being sent to its attempt', async () => {
    const { store } = bench();
    const [id] = idsOf(await store.accept(arrival()));
    await claimDue(store);
    expect(await store.discard([id!], t0)).toEqual([{ deliveryId: id, done: false, state: 'sending' }]);
  });
}
