import { expect, test } from 'vitest';
import type { PruneMark } from '../../src/store/store.ts';
import { home, store } from './store-bench.ts';
import {
  arrival,
  carriedOut,
  claimDue,
  configId,
  day,
  delivered,
  idsOf,
  notice,
  person,
  planned,
  prune,
  rejected,
  resultOf,
  retry,
  t0,
  unknown,
} from './store-fixtures.ts';

export function housekeeping(): void {
  test('keeps configs, and gives back what was saved first', async () => {
    const source = { rules: [{ name: 'a "quoted" one', when: {} }], catalog: null };
    await store.saveConfig({ id: 'cfg_a', source, savedAt: t0 });
    await store.saveConfig({ id: 'cfg_a', source, savedAt: t0 + 1 });
    expect(await store.config('cfg_a')).toEqual(source);
    expect(await store.config('cfg_b')).toBeNull();
    expect(await store.latestConfig()).toEqual({ id: 'cfg_a', source, savedAt: t0 + 1 });
    await store.saveConfig({ id: 'cfg_b', source: {}, savedAt: t0 + 2 });
    expect((await store.latestConfig())?.id).toBe('cfg_b');
    await store.saveConfig({ id: 'cfg_a', source, savedAt: t0 + 3 });
    expect((await store.latestConfig())?.id).toBe('cfg_a');
  });

  test('keeps a config for a command beside the one in force, which stays the latest', async () => {
    const [a, b, c] = ['cfg_a', 'cfg_b', 'cfg_c'].map((id) => ({ id, source: { id } }));
    await store.saveConfig({ ...b!, savedAt: t0 + 1 });
    for (const one of [a!, b!, c!]) await store.keepConfig({ ...one, savedAt: t0 + 2 });
    expect(await store.latestConfig()).toEqual({ ...b, savedAt: t0 + 1 });
    expect(await store.config('cfg_c')).toEqual(c!.source);
  });

  test('keeps what each replica says of itself, newest first', async () => {
    expect(await store.replicaStates()).toEqual([]);
    const config = { id: configId, file: 'a.yaml', since: t0, refused: null, waiting: ['store.url'] };
    const sinks = [{ name: 'slack', connector: 'slack' }];
    const said = (id: string, saidAt: number) => ({ id, saidAt, stopped: false, config, sinks });
    await store.keepReplicaState(said('first', t0));
    await store.keepReplicaState(said('first', t0 + 1));
    expect(await store.replicaStates()).toEqual([said('first', t0 + 1)]);
    await store.keepReplicaState(said('second', t0 + 2));
    // Only one process may serve a file.
    const others = store.leases === null ? [] : [said('first', t0 + 1)];
    expect(await store.replicaStates()).toEqual([said('second', t0 + 2), ...others]);
    await store.keepReplicaState(said('third', t0 + 2 * day));
    expect(await store.replicaStates()).toEqual([said('third', t0 + 2 * day)]);
  });

  test('knows what came today, and since when the oldest delivery waits', async () => {
    expect(await store.waiting(t0, t0 - 1)).toEqual({
      eventsToday: 0,
      rejectedToday: 0,
      rejectedThisWeek: 0,
      undecided: 0,
      oldestPendingAt: null,
    });
    await store.accept(arrival({ receivedAt: t0 - 9 }, { deliveries: [] }));
    for (const receivedAt of [t0, t0 + 5, t0 + 7])
      await store.accept(arrival({ receivedAt }, { deliveries: [planned()] }));
    for (const receivedAt of [t0 - 1, t0])
      await store.keepRejected(
        { receivedAt, address: '192.0.2.1', correlationId: null, status: 422, faults: [], body: '' },
        9,
      );
    expect(await store.waiting(t0, t0 - 1)).toEqual({
      eventsToday: 3,
      rejectedToday: 1,
      rejectedThisWeek: 2,
      undecided: 0,
      oldestPendingAt: t0,
    });
    const [claimed] = await claimDue(store);
    await store.record([resultOf(claimed!, delivered)]);
    await store.raise({
      notice: notice({ raisedAt: t0 - 3 }),
      configId,
      deliveries: [planned()],
      quietMs: day,
    });
    expect(await store.waiting(t0 + 1, t0)).toMatchObject({ eventsToday: 2, oldestPendingAt: t0 - 3 });
  });

  test('prunes old events whose deliveries are all over, with all that belongs to them', async () => {
    const came = arrival({ correlationId: 'first' }, { deliveries: [planned(), planned(), planned()] });
    const { eventId } = await store.accept(came);
    const { candidateId } = came.event;
    await store.accept(arrival({ candidateId, correlationId: 'repeated' }));
    const claimed = await claimDue(store);
    await store.record([resultOf(claimed[0]!, delivered, { thread: 't' }), resultOf(claimed[1]!, rejected)]);
    await store.record([resultOf(claimed[2]!, unknown)]);
    const stuck = claimed.slice(1).map(({ delivery }) => delivery.id);
    await store.discard(stuck, t0 + 5, person);
    expect(await prune(store, t0 + 5)).toBe(0);
    expect(await prune(store, t0 + 6)).toBe(1);
    expect(await store.event(eventId)).toBeNull();
    expect(await store.delivery(claimed[0]!.delivery.id)).toBeNull();
    expect(await store.threadOf('slack', 't')).toBeNull();
    expect(await store.deliveries({ states: ['dead', 'delivered', 'discarded'] })).toEqual([]);
    const again = arrival({ candidateId, correlationId: 'first', receivedAt: t0 + 6 });
    expect(await store.accept(again)).toMatchObject({ duplicate: false });
    expect((await store.event(again.event.id))?.duplicates).toEqual([]);
    const later = arrival({ candidateId, correlationId: 'repeated', receivedAt: t0 + 2 * day });
    expect(await store.accept(later)).toMatchObject({ duplicate: false });
  });

  test('never prunes an event with a delivery that is on its way, or that a person has to decide about', async () => {
    const [, , dead] = await carriedOut(store, [retry, unknown, rejected]);
    const [sending] = idsOf(await store.accept(arrival()));
    await claimDue(store);
    await store.accept(arrival({}, { deliveries: [planned({ dueAt: t0 + 400 * day })] }));
    expect(await prune(store, t0 + 500 * day)).toBe(0);
    expect(await store.delivery(sending!)).toMatchObject({ state: 'sending' });
    expect(await store.events({})).toHaveLength(5);
    await store.discard([dead!], t0 + 500 * day, person);
    expect(await prune(store, t0 + 500 * day)).toBe(0);
    expect(await prune(store, t0 + 500 * day + 1)).toBe(1);
  });

  test('counts the age of an event from the end of its last delivery, not from when it came', async () => {
    await store.accept(arrival({}, { deliveries: [planned(), planned({ lane: 'late' })] }));
    const [early] = await claimDue(store);
    const [late] = await claimDue(store, t0 + 30 * day, 'late');
    await store.record([resultOf(early!, delivered), resultOf(late!, delivered)]);
    expect(await prune(store, t0 + 30 * day)).toBe(0);
    expect(await prune(store, t0 + 31 * day)).toBe(1);
  });

  test('prunes in steps of the given size, oldest first', async () => {
    await carriedOut(store, [delivered], t0 + 2);
    const [, newest] = await carriedOut(store, [delivered, delivered], t0 + 3);
    await store.accept(arrival({ receivedAt: t0 }, { deliveries: [] }));
    const step = await store.prune({ before: t0 + day, limit: 3 });
    expect(step).toMatchObject({ count: 3, after: { of: 'events' } });
    expect((await store.events({})).flatMap(({ deliveries }) => deliveries.map(({ id }) => id))).toEqual([
      newest,
    ]);
    expect(await store.prune({ before: t0 + day, limit: 3, after: step.after! })).toMatchObject({ count: 1 });
  });

  test('looks in each step at what comes after the last, however much of it stays', async () => {
    await carriedOut(store, [rejected, rejected, delivered, rejected, delivered]);
    const counts: number[] = [];
    let after: PruneMark | undefined | null;
    while (after !== null) {
      const step = await store.prune({ before: t0 + day, limit: 2, ...(after && { after }) });
      counts.push(step.count);
      ({ after } = step);
    }
    expect(counts).toEqual([0, 1, 1, 0]);
    expect((await store.counts())[0]?.states).toMatchObject({ dead: 3, delivered: 0 });
  });

  test('still knows a later event of the same content after the first is pruned', async () => {
    const first = arrival({}, { deliveries: [] });
    const { candidateId } = first.event;
    const second = arrival({ candidateId, correlationId: 'second', receivedAt: t0 + 2 * day });
    await store.accept(first);
    await store.accept(second);
    expect(await prune(store, t0 + 1)).toBe(1);
    const retry2 = arrival({ candidateId, correlationId: 'second', receivedAt: t0 + 9 * day });
    expect(await store.accept(retry2)).toMatchObject({ duplicate: true, eventId: second.event.id });
  });

  test('removes old configs with the last event and replay that used them', async () => {
    const other = await home.open();
    const save = (id: string, savedAt: number) => other.saveConfig({ id, source: {}, savedAt });
    await Promise.all([save('cfg_event', t0), save('cfg_replay', t0), save('cfg_unused', t0)]);
    await save('cfg_new', t0 + day);
    await store.accept(arrival({}, { configId: 'cfg_event', deliveries: [] }));
    const [replayed] = await carriedOut(store, [rejected], t0 + day);
    await store.replay(
      [{ deliveryId: replayed!, configId: 'cfg_replay', planned: planned() }],
      t0 + day,
      person,
    );
    const kept = async () => {
      const ids = [configId, 'cfg_event', 'cfg_replay', 'cfg_unused', 'cfg_new'];
      const sources = await Promise.all(ids.map((id) => store.config(id)));
      return ids.filter((_, index) => sources[index] !== null);
    };
    expect(await prune(store, t0)).toBe(0);
    expect(await kept()).toEqual([configId, 'cfg_event', 'cfg_replay', 'cfg_unused', 'cfg_new']);
    expect(await prune(store, t0 + 1)).toBe(1);
    expect(await kept()).toEqual([configId, 'cfg_replay', 'cfg_new']);
    await store.discard([replayed!], t0, person);
    expect(await prune(store, t0 + 2 * day)).toBe(1);
    // This process saved it, so it may be in force with no event yet.
    expect(await kept()).toEqual([configId]);
  });

  test('keeps the newest token under an id, for every process', async () => {
    expect(await store.token('a')).toBeNull();
    for (const sealed of ['first', 'second']) await store.keepToken({ id: 'a', sealed, keptAt: t0 });
    expect(await (await home.open()).token('a')).toBe('second');
  });

  test('keeps the last sign of life, for every process', async () => {
    expect(await store.signOfLife()).toBeNull();
    const signs = [
      { seenAt: t0, doubt: null },
      { seenAt: t0, doubt: { seenAt: t0 + 400 * day, agreedMs: 5 } },
      { seenAt: t0 + 1, doubt: null },
    ];
    for (const sign of signs) {
      await store.keepSignOfLife(sign);
      expect(await (await home.open()).signOfLife()).toEqual(sign);
    }
  });
}
