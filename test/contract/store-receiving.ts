import { expect, test } from 'vitest';
import { deliveryId } from '../../src/support/ids.ts';
import { candidateKey } from '../../src/store/rows.ts';
import type { RefusedEvents, WholeRefusedEvent } from '../../src/model/notices.ts';
import type { Acceptance, Arrival } from '../../src/store/store.ts';
import { seeded } from '../faults/random.ts';
import { home, store } from './store-bench.ts';
import { arrival, claimDue, configId, day, idsOf, person, planned, prune, t0 } from './store-fixtures.ts';
import { StoreModel } from './store-model.ts';

const untouched = {
  noticeId: null,
  configId,
  state: 'pending',
  carrier: null,
  createdAt: t0,
  since: t0,
  attempts: 0,
  firstAttemptAt: null,
  uncertain: false,
  replayed: false,
  composedAt: null,
  resendOf: null,
  progress: null,
  receipt: null,
  lastError: null,
  message: null,
  history: [],
};

const rejectedRequest = (n: number) => ({
  receivedAt: t0 + n,
  address: '::1',
  correlationId: n % 2 ? null : 'c',
  status: 422,
  faults: ['testId: expected an integer', 'status: "done" is none'],
  body: `{"n": ${n}`,
});

const refusal = (from: string, changes: Partial<RefusedEvents> = {}): RefusedEvents => ({
  reason: 'address',
  from,
  count: 1,
  first: t0,
  last: t0,
  ...changes,
});

let refusedSoFar = 0;

/** A refused event of a candidate nobody saw before. */
function keptFrom(from: string, changes: Partial<WholeRefusedEvent> = {}): WholeRefusedEvent {
  const n = (refusedSoFar += 1);
  return {
    id: `rej_${String(n).padStart(26, '0')}`,
    at: t0,
    from,
    reason: 'address',
    candidateId: `refused-${n}`,
    candidateNumericalId: n,
    testId: 1,
    status: 'Completed',
    correlationId: null,
    attempts: 1,
    raw: `{"candidateId":"refused-${n}"}`,
    ...changes,
  };
}

