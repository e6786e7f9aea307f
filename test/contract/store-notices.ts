import { expect, test } from 'vitest';
import type { PlannedDelivery } from '../../src/model.ts';
import type { RaisedNotice } from '../../src/model/notices.ts';
import type { Outcome, Rejected } from '../../src/model/outcomes.ts';
import { home, store } from './store-bench.ts';
import {
  arrival,
  carriedOut,
  claimDue,
  configId,
  day,
  delivered,
  minute,
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

const hour = 60 * minute;

const ofSink = (raisedAt: number, sink = 'slack') => notice({ cause: `dead ${sink}`, raisedAt });

export function notices(): void {
  test('knows of which troubles nobody was told yet that they are over', async () => {
    const told = [
      notice({ alert: 'paused', sink: 'slack' }),
      notice({ alert: 'dead', sink: 'slack' }),
      notice({ alert: 'paused', sink: 'mail' }),
      notice({ alert: 'paused', sink: 'mail', recovered: true }),
      notice({ alert: 'paused', sink: 'sheet', recovered: true }),
      notice({ alert: 'paused', sink: 'sheet' }),
      notice({ alert: 'paused', sink: null }),
    ];
    expect(await store.openTroubles(['paused'])).toEqual([]);
    for (const one of told) await store.raise({ notice: one, configId, deliveries: [], quietMs: 1 });
    const other = await home.open();
    expect(await other.openTroubles(['paused', 'silence'])).toEqual([told[0], told[5], told[6]]);
  });

  const raise = (raised: RaisedNotice, deliveries: PlannedDelivery[] = [planned()], by = store) =>
    by.raise({ notice: raised, configId, deliveries, quietMs: hour });

  test('keeps a notice with its deliveries, whole', async () => {
    const raised = notice({ sink: null, detail: `'; drop table notices; -- <!channel>` });
    expect(await raise(raised, [planned(), planned({ action: 1, sink: 'mail', lane: 'mail' })])).toBe(true);
    const detail = await store.notice(raised.id);
    expect(detail).toMatchObject({ notice: raised, configId });
    expect(detail?.deliveries).toMatchObject([
      {
        id: `dlv_${raised.id.slice(4)}_1`,
        eventId: null,
        noticeId: raised.id,
        state: 'pending',
        createdAt: t0,
      },
      { id: `dlv_${raised.id.slice(4)}_2`, sink: 'mail', message: null, history: [] },
    ]);
    expect(await store.delivery(`dlv_${raised.id.slice(4)}_2`)).toMatchObject({
      noticeId: raised.id,
      configId,
    });
    expect(await store.notice('ntc_nobody')).toBeNull();
  });

  test('lists what is dead or held of notices, and nothing of events', async () => {
    const [dead, held, open] = [notice(), notice(), notice()];
    await store.accept(arrival());
    for (const one of [dead, held, open]) await raise(one);
    for (const claim of await claimDue(store, t0, undefined, 3))
      await store.record([resultOf(claim, claim.notice?.id === held.id ? unknown : rejected)]);
    const found = await store.stuckNotices();
    expect(found).toMatchObject([
      { notice: dead, delivery: { noticeId: dead.id, state: 'dead', lastError: 'No such channel.' } },
      { notice: held, delivery: { noticeId: held.id, state: 'held' } },
    ]);
  });

  test('keeps at most one notice for each cause within the quiet time, over restarts and processes too', async () => {
    expect(await raise(ofSink(t0))).toBe(true);
    expect(await raise(ofSink(t0 + hour - 1))).toBe(false);
    expect(await raise(ofSink(t0, 'mail'))).toBe(true);
    const other = await home.open();
    expect(await raise(ofSink(t0 + hour - 1), [planned()], other)).toBe(false);
    await store.close();
    const raced = await Promise.all([1, 2, 3].map(() => raise(ofSink(t0 + hour), [planned()], other)));
    expect(raced.filter((kept) => kept)).toHaveLength(1);
    expect(await other.notices({})).toHaveLength(3);
  });

  test('goes on with notices when the clock was set back', async () => {
    await raise(notice({ cause: 'c', raisedAt: t0 + 400 * day }));
    expect(await raise(notice({ cause: 'c', raisedAt: t0 }))).toBe(true);
  });

  test('knows when each cause was last told of', async () => {
    expect(await store.lastRaised()).toEqual(new Map());
    for (const raisedAt of [t0, t0 + hour, t0 + 2 * hour]) await raise(ofSink(raisedAt));
    await raise(ofSink(t0 + 5, 'mail'));
    const told = new Map([
      ['dead mail', t0 + 5],
      ['dead slack', t0 + 2 * hour],
    ]);
    expect(await store.lastRaised()).toEqual(told);
  });

  test('lists notices newest first, and never among events', async () => {
    const [old, recent, newest] = [t0, t0 + 1, t0 + 2].map((raisedAt) => notice({ raisedAt }));
    for (const one of [old!, recent!, newest!]) await raise(one);
    const ids = async (filter: Parameters<typeof store.notices>[0]) =>
      (await store.notices(filter)).map((story) => story.notice.id);
    expect(await ids({})).toEqual([newest!.id, recent!.id, old!.id]);
    expect(await ids({ since: t0 + 1, limit: 5 })).toEqual([newest!.id, recent!.id]);
    expect(await ids({ limit: 1 })).toEqual([newest!.id]);
    expect(await ids({ after: newest!.id, since: t0 + 1 })).toEqual([recent!.id]);
    expect((await store.notices({}))[0]?.deliveries).toEqual([
      await store.delivery(`dlv_${newest!.id.slice(4)}_1`),
    ]);
    expect(await store.events({})).toEqual([]);
    expect(await store.lastEventAt()).toBeNull();
  });

  test('counts, lists, replays and discards deliveries of notices', async () => {
    const raised = notice();
    await raise(raised, [planned(), planned()]);
    const claimed = await claimDue(store);
    await store.record(claimed.map((one) => resultOf(one, rejected)));
    const [first, second] = claimed.map(({ delivery }) => delivery.id);
    const [event] = await carriedOut(store, [rejected]);
    const dead = await store.deliveries({ states: ['dead'], since: t0 });
    expect(dead.map(({ id }) => id)).toEqual([event, first, second]);
    const after = await store.deliveries({ states: ['dead'], after: first! });
    expect(after.map(({ id }) => id)).toEqual([second]);
    await store.replay([{ deliveryId: first!, configId, planned: planned() }], t0 + 1, person);
    await store.discard([second!], t0, person);
    expect((await store.notice(raised.id))?.deliveries.map(({ state }) => state)).toEqual([
      'pending',
      'discarded',
    ]);
    expect(await store.counts()).toMatchObject([
      { planned: 3, states: { pending: 1, discarded: 1, dead: 1 } },
    ]);
  });

  test('prunes old notices whose deliveries are all over', async () => {
    await store.saveConfig({ id: 'cfg_old', source: {}, savedAt: t0 });
    const over = notice();
    await store.raise({ notice: over, configId: 'cfg_old', deliveries: [planned()], quietMs: hour });
    await raise(notice(), [planned({ dueAt: t0 + day })]);
    await raise(notice({ raisedAt: t0 + 6 }), []);
    const [claimed] = await claimDue(store);
    await store.record([resultOf(claimed!, delivered)]);
    await carriedOut(store, [delivered]);
    const other = await home.open();
    expect(await prune(other, t0 + 1)).toBe(0);
    expect(await prune(other, t0 + 6, 2)).toBe(2);
    expect(await store.events({})).toEqual([]);
    expect(await store.notices({})).toHaveLength(2);
    expect(await store.delivery(claimed!.delivery.id)).toBeNull();
    expect(await other.config('cfg_old')).toBeNull();
  });

  test('sums up by sink what was held since a time, notices apart', async () => {
    expect(await store.heldSince(0)).toEqual([]);
    const [first] = await carriedOut(store, [unknown, delivered, unknown, rejected]);
    await carriedOut(store, [unknown], t0 + minute);
    const ended = t0 + 5;
    const held = {
      sink: 'slack',
      state: 'held',
      cause: '',
      count: 3,
      doubtful: 3,
      firstAt: ended,
      reason: 'No answer within 10 s.',
    };
    expect(await store.heldSince(ended - 1)).toEqual([held]);
    expect(await store.heldSince(ended)).toEqual([
      { ...held, count: 1, doubtful: 1, firstAt: ended + minute },
    ]);
    await store.discard([first!], t0, person);
    expect(await store.heldSince(ended - 1)).toEqual([{ ...held, count: 2, doubtful: 2 }]);
  });

  test('sums up by sink and cause what went dead since a time, notices apart', async () => {
    expect(await store.deadSince(0)).toEqual([]);
    const later: Rejected = { ...rejected, detail: 'The channel is archived.' };
    const [first] = await carriedOut(store, [rejected, delivered, rejected]);
    await carriedOut(store, [later], t0 + minute);
    await store.accept(arrival({}, { deliveries: [planned({ sink: 'mail', lane: 'mail' })] }));
    await raise(notice());
    const claimed = [...(await claimDue(store)), ...(await claimDue(store, t0, 'mail'))];
    await store.record(
      claimed.map((one, place) => resultOf(one, rejected, { uncertain: place === claimed.length - 1 })),
    );
    const ended = t0 + 5;
    const cause = 'not_found in completed 0';
    const dead = { state: 'dead', cause, firstAt: ended };
    const mail = { ...dead, sink: 'mail', count: 1, doubtful: 1, reason: rejected.detail };
    const slack = { ...dead, sink: 'slack', count: 3, doubtful: 0, reason: later.detail };
    // They may be of another channel: whoever discards all by the newest reason would lose those.
    const reason = `${later.detail} That is the newest of 2 reasons: look at the others, too.`;
    expect(await store.deadSince(ended - 1)).toEqual([mail, { ...slack, reason }]);
    expect(await store.deadSince(ended)).toEqual([{ ...slack, count: 1, firstAt: ended + minute }]);
    expect(await store.deadSince(ended + minute)).toEqual([]);
    await store.replay([{ deliveryId: first!, configId, planned: planned() }], t0 + day, person);
    expect(await store.deadSince(ended - 1)).toEqual([mail, { ...slack, count: 2, reason }]);
  });

  test('counts among the dead what was delivered and missed somebody, until a time', async () => {
    await store.accept(arrival({}, { deliveries: [planned(), planned({ action: 1 })] }));
    const [missed, whole] = await claimDue(store);
    const note = 'Left out: "robin".';
    await store.record([
      resultOf(missed!, { ...delivered, note, missed: true }),
      resultOf(whole!, delivered),
    ]);
    const count = {
      sink: 'slack',
      state: 'delivered',
      cause: 'missed in completed 0',
      count: 1,
      doubtful: 0,
      firstAt: t0 + 5,
      reason: note,
    };
    expect(await store.deadSince(t0)).toEqual([count]);
    expect(await store.deadSince(t0 + 5)).toEqual([]);
    expect(await store.deadSince(t0 + 5, t0)).toEqual([count]);
    expect(await store.deadSince(t0, t0 + 5)).toEqual([]);
    // What was said before is not hidden.
    const later = 'The tab was made anew.';
    await store.accept(arrival({}, { deliveries: [planned()] }));
    const [next] = await claimDue(store);
    await store.record([resultOf(next!, { ...delivered, note: later, missed: true })]);
    expect(await store.deadSince(t0)).toEqual([count, { ...count, reason: later }]);
  });

  test('tells causes apart: by the reason, and by the rule and action where the tool refused what they send', async () => {
    const dead = async (outcome: Outcome, changes: Partial<PlannedDelivery> = {}) => {
      await store.accept(arrival({}, { deliveries: [planned(changes)] }));
      const claimed = await claimDue(store);
      await store.record(claimed.map((one) => resultOf(one, outcome, { state: 'dead', dueAt: null })));
    };
    await dead(rejected);
    await dead({ ...rejected, detail: 'No such channel either.' });
    await dead({ ...rejected, reason: 'auth' });
    await dead(rejected, { action: 1 });
    await dead(rejected, { rule: 'other' });
    await dead(retry);
    await dead(retry, { rule: 'other' });
    const digest = { group: 'g', groupMax: 2 };
    await store.accept(arrival({}, { deliveries: [planned(digest), planned(digest)] }));
    const carried = await claimDue(store);
    await store.record(carried.map((one) => resultOf(one, unknown, { state: 'dead' })));
    const counts = (await store.deadSince(0)).map(({ cause, count }) => [cause, count]);
    expect(Object.fromEntries(counts)).toEqual({
      'auth in completed 0': 1,
      'not_found in completed 0': 2,
      'not_found in completed 1': 1,
      'not_found in other 0': 1,
      server: 2,
      timeout: 2,
    });
    for (const [cause = '', many] of counts as [string, number][])
      expect(await store.deliveries({ states: ['dead'], cause })).toHaveLength(many);
    expect(await store.deliveries({ states: ['dead'], cause: 'server', sink: 'mail' })).toEqual([]);
  });
}
