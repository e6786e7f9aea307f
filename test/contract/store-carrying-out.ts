import { describe, expect, test } from 'vitest';
import type { Delivery } from '../../src/model.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import { home, store } from './store-bench.ts';
import {
  arrival,
  claimDue,
  configId,
  day,
  delivered,
  idsOf,
  minute,
  person,
  planned,
  receipt,
  rejected,
  resultOf,
  retry,
  t0,
  unknown,
} from './store-fixtures.ts';

export function carryingOut(): void {
  const accept = async (...deliveries: Parameters<typeof planned>[0][]) => {
    const acceptance = await store.accept(arrival({}, { deliveries: deliveries.map(planned) }));
    return idsOf(acceptance, deliveries.length);
  };
  const putOff = (deliveryId: string, attempt: number, claimedAt: number, until: number, now = claimedAt) =>
    store.defer([{ deliveryId, attempt, claimedAt, until }], now);
  const claimIds = async (now = t0, lane?: string, limit?: number) =>
    (await claimDue(store, now, lane, limit)).map(({ delivery }) => delivery.id);

  test('looks and claims from a delivery on, in the order of claims', async () => {
    const ids = await accept({ dueAt: t0 + 2 }, { dueAt: t0 + 1 }, { dueAt: t0 + 1 }, { dueAt: t0 });
    await accept({ lane: 'other' });
    const [first] = await store.lanes();
    expect(first).toMatchObject({ lane: 'other', dueAt: t0 });
    const lane = 'slack #hiring';
    const [head] = await store.lanes([{ lane, sink: 'slack', dueAt: t0, seq: first!.seq }]);
    expect(head).toMatchObject({ lane, dueAt: t0 + 1 });
    const [next] = await store.lanes([{ ...head!, seq: head!.seq + 1 }]);
    expect(next).toEqual({ ...head, seq: head!.seq + 1 });
    const claimed = await store.claim({ lane, now: t0 + 9, limit: 9, from: next! });
    expect(claimed.map(({ delivery }) => delivery.id)).toEqual([ids[2], ids[0]]);
    expect(await store.lanes([{ ...next!, dueAt: t0 + 2 }])).toEqual([]);
    expect(await claimIds(t0 + 9)).toEqual([ids[3], ids[1]]);
  });

  test('claims the newest that was never attempted, when asked to, and without any the oldest', async () => {
    const ids = await accept({ dueAt: t0 + 2 }, { dueAt: t0 + 5 }, { dueAt: t0 + 3 }, { dueAt: t0 + 9 });
    const attempt = async () => {
      const query = { lane: 'slack #hiring', now: t0 + 8, limit: 1, untriedFirst: true };
      const [claimed] = await store.claim(query);
      await store.record([resultOf(claimed!, retry, { dueAt: t0 + 8 - claimed!.delivery.attempts })]);
      return claimed?.delivery.id;
    };
    expect(await attempt()).toBe(ids[1]);
    expect(await attempt()).toBe(ids[2]);
    expect(await attempt()).toBe(ids[0]);
    expect(await attempt()).toBe(ids[0]);
    expect(await attempt()).toBe(ids[0]);
  });

  test('keeps what a person replayed marked as such until nobody knows what became of it', async () => {
    const [id] = await accept({});
    const claimAndRecord = async (now: number, outcome: Outcome) => {
      const [claimed] = await claimDue(store, now);
      await store.record([resultOf(claimed!, outcome, { state: 'pending', dueAt: now })]);
      return (await store.delivery(id!))?.replayed;
    };
    const [first] = await claimDue(store);
    await store.record([resultOf(first!, rejected)]);
    await store.replay([{ deliveryId: id!, configId, planned: planned() }], t0 + 1, person);
    expect(await store.delivery(id!)).toMatchObject({ replayed: true });
    expect(await claimAndRecord(t0 + 1, retry)).toBe(true);
    expect(await claimAndRecord(t0 + 1, unknown)).toBe(false);
  });

  test('keeps when a message was composed that may have arrived, also where it waits or is tried again, until it is known or replayed', async () => {
    const [id] = await accept({});
    const composedAt = async () => (await store.delivery(id!))?.composedAt;
    const tried = async (now: number, outcome: Outcome, result: Parameters<typeof resultOf>[2]) => {
      const [claimed] = await claimDue(store, now);
      const attempt = { number: claimed!.delivery.attempts, startedAt: now, endedAt: now, outcome };
      await store.record([resultOf(claimed!, outcome, { attempt, ...result })]);
      return composedAt();
    };
    const again = { state: 'pending', dueAt: t0 + 1 } as const;
    expect(await tried(t0, retry, { ...again, uncertain: false })).toBeNull();
    expect(await tried(t0 + 1, unknown, again)).toBe(t0 + 1);
    const [early] = await claimDue(store, t0 + 2);
    await putOff(id!, early!.delivery.attempts, early!.claimedAt, t0 + day);
    expect(await tried(t0 + day, unknown, again)).toBe(t0 + 1);
    await claimDue(store, t0 + day);
    await store.rescue(t0 + day, 0);
    expect(await composedAt()).toBe(t0 + 1);
    expect(await tried(t0 + day, rejected, { uncertain: true })).toBe(t0 + 1);
    await store.replay([{ deliveryId: id!, configId, planned: planned() }], t0 + 2 * day, person);
    expect(await composedAt()).toBeNull();
    await claimDue(store, t0 + 2 * day);
    await store.rescue(t0 + 3 * day, 0);
    expect(await composedAt()).toBe(t0 + 2 * day);
    expect(await tried(t0 + 3 * day, retry, { ...again, uncertain: false })).toBeNull();
  });

  test('begins deliveries with the commit that stores their event, as a claim would', async () => {
    const deliveries = [planned(), planned({ lane: 'other' }), planned()];
    const came = arrival({}, { deliveries, begins: [{ now: t0 + 2 }, null, { now: t0 + 2 }] });
    const accepted = await store.accept(came);
    const [first, second, third] = idsOf(accepted, 3);
    const { claims } = accepted;
    expect(claims.map((claim) => claim?.delivery.id)).toEqual([first, undefined, third]);
    expect(claims[0]).toMatchObject({ events: [came.event], notice: null, claimedAt: t0 + 2 });
    for (const claim of [claims[0]!, claims[2]!]) {
      expect(claim.delivery).toMatchObject({ state: 'sending', attempts: 1, firstAttemptAt: t0 + 2 });
      expect(await store.delivery(claim.delivery.id)).toEqual(claim.delivery);
    }
    expect(await claimIds()).toEqual([]);
    expect(await claimIds(t0, 'other')).toEqual([second]);
    await store.record([resultOf(claims[0]!, delivered)]);
    expect(await store.delivery(first!)).toMatchObject({ state: 'delivered', receipt });
    expect(await store.rescue(t0 + 3, minute)).toBe(2);
    expect(await store.delivery(third!)).toMatchObject({
      state: 'pending',
      uncertain: true,
      dueAt: t0 + 2 + minute,
    });
    expect(await store.accept(came)).toMatchObject({ duplicate: true, claims: [] });
  });

  test('never gives one delivery to two claims', async () => {
    const other = await home.open();
    await accept(...Array.from({ length: 10 }, () => ({})));
    const claims = await Promise.all(
      [store, other, store, other].map((one) => claimDue(one, t0, undefined, 4)),
    );
    const ids = claims.flat().map(({ delivery }) => delivery.id);
    expect(ids).toHaveLength(10);
    expect(new Set(ids).size).toBe(10);
  });

  const endings: [string, Parameters<typeof resultOf>[1], Partial<Delivery>][] = [
    ['a success with its receipt', delivered, { state: 'delivered', receipt, lastError: null }],
    [
      'a failure that is tried again',
      retry,
      { state: 'pending', dueAt: t0 + minute, lastError: 'It answered 503.' },
    ],
    ['a rejection', rejected, { state: 'dead', dueAt: t0, lastError: 'No such channel.' }],
    ['an unknown outcome', unknown, { state: 'held', uncertain: true }],
  ];
  test.each(endings)('records %s', async (_what, outcome, expected) => {
    const [id] = await accept({});
    const [claimed] = await claimDue(store);
    const result = resultOf(claimed!, outcome, { progress: { done: ['a@example.com'] }, thread: 'k' });
    await store.record([result]);
    const delivery = await store.delivery(id!);
    expect(delivery).toMatchObject({ ...expected, attempts: 1, progress: result.progress });
    const detail = await store.event(delivery!.eventId!);
    expect(detail?.deliveries[0]).toEqual({
      ...delivery,
      message: JSON.parse(result.message!) as unknown,
      history: [result.attempt],
    });
  });

  test('keeps every attempt, and the last message that was sent', async () => {
    await accept({});
    const [first] = await claimDue(store);
    await store.record([resultOf(first!, retry)]);
    const [second] = await claimDue(store, t0 + minute);
    await store.record([resultOf(second!, rejected, { message: null })]);
    const detail = await store.event(first!.events[0]!.id);
    expect(detail?.deliveries[0]?.history.map(({ number, outcome }) => [number, outcome])).toEqual([
      [1, retry],
      [2, rejected],
    ]);
    expect(detail?.deliveries[0]?.message).toEqual({ text: `message of ${first!.delivery.id}` });
  });

  test('ignores a result for a delivery that is not being sent', async () => {
    const [id] = await accept({});
    const pending = await store.delivery(id!);
    const [claimed] = await claimDue(store);
    await putOff(id!, 1, t0, t0);
    await store.record([resultOf(claimed!, delivered)]);
    await store.record([resultOf({ ...claimed!, row: { ...claimed!.row, seq: 7 } }, delivered)]);
    expect(await store.delivery(id!)).toEqual(pending);
  });

  test('ignores the late result of an attempt that was given up since', async () => {
    const [id] = await accept({});
    const [first] = await claimDue(store);
    await store.rescue(t0, 0);
    await claimDue(store);
    await store.record([resultOf(first!, delivered)]);
    expect(await store.delivery(id!)).toMatchObject({ state: 'sending', attempts: 2 });
  });

  test('ignores the late result of a claim that was undone, and whose number the next one has', async () => {
    const [id] = await accept({});
    const [first] = await claimDue(store);
    await putOff(id!, 1, t0, t0 + minute);
    const [again] = await claimDue(store, t0 + minute);
    await store.record([resultOf(first!, retry)]);
    expect(await store.delivery(id!)).toMatchObject({ state: 'sending', attempts: 1 });
    await store.record([resultOf(again!, retry)]);
    expect(await store.delivery(id!)).toMatchObject({ state: 'pending', attempts: 1 });
  });

  describe('a clock that was ahead by 400 days, when it is set right', () => {
    const aheadMs = 400 * day;
    const wrong = t0 + aheadMs;
    const now = t0 + minute;
    const dueOf = async (id: string) => (await store.delivery(id))!.dueAt;
    const acceptAt = async (receivedAt: number, ...plans: Parameters<typeof planned>[0][]) => {
      const deliveries = plans.map(planned);
      return idsOf(await store.accept(arrival({ receivedAt }, { deliveries })), plans.length);
    };

    test('pulls in what it planned, and nothing that a right clock did', async () => {
      const digest = { group: 'g', groupMax: 9 };
      const right = await acceptAt(t0, { dueAt: t0 + 10 * minute }, { dueAt: t0 + 20 * minute, ...digest });
      const far = await acceptAt(
        wrong,
        { dueAt: wrong + 10 * minute },
        { dueAt: wrong + 20 * minute, ...digest },
      );
      expect(await store.pullIn(now, aheadMs)).toBe(2);
      expect(await Promise.all(right.map(dueOf))).toEqual([t0 + 10 * minute, t0 + 20 * minute]);
      // Hours decide again when it is claimed; a digest's window ends as much sooner.
      expect(await Promise.all(far.map(dueOf))).toEqual([now, t0 + 20 * minute]);
      const [delivery] = await claimDue(store, now);
      expect(delivery?.delivery).toMatchObject({ id: far[0], since: now });
    });

    test('pulls in what came before and was planned later by it, though it was set back a little meanwhile', async () => {
      const dueAt = wrong - minute;
      const ids = await acceptAt(t0, { dueAt }, { dueAt, group: 'g', groupMax: 9 });
      expect(await store.pullIn(now, aheadMs)).toBe(2);
      expect(await Promise.all(ids.map(dueOf))).toEqual([now, t0 - minute]);
    });

    test('pulls in what was tried, put off for its hours or replayed by it', async () => {
      const [retried, put, again, gone, kept] = await acceptAt(t0, {}, {}, {}, {}, {});
      const claimed = await claimDue(store, wrong);
      const of = (id?: string) => claimed.find(({ delivery }) => delivery.id === id)!;
      await store.record([
        resultOf(of(retried), retry),
        resultOf(of(again), rejected),
        resultOf(of(gone), delivered),
        resultOf(of(kept), retry, {
          attempt: { number: 1, startedAt: t0, endedAt: t0 + 5, outcome: retry },
          dueAt: t0 + 5 * minute,
        }),
      ]);
      await putOff(put!, 1, wrong, wrong + 600 * minute);
      await store.replay([{ deliveryId: again!, configId, planned: planned() }], wrong + minute, person);
      expect(await store.pullIn(now, aheadMs)).toBe(3);
      const due = await Promise.all([retried, put, again, kept].map((id) => dueOf(id!)));
      expect(due).toEqual([t0 + minute, now, now, t0 + 5 * minute]);
      expect(await store.delivery(retried!)).toMatchObject({ attempts: 1, firstAttemptAt: now });
      expect(await claimIds(now)).toEqual(expect.arrayContaining([retried, put, again]));
    });

    test('pulls in what was tried before and put off for its hours by it, however long that is ago', async () => {
      const [tried] = await acceptAt(t0, {});
      const [claimed] = await claimDue(store, t0);
      const attempt = { number: 1, startedAt: t0, endedAt: t0 + 5, outcome: retry };
      await store.record([resultOf(claimed!, retry, { attempt, dueAt: t0 + minute })]);
      await claimDue(store, wrong + minute);
      await putOff(tried!, 2, wrong + minute, wrong + 10 * minute);
      const later = t0 + 60 * minute;
      expect(await store.pullIn(later, aheadMs)).toBe(1);
      expect(await dueOf(tried!)).toBe(later);
    });

    test('pulls in a digest that was begun as one, and however many there are', async () => {
      const ids = await acceptAt(
        wrong,
        { group: 'g', groupMax: 2, dueAt: wrong },
        { group: 'g', groupMax: 2, dueAt: wrong },
      );
      const [digest] = await claimDue(store, wrong);
      await store.record([resultOf(digest!, retry)]);
      const many = Array.from({ length: 501 }, () => acceptAt(wrong, { dueAt: wrong + minute }));
      await Promise.all(many);
      expect(await store.pullIn(now, aheadMs)).toBe(503);
      expect(await Promise.all(ids.map(dueOf))).toEqual([t0 + minute, t0 + minute]);
      expect(await claimIds(now, undefined, 1000)).toHaveLength(502);
    });

    test('lets what came by it repel its repeats for the window only', async () => {
      const { event } = arrival({ receivedAt: wrong });
      await store.accept(arrival(event));
      const repeat = { ...event, id: 'evt_repeat', correlationId: 'another', receivedAt: now };
      expect(await store.accept(arrival(repeat))).toMatchObject({ duplicate: false });
    });

    test('rescues what it began without waiting for that time', async () => {
      const [id] = await acceptAt(t0, {});
      await claimDue(store, wrong);
      await store.rescue(now, 5000);
      expect(await dueOf(id!)).toBe(now + 5000);
    });
  });

  test('rescues what a process that is gone left under way', async () => {
    const [left] = await accept({});
    await claimDue(store, t0 + 1);
    const [untouched] = await accept({ dueAt: t0 + minute });
    await store.close();
    const next = await home.open();
    expect(await next.rescue(t0 + 50, 30_000)).toBe(1);
    expect(await next.rescue(t0 + 60, 30_000)).toBe(0);
    const delivery = await next.delivery(left!);
    // For when the tool is done with the attempt for certain.
    expect(delivery).toMatchObject({ state: 'pending', uncertain: true, attempts: 1, dueAt: t0 + 30_001 });
    const detail = await next.event(delivery!.eventId!);
    expect(detail?.deliveries[0]?.history).toMatchObject([
      { number: 1, startedAt: t0 + 1, endedAt: t0 + 50, outcome: { outcome: 'unknown' } },
    ]);
    expect(await next.delivery(untouched!)).toMatchObject({ uncertain: false, attempts: 0 });
  });

  test('rescues more than fits into one step', async () => {
    await accept(...Array.from({ length: 1100 }, () => ({})));
    for (let claims = 0; claims < 2; claims += 1) await claimDue(store, t0, undefined, 2000);
    expect(await store.rescue(t0, 0)).toBe(1100);
  });

  test('puts off a claim that nothing was done about, as if it had not been', async () => {
    const [id] = await accept({});
    const before = await store.delivery(id!);
    await claimDue(store);
    await putOff(id!, 1, t0, t0 + day, t0 + minute);
    await putOff('dlv_unknown_1', 1, t0, t0 + day);
    expect(await store.delivery(id!)).toEqual({ ...before, dueAt: t0 + day });
    expect(await claimIds(t0 + day - 1)).toEqual([]);
    expect(await claimIds(t0 + day)).toEqual([id]);
  });

  test('puts off no later claim when it is told so again, as its answer was lost', async () => {
    const [id] = await accept({});
    await claimDue(store);
    await putOff(id!, 1, t0, t0 + minute);
    expect(await claimIds(t0 + minute)).toEqual([id]);
    await putOff(id!, 1, t0, t0 + minute);
    expect(await store.delivery(id!)).toMatchObject({ state: 'sending', attempts: 1 });
    const counts = await store.counts();
    expect(counts.map(({ states }) => [states.sending, states.pending])).toEqual([[1, 0]]);
  });

  test('puts off a later claim without losing the attempts before it', async () => {
    const [id] = await accept({});
    const [first] = await claimDue(store, t0 + 1);
    await store.record([resultOf(first!, unknown, { state: 'pending', dueAt: t0 + minute })]);
    const before = await store.delivery(id!);
    await claimDue(store, t0 + minute);
    await putOff(id!, 2, t0 + minute, t0 + day);
    const after = { ...before, dueAt: t0 + day, since: t0 + day - minute };
    expect(await store.delivery(id!)).toEqual(after);
    await putOff(id!, 2, t0 + minute, t0 + 2 * day);
    expect(await store.delivery(id!)).toEqual(after);
  });

  test("finds a thread's newest message by its key and sink", async () => {
    await accept({}, {}, {}, {});
    const [a, b, c, d] = await claimDue(store);
    const at = (settledAt: number, claimed: typeof a, ts: string) =>
      resultOf(claimed!, { outcome: 'delivered', receipt: { ts } }, { thread: 'candidate 1', settledAt });
    await store.record([
      at(t0 + 9, a, 'earlier'),
      at(t0 + 7, b, 'newest'),
      resultOf(c!, rejected, { thread: 'candidate 1' }),
      resultOf(d!, delivered, { thread: 'candidate 2' }),
    ]);
    expect(await store.threadOf('slack', 'candidate 1')).toEqual({
      receipt: { ts: 'newest' },
      seq: b!.row.seq,
    });
    expect(await store.threadOf('slack', 'candidate 2')).toEqual({ receipt, seq: d!.row.seq });
    expect(await store.threadOf('slack', 'candidate 3')).toBeNull();
    expect(await store.threadOf('mail', 'candidate 1')).toBeNull();
  });

  test('puts a delivery that was not attempted into another lane, and leaves it in its own unless that is asked for', async () => {
    const [here, there] = await accept({}, {});
    await claimDue(store);
    const lane = 'slack #zagreb';
    const putBack = { attempt: 1, claimedAt: t0, until: t0 + 1 };
    await store.defer(
      [
        { deliveryId: here!, ...putBack },
        { deliveryId: there!, ...putBack, lane },
      ],
      t0,
    );
    expect(await claimIds(t0 + 1)).toEqual([here]);
    expect(await claimIds(t0 + 1, lane)).toEqual([there]);
    expect(await store.delivery(there!)).toMatchObject({ lane });
  });

  test('knows which other delivery of a lane may have arrived', async () => {
    await accept({}, {}, {});
    const [a, b, c] = await claimDue(store);
    await store.record([
      resultOf(a!, retry, { dueAt: t0 + 3 }),
      resultOf(b!, unknown, { state: 'pending', uncertain: true, dueAt: t0 + 9, thread: 'key' }),
    ]);
    const { lane } = c!.delivery;
    expect(await store.uncertainBeside(lane, c!.row.seq, 'key')).toBe(t0 + 9);
    expect(await store.uncertainBeside(lane, a!.row.seq, 'key')).toBe(t0 + 9);
    expect(await store.uncertainBeside(lane, a!.row.seq, 'other')).toBeNull();
    expect(await store.uncertainBeside(lane, b!.row.seq, 'key')).toBeNull();
    expect(await store.uncertainBeside('other', c!.row.seq, 'key')).toBeNull();
    // Nobody knows the key of one whose attempt was cut off.
    await store.rescue(t0 + 20, 0);
    expect(await store.uncertainBeside(lane, a!.row.seq, 'other')).toBe(t0 + 20);
    expect(await store.uncertainBeside(lane, a!.row.seq, 'key')).toBe(t0 + 20);
  });

  test("finds the newest receipt of a lane, and no other lane's", async () => {
    await accept({}, {}, {});
    const [a, b, c] = await claimDue(store);
    await store.record([
      resultOf(a!, { outcome: 'delivered', receipt: { ts: 'older' } }),
      resultOf(b!, { outcome: 'delivered', receipt: { ts: 'newer' } }),
      resultOf(c!, rejected),
    ]);
    expect(await store.newestReceipt(a!.delivery.lane)).toEqual({ ts: 'newer' });
    expect(await store.newestReceipt('another')).toBeNull();
    expect(await store.newestReceipt(a!.delivery.lane, '"ts":"older')).toEqual({ ts: 'older' });
    expect(await store.newestReceipt(a!.delivery.lane, '"ts":"old_')).toBeNull();
  });

  test('keeps the pauses of sinks for whoever serves next, the newest state of each', async () => {
    const slack = { sink: 'slack', since: t0, probeAt: t0 + minute, probes: 1, because: null };
    const because = { reason: 'auth', detail: 'invalid_auth: the token is not valid.' } as const;
    const mail = { sink: 'mail', since: t0 + 1, probeAt: t0 + 2, probes: 1, because };
    expect(await store.pauses()).toEqual([]);
    await store.keepPause(slack);
    await store.keepPause(mail);
    await store.keepPause({ ...slack, probeAt: t0 + 2 * minute, probes: 2 });
    const other = await home.open();
    expect(await other.pauses()).toEqual([mail, { ...slack, probeAt: t0 + 2 * minute, probes: 2 }]);
    await store.endPause('slack');
    await store.endPause('sheet');
    expect(await store.pauses()).toEqual([mail]);
  });

  describe('counts how the calls to a sink fare', () => {
    const tried = async (outcome: Outcome, endedAt: number, changes = {}) => {
      await accept({});
      const [claimed] = await claimDue(store);
      const result = resultOf(claimed!, outcome, { state: 'dead', dueAt: null, ...changes });
      await store.record([{ ...result, attempt: { ...result.attempt, endedAt } }]);
    };
    const figures = async (now = t0) => (await store.sinkFigures(now))[0];

    test('since its last success, the same for all who read it', async () => {
      expect(await figures()).toBeUndefined();
      await tried(retry, t0 + 1, { unsent: true });
      expect(await figures()).toBeUndefined();
      await tried(rejected, t0 + 2);
      const asked = (minutes: number) => ({ ...retry, retryAfterMs: minutes * 60_000 });
      await tried(asked(15), t0 + 3);
      await tried(asked(14), t0 + 3);
      await tried(unknown, t0 + 4);
      const because = { reason: 'timeout', detail: 'No answer within 10 s.' };
      const failed = {
        failures: 3,
        firstFailedAt: t0 + 3,
        lastFailedAt: t0 + 4,
        askedUntil: t0 + 3 + 15 * 60_000,
        because,
      };
      const lately = { attempts: 4, failures: 4 };
      expect(await figures()).toEqual({ sink: 'slack', lastSuccessAt: null, ...failed, lately });
      await tried(rejected, t0 + 5);
      const { reason, detail } = rejected;
      const other = await home.open();
      const still = { ...failed, because: { reason, detail }, lastSuccessAt: null };
      expect((await other.sinkFigures(t0))[0]).toMatchObject(still);
      await tried(delivered, t0 + 6, { state: 'delivered' });
      await tried(asked(1), t0 + 7);
      const again = { failures: 1, firstFailedAt: t0 + 7, lastSuccessAt: t0 + 6, askedUntil: null };
      expect(await figures()).toMatchObject(again);
    });

    test('where a success of a call says more than its failures, in whichever order', async () => {
      for (const outcomes of [
        [delivered, retry],
        [retry, delivered],
      ]) {
        await accept({}, {});
        const claimed = await claimDue(store);
        await store.record(claimed.map((one, place) => resultOf(one, outcomes[place]!, { dueAt: t0 + day })));
        expect(await figures()).toMatchObject({ failures: 0, lastSuccessAt: t0 + 5 });
      }
      expect((await figures())?.lately).toEqual({ attempts: 4, failures: 2 });
    });

    test('and of the last hour, in rows that are used again', async () => {
      const last = t0 + 60 * minute;
      for (const at of [t0, t0 + minute, t0 + 30 * minute, last, last]) await tried(retry, at);
      expect((await figures(last))?.lately).toEqual({ attempts: 3, failures: 3 });
      expect((await figures(last + 2 * 60 * minute))?.lately).toEqual({ attempts: 0, failures: 0 });
    });
  });

  test('tries at once what a person asked for: what may have arrived only when the tool is done with it', async () => {
    const mail = { sink: 'mail', lane: 'mail' };
    const [failed, unclear, untried, elsewhere] = await accept({}, {}, { dueAt: t0 + day }, mail);
    const claimed = [...(await claimDue(store)), ...(await claimDue(store, t0, 'mail'))];
    const outcomes = [retry, unknown, retry];
    await store.record(
      claimed.map((one, place) => resultOf(one, outcomes[place]!, { state: 'pending', dueAt: t0 + day })),
    );
    await store.askRetry('slack', t0, person);
    expect(await store.retriesAsked()).toEqual(['slack']);
    await store.takeRetry('slack', t0 + 9, minute);
    expect(await store.retriesAsked()).toEqual([]);
    const dueAt = async (id: string | undefined) => (await store.delivery(id!))?.dueAt;
    expect(await dueAt(failed)).toBe(t0 + 9);
    expect(await dueAt(unclear)).toBe(t0 + 5 + minute);
    expect([await dueAt(untried), await dueAt(elsewhere)]).toEqual([t0 + day, t0 + day]);
  });

  test('says until when a tool asked to wait: what it refused, what is due behind that in the lane, and its words', async () => {
    const asked = { ...retry, retryAfterMs: day } as Outcome;
    const ofOurOwn = { ...asked, reason: 'not_found' } as Outcome;
    const other = { lane: 'slack #ops' };
    await accept({}, {}, {}, {}, {}, { dueAt: t0 + day }, other);
    const claimed = [...(await claimDue(store, t0)), ...(await claimDue(store, t0, other.lane))];
    expect(claimed).toHaveLength(6);
    const outcomes = [asked, asked, retry, null, ofOurOwn, asked];
    for (const [place, one] of claimed.entries())
      if (outcomes[place]) await store.record([resultOf(one, outcomes[place], { dueAt: t0 + day + place })]);
    await accept({}, {}, {});
    const reason = 'It answered 503.';
    const of = { sink: 'slack', reason };
    const lane = 'slack #hiring';
    expect(await store.askedToWait(t0 + minute)).toEqual([
      { ...of, lane, until: t0 + day + 1, refused: 2, behind: 3 },
      { ...of, lane: other.lane, until: t0 + day + 5, refused: 1, behind: 0 },
    ]);
    expect(await store.askedToWait(t0 + day + 1)).toMatchObject([{ lane: other.lane }]);
    expect(await store.askedToWait(t0 + 2 * day)).toEqual([]);
  });
}