export function receiving(): void {
  test('finds a candidate by a number that came with a repeat alone, and keeps one that came before', async () => {
    const come = (candidateNumericalId: number | null) =>
      store.accept(arrival({ candidateId: 'dana', candidateNumericalId }));
    expect((await come(null)).duplicate).toBe(false);
    for (const number of [null, 20970, 4711]) expect((await come(number)).duplicate).toBe(true);
    expect(await store.candidatesMeant('20970')).toEqual({ ids: ['dana'] });
    expect(await store.candidatesMeant('4711', false)).toEqual({ ids: ['4711'] });
  });

  test('takes an event in by hand with a line in the audit, and not where there is one of its content', async () => {
    const content = { candidateId: '77', testId: 1, status: 'Completed' } as const;
    const byHand = { action: 'reconcile', by: person } as const;
    expect(await store.haveCome([content])).toEqual([false]);
    const other = await home.open();
    const taken = await Promise.all(
      [store, other, store].map((one) =>
        one.accept(arrival({ ...content, correlationId: null }, { windowMs: Infinity, byHand })),
      ),
    );
    expect(taken.filter(({ duplicate }) => duplicate)).toHaveLength(2);
    expect(await store.haveCome([content, { ...content, status: 'Canceled' }])).toEqual([true, false]);
    const [canceled, last] = [{ ...content, status: 'Canceled' } as const, Number.MAX_SAFE_INTEGER];
    const older = [
      { ...content, at: 0 },
      { ...canceled, at: 0 },
      { ...canceled, at: last },
    ];
    expect(await store.haveFollowers(older)).toEqual([false, true, false]);
    const { eventId } = taken[0]!;
    expect((await store.event(eventId))?.duplicates).toEqual([]);
    expect(await store.audit({ about: eventId })).toMatchObject([
      { action: 'reconcile', deliveries: [deliveryId(eventId, 1)] },
    ]);
    expect(await store.audit({})).toHaveLength(1);

    await store.accept(arrival({ candidateId: 'Kim', candidateNumericalId: 12 }));
    await store.accept(arrival({ candidateId: 'Robin', candidateNumericalId: 12 }));
    await store.accept(arrival({ candidateId: 'Dana', candidateNumericalId: 77 }));
    const found = await store.candidatesNumbered([77, 12, 13]);
    expect(Array.from(found, ([number, ids]) => [number, ids.toSorted()])).toEqual([
      [77, ['77']],
      [12, ['Kim', 'Robin']],
    ]);
  });

  test('counts refused events by reason and source, until they are put away', async () => {
    await store.keepRefused([refusal('a', { first: t0 + 2, last: t0 + 3, count: 4 })]);
    const other = await home.open();
    const more = [refusal('a'), refusal('b'), refusal('a', { reason: 'store', last: t0 + 9 })];
    await Promise.all(more.map((one, place) => (place % 2 ? other : store).keepRefused([one])));
    const [a, b, ofStore] = [refusal('a', { count: 5, last: t0 + 3 }), refusal('b'), more[2]!];
    expect(await store.refused()).toEqual([a, b, ofStore]);

    expect(await other.ignoreRefused({ until: t0 }, t0, person)).toEqual({ totals: [b], events: 0 });
    expect(await store.ignoreRefused({ from: 'a', reason: 'store' }, t0, person)).toMatchObject({
      totals: [ofStore],
    });
    expect(await store.ignoreRefused({ reason: 'token' }, t0, person)).toMatchObject({ totals: [] });
    expect(await store.refused()).toEqual([a]);
    expect(await store.ignoreRefused({}, t0, person)).toMatchObject({ totals: [a] });
    expect(await store.refused()).toEqual([]);
    expect((await store.audit({})).map(({ action }) => action)).toEqual(['ignore', 'ignore', 'ignore']);
  });

  test('keeps 50 sources of refused events for each reason, and the sum of all others', async () => {
    const flood = Array.from({ length: 80 }, (_, n) => refusal(`198.51.100.${n}`));
    await store.keepRefused(flood.slice(0, 30));
    await store.keepRefused([...flood, refusal('a', { reason: 'token' })]);
    const totals = await store.refused();
    expect(totals).toHaveLength(52);
    expect(totals.slice(0, 2)).toMatchObject([{ count: 30, from: 'others' }, { count: 2 }]);
    expect(totals.at(-1)).toEqual(refusal('a', { reason: 'token' }));
  });

  test('keeps a refused event whole and once, until it is put away with what was counted of it', async () => {
    const other = await home.open();
    const [first, second] = [
      keptFrom('a'),
      keptFrom('a', { candidateId: 'Robin', raw: JSON.stringify({ hostile: '\0' }) }),
    ];
    await store.keepRefused([refusal('a', { count: 4 }), refusal('others', { count: 2 })]);
    await store.keepRefusedEvents([first, second]);
    // The sender tries again, by then with another token.
    await Promise.all([
      other.keepRefusedEvents([{ ...first, id: 'rej_z', at: t0 + 5, reason: 'token', attempts: 2 }]),
      store.keepRefusedEvents([keptFrom('b', { at: t0 + 9 })]),
    ]);
    const { raw: _, ...listed } = second;
    expect(await store.refusedEvents({ reason: 'address', until: t0 })).toEqual([listed]);
    expect(await store.refusedEvents({ from: 'a' })).toMatchObject([
      { id: second.id, attempts: 1 },
      { id: first.id, at: t0 + 5, attempts: 3, reason: 'token' },
    ]);
    expect(await store.refusedEvent(second.id)).toEqual(second);
    expect(await store.refusedEvent('rej_z')).toBeNull();

    const doing = { action: 'ignore', at: t0, by: person } as const;
    expect(await store.putAwayRefused([second.id, 'rej_z'], doing)).toEqual([listed]);
    expect(await store.putAwayRefused([second.id], doing)).toEqual([]);
    expect(await store.refused()).toMatchObject([{ from: 'a', count: 3 }, { from: 'others' }]);
    expect(await store.ignoreRefused({ from: 'b' }, t0, person)).toEqual({ totals: [], events: 1 });
    expect(await store.refused()).toMatchObject([{ count: 3 }, { from: 'others', count: 1 }]);
    expect(await store.audit({})).toHaveLength(2);
    await store.pruneRefused(t0 + 6);
    expect(await store.refusedEvents({})).toEqual([]);
  });

  test('keeps 50 refused events of a source and 1000 in all; the oldest of the busiest goes first', async () => {
    const ofOne = Array.from({ length: 60 }, () => keptFrom('busy'));
    const alone = keptFrom('alone', { id: 'rej_0' });
    await store.keepRefusedEvents([alone, ...ofOne]);
    expect((await store.refusedEvents({})).map(({ id }) => id).toReversed()).toEqual(
      [alone, ...ofOne.slice(10)].map(({ id }) => id),
    );
    const flood = Array.from({ length: 979 }, (_, n) => keptFrom(`198.51.${n}`));
    for (let from = 0; from < flood.length; from += 245)
      await store.keepRefusedEvents(flood.slice(from, from + 245));
    const all = await store.refusedEvents({});
    expect(all).toHaveLength(1_000);
    const oldest = all.slice(979).map(({ id }) => id);
    expect(oldest.toReversed()).toEqual([alone, ...ofOne.slice(40)].map(({ id }) => id));
  });

  test('keeps an event with its deliveries, whole', async () => {
    const deliveries = [
      planned(),
      planned({ action: 1, sink: 'mail', connector: 'email', lane: 'mail', group: 'g', groupMax: 5 }),
    ];
    const came = arrival({}, { deliveries });
    const acceptance = await store.accept(came);
    expect(acceptance).toMatchObject({ eventId: came.event.id, duplicate: false, correlationReused: false });
    const detail = await store.event(came.event.id);
    expect(detail).toEqual({
      event: came.event,
      configId,
      decided: true,
      lookups: [],
      duplicates: [],
      deliveries: deliveries.map((delivery, index) =>
        Object.assign(delivery, untouched, {
          id: deliveryId(came.event.id, index + 1),
          eventId: came.event.id,
        }),
      ),
    });
  });

  test('keeps hostile strings as they are', async () => {
    const candidateId = `'; drop table events; -- <!channel> =1+1 \r\n \u202E 𝒜 "$1" ?1`;
    const { eventId } = await store.accept(arrival({ candidateId, candidateNumericalId: null }));
    const detail = await store.event(eventId);
    expect(detail?.event).toMatchObject({ candidateId, raw: { candidateId }, candidateNumericalId: null });
    expect(await store.accept(arrival({ candidateId }))).toMatchObject({ duplicate: true, eventId });
  });

  test('takes the same content under the same correlation id as a retry, however late', async () => {
    const first = arrival();
    await store.accept(first);
    const retry = arrival({ ...first.event, id: 'evt_retry', receivedAt: t0 + 400 * day });
    expect(await store.accept(retry)).toMatchObject({
      eventId: first.event.id,
      duplicate: true,
      correlationReused: false,
    });
  });

  test('takes the same content under another correlation id, or none, as a duplicate within the window', async () => {
    const first = arrival();
    await store.accept(first);
    const { candidateId } = first.event;
    for (const correlationId of ['another', null]) {
      const again = arrival({ candidateId, correlationId, receivedAt: t0 + day - 1 });
      expect(await store.accept(again)).toMatchObject({ eventId: first.event.id, duplicate: true });
    }
    const later = arrival({ candidateId, receivedAt: t0 + day });
    expect(await store.accept(later)).toMatchObject({ eventId: later.event.id, duplicate: false });
  });

  test('counts the window from the event, not from its last duplicate', async () => {
    const first = arrival();
    await store.accept(first);
    const { candidateId } = first.event;
    await store.accept(arrival({ candidateId, receivedAt: t0 + day - 1 }));
    const later = await store.accept(arrival({ candidateId, receivedAt: t0 + day + 1 }));
    expect(later.duplicate).toBe(false);
  });

  test('takes both variants of the payload as one content', async () => {
    const first = arrival({ candidateNumericalId: 7 });
    await store.accept(first);
    const other = arrival({ candidateId: first.event.candidateId, candidateNumericalId: null });
    expect(await store.accept(other)).toMatchObject({ eventId: first.event.id, duplicate: true });
  });

  test('takes another test or another status as another content', async () => {
    const { event } = arrival();
    await store.accept(arrival(event));
    const otherTest = await store.accept(arrival({ candidateId: event.candidateId, testId: 2 }));
    const otherStatus = await store.accept(arrival({ candidateId: event.candidateId, status: 'Canceled' }));
    expect([otherTest.duplicate, otherStatus.duplicate]).toEqual([false, false]);
  });

  test('tells candidates apart that a short key takes for one', async () => {
    const [one, other] = ['candidate-5hexe', 'candidate-d777h'];
    expect(candidateKey(one)).toBe(candidateKey(other));
    await store.accept(arrival({ candidateId: one }));
    expect(await store.accept(arrival({ candidateId: other }))).toMatchObject({ duplicate: false });
    expect(await store.events({ candidates: { ids: [one] } })).toHaveLength(1);
  });

  test('knows the retry of a duplicate by its correlation id, also after the window', async () => {
    const first = arrival();
    await store.accept(first);
    const { candidateId } = first.event;
    await store.accept(arrival({ candidateId, correlationId: 'twice', receivedAt: t0 + 5 }));
    const retry = arrival({ candidateId, correlationId: 'twice', receivedAt: t0 + 2 * day });
    expect(await store.accept(retry)).toMatchObject({ eventId: first.event.id, duplicate: true });
  });

  test('counts a retry on the event that it repeats, also where a later one has the same content', async () => {
    const first = arrival();
    const second = arrival({ candidateId: first.event.candidateId, receivedAt: t0 + 2 * day });
    await store.accept(first);
    await store.accept(second);
    const retries = [
      await store.accept(arrival({ ...first.event, id: 'evt_r1', receivedAt: t0 + 2 * day + 1 })),
      await store.accept(arrival({ ...second.event, id: 'evt_r2', receivedAt: t0 + 9 * day })),
    ];
    expect(retries.map(({ eventId }) => eventId)).toEqual([first.event.id, second.event.id]);
  });

  test('takes the same correlation id with other content as a new event, and says so', async () => {
    await store.accept(arrival({ correlationId: 'shared' }));
    const other = arrival({ correlationId: 'shared' });
    expect(await store.accept(other)).toMatchObject({ duplicate: false, correlationReused: true });
    const retry = await store.accept(arrival({ ...other.event, id: 'evt_retry' }));
    expect(retry).toMatchObject({ eventId: other.event.id, duplicate: true, correlationReused: false });
  });

  test('notices a correlation id with other content after a restart', async () => {
    await store.accept(arrival({ correlationId: 'shared' }));
    await store.close();
    const reopened = await home.open();
    expect((await reopened.accept(arrival({ correlationId: 'shared' }))).correlationReused).toBe(true);
  });

  test('makes one event of twins in the same moment', async () => {
    const twins = Array.from({ length: 20 }, (_, index) =>
      arrival({ candidateId: 'twin', correlationId: `c${index % 3}` }),
    );
    const acceptances = await Promise.all(twins.map((twin) => store.accept(twin)));
    expect(acceptances.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    expect(new Set(acceptances.map(({ eventId }) => eventId)).size).toBe(1);
    expect(await claimDue(store)).toHaveLength(1);
  });

  test('decides about many at once as if they came one by one', async () => {
    const random = seeded(1);
    const oneOf = (count: number) => Math.floor(random() * count);
    const many = Array.from({ length: 200 }, () =>
      arrival({
        candidateId: `twin ${oneOf(5)} "\\{}`,
        status: oneOf(2) === 0 ? 'Completed' : 'Canceled',
        correlationId: oneOf(3) === 0 ? null : `c${oneOf(20)}`,
        receivedAt: t0 + oneOf(5) * day,
      }),
    );
    const model = new StoreModel();
    const expected = many.map((one) => model.accept(one));
    const accepted = await Promise.all(many.map((one) => store.accept(one)));
    const decided = ({ eventId, duplicate }: Acceptance) => ({ eventId, duplicate });
    expect(accepted.map(decided)).toEqual(expected.map(decided));
    const stories = await store.events({ limit: 1000 });
    const found = new Map(stories.map(({ event, duplicates }) => [event, duplicates]));
    const kept = model.events.map(
      ({ arrival: { event }, duplicates }) => [event, duplicates.length] as const,
    );
    expect(found).toEqual(new Map(kept));
    expect(await store.deliveries({ states: ['pending'], limit: 1000 })).toHaveLength(kept.length);
  });

  test('makes one event of twins that come in through two processes', async () => {
    const other = await home.open();
    const acceptances = await Promise.all(
      [store, other, store, other].map((one) => one.accept(arrival({ candidateId: 'twin' }))),
    );
    expect(acceptances.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    expect(new Set(acceptances.map(({ eventId }) => eventId)).size).toBe(1);
  });

  test('shows a duplicate on its event, and does nothing else for it', async () => {
    const first = arrival();
    const acceptance = await store.accept(first);
    const { candidateId } = first.event;
    await store.accept(arrival({ candidateId, correlationId: 'later', receivedAt: t0 + 9 }));
    await store.accept(arrival({ candidateId, correlationId: null, receivedAt: t0 + 11 }));
    const detail = await store.event(first.event.id);
    expect(detail?.duplicates).toEqual([
      { receivedAt: t0 + 9, correlationId: 'later' },
      { receivedAt: t0 + 11, correlationId: null },
    ]);
    expect((await store.events({}))[0]?.duplicates).toBe(2);
    const claimed = await claimDue(store, t0 + day);
    expect(claimed.map(({ delivery }) => delivery.id)).toEqual(idsOf(acceptance));
  });

  test('refuses an event under a config that was never saved, without failing its neighbours', async () => {
    const good = [arrival(), arrival()];
    const [first, bad, last] = await Promise.allSettled([
      store.accept(good[0]!),
      store.accept(arrival({ id: 'evt_bad' }, { configId: 'cfg_nobody_knows' })),
      store.accept(good[1]!),
    ]);
    expect([first.status, bad.status, last.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(bad).toMatchObject({ reason: { message: expect.stringContaining('cfg_nobody_knows') } });
    expect(await store.event('evt_bad')).toBeNull();
    expect(await claimDue(store)).toHaveLength(2);
  });

  test('keeps the newest of the rejected requests', async () => {
    await Promise.all([1, 2, 3, 4, 5].map((n) => store.keepRejected(rejectedRequest(n), 3)));
    const kept = await store.rejectedRequests({});
    expect(kept).toMatchObject([5, 4, 3].map(rejectedRequest));
    const [first, ...others] = kept;
    expect(await store.rejectedRequests({ limit: 1 })).toEqual([first]);
    expect(await store.rejectedRequests({ after: first!.seq })).toEqual(others);
  });

  test('keeps rejected requests, which name candidates, no longer than events', async () => {
    for (const n of [1, 2, 3]) await store.keepRejected(rejectedRequest(n), 9);
    await prune(store, rejectedRequest(2).receivedAt);
    expect(await store.rejectedRequests({})).toMatchObject([3, 2].map(rejectedRequest));
  });

  test('counts the rejected requests by source, without those that lack a correlation id', async () => {
    const from = (n: number, address: string) => store.keepRejected({ ...rejectedRequest(n), address }, 9);
    await from(2, 'a');
    await from(3, 'a');
    await from(4, 'b');
    await from(6, 'b');
    await from(8, 'b');
    const content = { reason: 'content', last: t0 + 8 } as const;
    expect(await store.rejectedSince(t0 + 2)).toEqual([
      { ...content, from: 'b', count: 3, first: t0 + 4 },
      { ...content, from: 'a', count: 1, first: t0 + 2, last: t0 + 2 },
    ]);
    expect(await store.rejectedSince(t0 + 5)).toEqual([{ ...content, from: 'b', count: 2, first: t0 + 6 }]);
  });

  test('counts the events that were rejected after a time once each, however often they came', async () => {
    for (const [n, correlationId] of ['a', 'a', 'b', null, 'b'].entries())
      await store.keepRejected({ ...rejectedRequest(n + 1), correlationId }, 9);
    const unread = (since: number, now = 9) => store.unreadSince(t0 + since, t0 + now);
    expect([await unread(0), await unread(2), await unread(5)]).toEqual([2, 1, 0]);
    // What a clock that was ahead has stored counts when it is time.
    expect([await unread(0, 2), await unread(0, 0)]).toEqual([1, 0]);
    const accept = (receivedAt: number, correlationId: string | null, changes: Partial<Arrival> = {}) =>
      store.accept(arrival({ receivedAt: t0 + receivedAt, correlationId }, changes));
    await accept(2, 'c');
    await accept(6, null);
    // It came before the others, and was refused for its address.
    await accept(7, 'e', { byHand: { action: 'accept', by: person } });
    await accept(20, 'd');
    expect([await unread(0), await unread(0, 20)]).toEqual([1, 0]);
  });

  test('counts each request that could not be read as an event whose correlation id nobody knows', async () => {
    for (const [n, correlationId] of ['', '', null, 'a'].entries())
      await store.keepRejected({ ...rejectedRequest(n + 1), correlationId }, 9);
    expect(await store.unreadSince(t0, t0 + 9)).toBe(3);
    expect(await store.rejectedSince(t0)).toMatchObject([{ count: 3 }]);
    const kept = await store.rejectedRequests({});
    expect(kept.map(({ correlationId }) => correlationId)).toEqual(['a', null, null, null]);
  });

  test('finds the rejected requests that may be about a candidate', async () => {
    const bodies = [
      '{"candidateId":"ab%\\"C-1"}',
      '{"candidateId":"6f1c2d3e4a5b4c6d8e7f0a1b2c3d4e5f"}',
      '4711',
    ];
    for (const [n, body] of bodies.entries()) await store.keepRejected({ ...rejectedRequest(n), body }, 9);
    const found = async (about: string) =>
      (await store.rejectedRequests({ about })).map(({ body }) => bodies.indexOf(body));
    expect(await found(' #4711')).toEqual([2]);
    expect(await found('ab%"C')).toEqual([0]);
    expect(await found('6F1C2D3E-4A5B-')).toEqual([1]);
    expect(await found('abC')).toEqual([]);
    expect(await found('4712')).toEqual([]);
  });
}
