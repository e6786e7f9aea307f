import { describe, expect, test } from 'vitest';
import type { PlannedDelivery } from '../../src/model.ts';
import { inForce } from '../../src/store/store.ts';
import { home, store } from './store-bench.ts';
import {
  arrival,
  carriedOut,
  claimDue,
  configId,
  day,
  delivered,
  idsOf,
  minute,
  notice,
  person,
  planned,
  prune,
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

export function byHand(): void {
  const saveToday = () => store.saveConfig({ id: today, source: {}, savedAt: t0 });

  test("replays what is dead under today's config, and keeps what happened before", async () => {
    await saveToday();
    const [id] = await carriedOut(store, [rejected]);
    const moved = { rule: 'new rule', action: 2, sink: 'chat', lane: 'chat #new' };
    expect(await store.replay([replayItem(id!, moved)], t0 + day, person)).toEqual([
      { deliveryId: id, done: true },
    ]);
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

  test('replays only what is dead or held', async () => {
    await saveToday();
    const [done] = await carriedOut(store, [delivered]);
    const [waiting] = idsOf(await store.accept(arrival()));
    const items = [done!, waiting!, 'dlv_unknown_1', 'nonsense'].map((id) => replayItem(id));
    expect(await store.replay(items, t0, person)).toEqual([
      { deliveryId: done, done: false, state: 'delivered' },
      { deliveryId: waiting, done: false, state: 'pending' },
      { deliveryId: 'dlv_unknown_1', done: false, state: null },
      { deliveryId: 'nonsense', done: false, state: null },
    ]);
    expect(await store.delivery(done!)).toMatchObject({ state: 'delivered', configId });
  });

  test('discards what is pending, dead or held, and nothing else', async () => {
    const [dead, held, done] = await carriedOut(store, [rejected, unknown, delivered]);
    const [waiting] = idsOf(await store.accept(arrival()));
    const results = await store.discard([dead!, held!, done!, waiting!, 'dlv_unknown_1'], t0, person);
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

  describe('the audit', () => {
    const audited = { at: t0 + 1, sink: null, ...person };

    test('has a line for what was changed, newest first, and none for what was not', async () => {
      await saveToday();
      const [first, second, done] = await carriedOut(store, [rejected, unknown, delivered]);
      await store.discard([second!, done!], t0 + 1, person);
      await store.replay([replayItem(first!), replayItem(done!)], t0 + 2, { ...person, note: null });
      await store.replay([replayItem(first!)], t0 + 3, person);
      const changes = await store.audit({});
      expect(changes).toEqual([
        { ...audited, id: expect.any(Number), at: t0 + 2, action: 'replay', note: null, deliveries: [first] },
        { ...audited, id: expect.any(Number), action: 'discard', deliveries: [second] },
      ]);
      expect(await store.audit({ limit: 1 })).toEqual(changes.slice(0, 1));
      expect(await store.audit({ after: changes[0]!.id })).toEqual(changes.slice(1));
    });

    test('of an event has what is about it alone, and of a digest all that shared its message', async () => {
      const deliveries = [planned({ group: 'g', groupMax: 9 })];
      const events = [arrival({}, { deliveries }), arrival({}, { deliveries })];
      for (const came of events) await store.accept(came);
      const [digest] = await claimDue(store);
      await store.record([resultOf(digest!, rejected)]);
      const [other] = await carriedOut(store, [rejected]);
      await store.discard([digest!.delivery.id, other!], t0 + 1, person);
      const [change] = await store.audit({});
      expect(change?.deliveries).toHaveLength(3);
      for (const { event } of events)
        expect(await store.audit({ about: event.id })).toEqual([
          { ...change, deliveries: idsOf({ eventId: event.id }) },
        ]);
      expect(await store.audit({ about: 'evt_nobody' })).toEqual([]);
    });

    test('of a notice has what is about that', async () => {
      const told = notice();
      await store.raise({ notice: told, configId, deliveries: [planned()], quietMs: 0 });
      const [claimed] = await claimDue(store);
      await store.record([resultOf(claimed!, rejected)]);
      await store.discard([claimed!.delivery.id], t0 + 1, person);
      expect(await store.audit({ about: told.id })).toMatchObject([{ deliveries: [claimed!.delivery.id] }]);
    });

    test('keeps a line as long as an event that it is about', async () => {
      const [first, second] = await carriedOut(store, [rejected, rejected]);
      await store.discard([first!], t0 + 1, person);
      await store.discard([first!, second!], t0 + 1, person);
      const [late] = await carriedOut(store, [rejected], t0 + day);
      await store.discard([late!], t0 + day + 1, person);
      await prune(store, t0 + 1);
      expect(await store.audit({})).toHaveLength(3);
      await prune(store, t0 + 2);
      expect(await store.audit({})).toMatchObject([{ deliveries: [late] }]);
    });
  });

  describe('a message that is sent again', () => {
    test('is a new delivery of the same event, which tells what it repeats', async () => {
      await saveToday();
      const [id] = await carriedOut(store, [delivered]);
      const moved = { lane: 'slack #new', dueAt: t0 + 5 * day, group: 'g', groupMax: 9 };
      const [result] = await store.resend([replayItem(id!, moved)], t0 + day, person);
      const again = id!.replace(/1$/, '2');
      expect(result).toEqual({ deliveryId: id, done: true, madeId: again });
      expect(await store.delivery(again)).toMatchObject({
        state: 'pending',
        lane: 'slack #new',
        group: null,
        configId: today,
        dueAt: t0 + day,
        since: t0 + day,
        attempts: 0,
        uncertain: false,
        replayed: true,
        resendOf: id,
      });
      expect(await store.delivery(id!)).toMatchObject({ state: 'delivered', resendOf: null });
      expect(await store.audit({})).toMatchObject([{ action: 'resend', deliveries: [again] }]);
      const [claimed] = await claimDue(store, t0 + day, 'slack #new');
      expect(claimed).toMatchObject({ delivery: { id: again, attempts: 1 }, events: [{}] });
      await store.record([resultOf(claimed!, delivered)]);
      const once = await store.resend([replayItem(again)], t0 + 2 * day, person);
      expect(once).toMatchObject([{ done: true, madeId: id!.replace(/1$/, '3') }]);
    });

    test('is not while it is on its way again, nor where nothing was delivered', async () => {
      await saveToday();
      const [id, dead] = await carriedOut(store, [delivered, rejected]);
      const items = [id!, id!, dead!, 'dlv_unknown_1'].map((each) => replayItem(each));
      const again = id!.replace(/1$/, '2');
      expect(await store.resend(items, t0, person)).toEqual([
        { deliveryId: id, done: true, madeId: again },
        { deliveryId: id, done: false, state: 'pending', madeId: again },
        { deliveryId: dead, done: false, state: 'dead' },
        { deliveryId: 'dlv_unknown_1', done: false, state: null },
      ]);
    });

    test.each([
      ['then it is', 2 * minute],
      ['a clock that was set back does not keep it waiting', -minute],
    ])('is not within a minute of somebody else, though it has arrived by then; %s', async (_what, after) => {
      await saveToday();
      const [id] = await carriedOut(store, [delivered]);
      const [first] = await store.resend([replayItem(id!)], t0 + day, person);
      const [again] = await claimDue(store, t0 + day);
      await store.record([resultOf(again!, delivered)]);
      const { madeId } = first!;
      const resend = (ms: number) => store.resend([replayItem(id!)], t0 + day + ms, person);
      expect(await resend(minute - 1)).toEqual([{ deliveryId: id, done: false, state: 'delivered', madeId }]);
      expect(await resend(after)).toMatchObject([{ done: true }]);
    });

    test('is not within a minute of somebody else, whether they chose the first one or its copy', async () => {
      await saveToday();
      const [id] = await carriedOut(store, [delivered]);
      const resend = (which: string, at: number) => store.resend([replayItem(which)], at, person);
      const arrives = async (at: number) => {
        const [claimed] = await claimDue(store, at);
        await store.record([resultOf(claimed!, delivered)]);
        return claimed!.delivery.id;
      };
      await resend(id!, t0 + day);
      const copy = await arrives(t0 + day);
      expect(await resend(copy, t0 + day + minute - 1)).toEqual([
        { deliveryId: copy, done: false, state: 'delivered', madeId: copy },
      ]);
      const [second] = await resend(copy, t0 + 2 * day);
      const { madeId } = second!;
      expect(await resend(id!, t0 + 2 * day)).toEqual([
        { deliveryId: id, done: false, state: 'pending', madeId },
      ]);
      // The tool was away meanwhile.
      await arrives(t0 + 3 * day);
      expect(await resend(id!, t0 + 3 * day + minute - 1)).toEqual([
        { deliveryId: id, done: false, state: 'delivered', madeId },
      ]);
    });

    test('of a notice is one more of that', async () => {
      const told = notice();
      await store.raise({ notice: told, configId, deliveries: [planned()], quietMs: 0 });
      const [claimed] = await claimDue(store);
      await store.record([resultOf(claimed!, delivered)]);
      await saveToday();
      await store.resend([replayItem(claimed!.delivery.id)], t0, person);
      expect((await store.notice(told.id))?.deliveries).toMatchObject([
        { state: 'delivered' },
        { state: 'pending', resendOf: claimed!.delivery.id },
      ]);
    });
  });

  describe('a rule that is applied late', () => {
    const late = (eventId: string, ...rules: string[]) => ({
      eventId,
      configId: today,
      deliveries: rules.map((rule, action) => planned({ rule, action, dueAt: t0 + day })),
    });

    test('adds its deliveries to the events that have none of it, once', async () => {
      await saveToday();
      const [silent, had] = [arrival({}, { deliveries: [] }), arrival()];
      for (const came of [silent, had]) await store.accept(came);
      const [one, two] = [silent.event.id, had.event.id];
      const items = [late(one, 'new', 'new'), late(two, 'new'), late('evt_gone', 'new')];
      const both = await Promise.all([store.apply(items, t0, person), store.apply(items, t0, person)]);
      const made = [`dlv_${one.slice(4)}_1`, `dlv_${one.slice(4)}_2`, `dlv_${two.slice(4)}_2`];
      expect(both.flat()).toEqual(made);
      expect(await store.apply([late(two, 'completed')], t0, person)).toEqual([]);
      expect(await store.delivery(made[1]!)).toMatchObject({
        state: 'pending',
        dueAt: t0 + day,
        configId: today,
        replayed: false,
        resendOf: null,
      });
      expect(await store.event(two)).toMatchObject({
        configId,
        deliveries: [{ rule: 'completed' }, { rule: 'new' }],
      });
      expect(await store.audit({})).toMatchObject([{ action: 'apply', deliveries: made }]);
    });

    test('may go out in a digest', async () => {
      await saveToday();
      const deliveries = [planned({ rule: 'new', group: 'g', groupMax: 9 })];
      for (let n = 0; n < 2; n += 1) {
        const came = arrival({}, { deliveries: [] });
        await store.accept(came);
        await store.apply([{ eventId: came.event.id, configId: today, deliveries }], t0, person);
      }
      expect(await claimDue(store)).toMatchObject([{ events: [{}, {}] }]);
    });
  });

  test('keeps when people had paused a sink: one pause that is changed, until its end or a person ends it', async () => {
    const other = await home.open();
    const ana = { ...person, who: 'ana', note: null };
    const inForceAt = async (now: number) =>
      Array.from(inForce(await other.personPauses(), now).values(), ({ since, until, phase, who }) => [
        since,
        until,
        phase,
        who,
      ]);
    const noteAt = async (now: number) => inForce(await other.personPauses(), now).get('slack')?.note;
    expect(await store.resumeByPerson('slack', t0, ana)).toBe(false);
    await store.pauseByPerson('slack', null, t0, person);
    await other.takePause({ sink: 'slack', since: t0 });
    await other.pauseByPerson('slack', t0 + day, t0 + minute, ana);
    expect(await inForceAt(t0 + day - 1)).toEqual([[t0, t0 + day, 'taken', 'ana']]);
    // Whoever only gives it an end leaves why it was begun.
    expect(await noteAt(t0 + day - 1)).toBe(person.note);
    await other.pauseByPerson('slack', t0 + day, t0 + minute, { ...ana, note: 'it moves' });
    expect(await noteAt(t0 + day - 1)).toBe('it moves');
    expect(await inForceAt(t0 + day)).toEqual([]);
    expect(await store.resumeByPerson('slack', t0 + day, ana)).toBe(false);
    await store.pauseByPerson('slack', null, t0 + 2 * day, person);
    await store.pauseByPerson('mail', null, t0 + 2 * day, person);
    expect(await store.resumeByPerson('slack', t0 + 3 * day, ana)).toBe(true);
    // The clock was set back.
    expect(await inForceAt(t0 + 2 * day)).toEqual([[t0 + 2 * day, null, 'asked', 'dana']]);
    const all = (await store.personPauses()).map(({ since, until }) => [since, until]);
    expect(all[0]).toEqual([t0, t0 + day]);
    expect(all.slice(1)).toEqual(
      expect.arrayContaining([
        [t0 + 2 * day, t0 + 3 * day],
        [t0 + 2 * day, null],
      ]),
    );
    expect(await store.audit({})).toMatchObject([
      { action: 'resume', sink: 'slack', who: 'ana', note: null, deliveries: [] },
      { action: 'pause', sink: 'mail' },
      { action: 'pause', sink: 'slack', note: person.note },
      { action: 'pause', sink: 'slack', who: 'ana', note: 'it moves' },
      { action: 'pause', sink: 'slack', who: 'ana', note: null },
      { action: 'pause', sink: 'slack', who: 'dana' },
    ]);
    await prune(store, t0 + 2 * day);
    expect((await store.personPauses()).map(({ since }) => since)).toEqual([t0 + 2 * day, t0 + 2 * day]);
    // One that began by a clock far ahead and was ended hides none that a person begins now.
    await store.pauseByPerson('slack', null, t0 + day, person);
    await store.pauseByPerson('slack', t0 + 9 * day, t0 + day + minute, ana);
    expect(await inForceAt(t0 + day + minute)).toContainEqual([t0 + day, t0 + 9 * day, 'asked', 'ana']);
    expect(await store.resumeByPerson('slack', t0 + day + minute, ana)).toBe(true);
    expect((await inForceAt(t0 + day + minute)).map(([since]) => since)).toEqual([t0 + 2 * day]);
  });

  test.each(['replay', 'resend', 'apply'] as const)(
    'makes no %s, and no line about it, by a config that was never saved',
    async (action) => {
      const [id] = await carriedOut(store, [action === 'replay' ? rejected : delivered]);
      const item = replayItem(id!, { rule: 'new' });
      const eventId = (await store.events({}))[0]!.event.id;
      const late = { eventId, configId: today, deliveries: [item.planned] };
      const change = action === 'apply' ? store.apply([late], t0, person) : store[action]([item], t0, person);
      await expect(change).rejects.toThrow(today);
      expect(await store.audit({})).toEqual([]);
      expect((await store.event(eventId))?.deliveries).toHaveLength(1);
    },
  );
}
