import { expect, test } from 'vitest';
import type { Delivery, DeliveryState, PlannedDelivery } from '../../src/model.ts';
import { home, store } from './store-bench.ts';
import {
  arrival,
  claimDue,
  configId,
  day,
  delivered,
  minute,
  person,
  planned,
  prune,
  receipt,
  rejected,
  resultOf,
  retry,
  t0,
  unknown,
} from './store-fixtures.ts';

const inGroup = (changes: Partial<PlannedDelivery> = {}) => planned({ group: 'g', groupMax: 10, ...changes });

export function digests(): void {
  /** An event with one delivery in a group; returns the delivery's id. */
  const accept = async (changes: Partial<PlannedDelivery> = {}, receivedAt = t0) => {
    const came = arrival({ receivedAt }, { deliveries: [inGroup(changes)] });
    const { eventId } = await store.accept(came);
    return `dlv_${eventId.slice(4)}_1`;
  };
  const acceptMany = async (count: number, changes?: Partial<PlannedDelivery>) => {
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) ids.push(await accept(changes));
    return ids;
  };
  /** What each claimed message carries: the ids of the deliveries for its events. */
  const claimContents = async (now = t0, limit?: number) => {
    const claimed = await claimDue(store, now, undefined, limit);
    return claimed.map(({ events }) => events.map(({ id }) => `dlv_${id.slice(4)}_1`));
  };
  const get = (ids: readonly string[]) => Promise.all(ids.map((id) => store.delivery(id)));
  const storyOf = async (delivery: Delivery | null) => {
    const detail = await store.event(delivery!.eventId!);
    return detail!.deliveries[0]!;
  };
  const statesOf = async (ids: readonly string[]) => (await get(ids)).map((one) => one?.state);

  test('claims all of a group that is due as one, under the id of the first', async () => {
    const ids = await acceptMany(3);
    const claimed = await claimDue(store);
    expect(claimed).toMatchObject([
      { delivery: { id: ids[0], state: 'sending', attempts: 1, carrier: ids[0] }, notice: null },
    ]);
    const stories = await Promise.all((await get(ids)).map(storyOf));
    const events = await Promise.all(stories.map((one) => store.event(one.eventId!)));
    expect(claimed[0]!.events).toEqual(events.map((detail) => detail!.event));
    expect(stories.map(({ state, attempts, carrier }) => [state, attempts, carrier])).toEqual(
      ids.map(() => ['sending', 1, ids[0]]),
    );
    expect(await claimDue(store)).toEqual([]);
  });

  test('keeps apart what is of another group, lane or sink, or is due later, or has no group', async () => {
    const first = await accept();
    const other = await accept({ group: 'h' });
    await accept({ lane: 'slack #other' });
    const elsewhere = await accept({ sink: 'chat' });
    const alone = await accept({ group: null, groupMax: null });
    const late = await accept({ dueAt: t0 + 1 });
    const second = await accept();
    expect(await claimContents()).toEqual([[first, second], [other], [elsewhere], [alone]]);
    expect(await claimContents(t0 + 1)).toEqual([[late]]);
  });

  const endings = [
    ['a success', delivered, { state: 'delivered', receipt, lastError: null }],
    ['a failure that is tried again', retry, { state: 'pending', dueAt: t0 + minute }],
    ['a rejection', rejected, { state: 'dead', lastError: 'No such channel.' }],
    ['an unknown outcome', unknown, { state: 'held', uncertain: true }],
  ] as const;
  test.each(endings)('records %s for every delivery of a digest', async (_what, outcome, expected) => {
    const ids = await acceptMany(3);
    const [claimed] = await claimDue(store);
    const result = resultOf(claimed!, outcome, { progress: ['half'], thread: 'k' });
    await store.record([result]);
    for (const one of await get(ids)) {
      expect(await storyOf(one)).toMatchObject({
        ...expected,
        attempts: 1,
        progress: ['half'],
        message: JSON.parse(result.message!) as unknown,
        history: [result.attempt],
      });
    }
    expect((await store.counts())[0]?.states[expected.state]).toBe(3);
    expect(await store.threadOf('slack', 'k')).toEqual(
      'receipt' in expected ? { receipt, seq: claimed!.row.seq } : null,
    );
  });

  test('tries a digest again with the same events, whatever came meanwhile', async () => {
    const ids = await acceptMany(2);
    const [claimed] = await claimDue(store);
    await store.record([resultOf(claimed!, retry)]);
    const next = await accept();
    expect(await claimContents(t0 + minute)).toEqual([[next], ids]);
    expect(await get(ids)).toMatchObject(ids.map(() => ({ attempts: 2, firstAttemptAt: t0 })));
  });

  test('claims no further digest in one go once it has a thousand deliveries', async () => {
    const came = Array.from({ length: 1500 }, () =>
      arrival({}, { deliveries: [inGroup({ groupMax: 100 })] }),
    );
    await Promise.all(came.map((one) => store.accept(one)));
    const sizes = (await claimContents(t0, 500)).map(({ length }) => length);
    expect(sizes).toEqual(Array.from({ length: 10 }, () => 100));
    expect(await claimContents(t0, 500)).toHaveLength(5);
    expect(await store.rescue(t0, 0)).toBe(1500);
    expect(await claimContents(t0, 500)).toHaveLength(10);
  });

  test('puts off a digest that was never attempted: it is none any more, and others may join what becomes of it', async () => {
    const ids = await acceptMany(2);
    const [claimed] = await claimDue(store);
    await store.defer([{ deliveryId: claimed!.delivery.id, attempt: 1, claimedAt: t0, until: t0 + day }], t0);
    const pending = { state: 'pending', dueAt: t0 + day, attempts: 0, firstAttemptAt: null, carrier: null };
    expect(await get(ids)).toMatchObject([pending, pending]);
    const late = await accept({ dueAt: t0 + day });
    expect(await store.discard([ids[1]!], t0, person)).toEqual([{ deliveryId: ids[1], done: true }]);
    expect(await claimContents(t0 + day)).toEqual([[ids[0], late]]);
  });

  test('begins a digest with its first delivery also where what became due last comes first', async () => {
    const ids = await acceptMany(3, { groupMax: 2 });
    const query = { lane: 'slack #hiring', now: t0, limit: 1, untriedFirst: true };
    const [first] = await store.claim(query);
    expect(first).toMatchObject({ delivery: { id: ids[0] } });
    expect(first!.events.map(({ id }) => `dlv_${id.slice(4)}_1`)).toEqual(ids.slice(0, 2));
    expect(await store.claim(query)).toMatchObject([{ delivery: { id: ids[2] } }]);
  });

  test('replays a digest whole, whichever of its deliveries is named', async () => {
    const ids = await acceptMany(3);
    const [claimed] = await claimDue(store);
    await store.record([resultOf(claimed!, unknown)]);
    await store.saveConfig({ id: 'cfg_today', source: {}, savedAt: t0 });
    const moved = planned({ sink: 'chat', connector: 'chat', lane: 'chat', rule: 'new', action: 3 });
    const replays = [ids[1]!, ids[2]!].map((deliveryId) => ({
      deliveryId,
      configId: 'cfg_today',
      planned: moved,
    }));
    expect(await store.replay(replays, t0 + day, person)).toEqual([
      { deliveryId: ids[1], done: true },
      { deliveryId: ids[2], done: true },
    ]);
    const { group: _, groupMax: __, ...place } = moved;
    expect(await get(ids)).toMatchObject(
      ids.map(() => ({ ...place, configId: 'cfg_today', dueAt: t0 + day, since: t0 + day, uncertain: true })),
    );
    const other = await accept({ sink: 'chat', lane: 'chat' });
    const again = await claimDue(store, t0 + day, 'chat');
    expect(again.map(({ delivery }) => delivery.id)).toEqual([other, ids[0]]);
    expect(again[1]?.events).toEqual(claimed?.events);
    expect((await store.counts()).map(({ sink, planned: all }) => [sink, all])).toEqual([
      ['chat', 4],
      ['slack', 0],
    ]);
  });

  test('never puts a replay into a digest that it was not in', async () => {
    const single = await accept({ group: null, groupMax: null });
    const [claimed] = await claimDue(store);
    await store.record([resultOf(claimed!, rejected)]);
    const waiting = await accept();
    await store.replay([{ deliveryId: single, configId, planned: inGroup() }], t0, person);
    expect(await claimContents()).toEqual([[single], [waiting]]);
    expect(await store.delivery(single)).toMatchObject({ group: null, groupMax: null, carrier: null });
  });

  test('discards one delivery before its digest is begun, and all of them after', async () => {
    const ids = await acceptMany(4);
    await store.discard([ids[1]!], t0, person);
    const [claimed] = await claimDue(store);
    await store.record([resultOf(claimed!, retry)]);
    const states: DeliveryState[] = ['pending', 'discarded', 'pending', 'pending'];
    expect(await statesOf(ids)).toEqual(states);
    expect(await store.discard([ids[3]!, ids[2]!], t0, person)).toEqual([
      { deliveryId: ids[3], done: true },
      { deliveryId: ids[2], done: true },
    ]);
    expect(await statesOf(ids)).toEqual(ids.map(() => 'discarded'));
    expect(await store.lanes()).toEqual([]);
  });

  test('keeps a digest and its story for its later events when its first is pruned', async () => {
    const [first, ...rest] = [await accept(), await accept({}, t0 + 9), await accept({}, t0 + 9)];
    const [claimed] = await claimDue(store);
    const result = resultOf(claimed!, delivered, { thread: 'k' });
    await store.record([result]);
    expect(await prune(store, t0 + 9)).toBe(1);
    expect(await store.delivery(first)).toBeNull();
    const stories = await Promise.all((await get(rest)).map(storyOf));
    const whole = {
      carrier: rest[1],
      message: JSON.parse(result.message!) as unknown,
      history: [result.attempt],
    };
    expect(stories).toMatchObject([whole, whole]);
  });

  test('keeps the config that a digest was replayed under until its last event is pruned', async () => {
    const other = await home.open();
    await other.saveConfig({ id: 'cfg_replayed', source: {}, savedAt: t0 });
    const [first] = [await accept(), await accept({}, t0 + 9)];
    const [claimed] = await claimDue(store);
    await store.record([resultOf(claimed!, rejected)]);
    await store.replay([{ deliveryId: first, configId: 'cfg_replayed', planned: inGroup() }], t0, person);
    const [again] = await claimDue(store);
    await store.record([resultOf(again!, delivered)]);
    expect(await prune(store, t0 + 9)).toBe(1);
    expect(await store.config('cfg_replayed')).not.toBeNull();
    expect(await prune(store, t0 + 10)).toBe(1);
    expect(await store.config('cfg_replayed')).toBeNull();
  });

  test('replays a digest whose deliveries were planned by several configs, and lets go of each of these', async () => {
    const other = await home.open();
    for (const id of ['cfg_applied', 'cfg_replayed'])
      await other.saveConfig({ id, source: {}, savedAt: t0 - 1 });
    const first = await accept();
    const { eventId } = await store.accept(arrival({}, { deliveries: [] }));
    const late = { eventId, configId: 'cfg_applied', deliveries: [inGroup()] };
    const [second] = await store.apply([late], t0, person);
    const [claimed] = await claimDue(store);
    expect(claimed!.events).toHaveLength(2);
    await store.record([resultOf(claimed!, rejected)]);
    expect(await store.config('cfg_applied')).not.toBeNull();
    const replays = [second!, first].map((deliveryId) => ({
      deliveryId,
      configId: 'cfg_replayed',
      planned: inGroup(),
    }));
    expect(await store.replay(replays, t0, person)).toMatchObject([{ done: true }, { done: true }]);
    await prune(store, t0);
    expect(await store.config('cfg_applied')).toBeNull();
    expect(await store.config('cfg_replayed')).not.toBeNull();
  });

  test('prunes events of two digests that go out under each other', async () => {
    const [first, second] = [{ dueAt: t0 + 1 }, { dueAt: t0 + 2 }];
    const other = { group: 'h' };
    await store.accept(arrival({}, { deliveries: [inGroup(first), inGroup({ ...second, ...other })] }));
    await store.accept(arrival({}, { deliveries: [inGroup(second), inGroup({ ...first, ...other })] }));
    const claimed = await claimDue(store, t0 + 9);
    expect(claimed.map(({ events }) => events.length)).toEqual([2, 2]);
    await store.record(claimed.map((one) => resultOf(one, delivered)));
    expect(await prune(store, t0 + day)).toBe(2);
  });
}
