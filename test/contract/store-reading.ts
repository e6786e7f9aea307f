import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { type EventSearch, type EventStory, isFound, StoreUnavailable } from '../../src/store/store.ts';
import { languages } from '../../src/words/wording.ts';
import { home, store } from './store-bench.ts';
import {
  arrival,
  carriedOut,
  claimDue,
  configId,
  day,
  delivered,
  minute,
  planned,
  prune,
  rejected,
  retry,
  resultOf,
  t0,
  unknown,
} from './store-fixtures.ts';

export function reading(): void {
  test('shows the last attempts at a sink, newest first, and what they were for', async () => {
    const mail = planned({ sink: 'mail', lane: 'mail' });
    for (const candidateId of ['ann', 'bob'])
      await store.accept(arrival({ candidateId }, { deliveries: [planned(), mail] }));
    const [ann, bob] = await claimDue(store);
    const [elsewhere] = await claimDue(store, t0, 'mail');
    await store.record([
      resultOf(bob!, retry, { state: 'pending', dueAt: t0 }),
      resultOf(elsewhere!, delivered),
    ]);
    const { attempt, ...rest } = resultOf(ann!, rejected);
    await store.record([{ ...rest, attempt: { ...attempt, endedAt: attempt.endedAt + 1 } }]);
    const { testId, status } = ann!.events[0]!;
    expect(await store.attemptsOfSink('slack', 9)).toMatchObject([
      {
        candidateId: 'ann',
        candidateNumericalId: 7,
        testId,
        status,
        state: 'dead',
        number: 1,
        outcome: rejected,
      },
      { candidateId: 'bob', state: 'pending', eventId: bob!.events[0]!.id, outcome: retry },
    ]);
    expect(await store.attemptsOfSink('slack', 1)).toMatchObject([{ candidateId: 'ann' }]);
  });

  test('tells how long what is pending has waited, the newest event, its size, and what waits to be written', async () => {
    const { oldestTransactionMs, ...empty } = await store.vitals(t0 + 9 * day);
    expect(oldestTransactionMs === null).toBe(store.leases === null);
    expect(empty).toEqual({
      lastEventAt: null,
      oldestPendingAt: null,
      firstDueAt: null,
      pending: [],
      lastBackupAt: null,
      bytes: expect.any(Number),
    });
    const later = planned({ sink: 'mail', lane: 'mail', dueAt: t0 + 3 * day });
    await store.accept(arrival({ receivedAt: t0 }, { deliveries: [later] }));
    // More than what earlier tests left free in PostgreSQL's tables.
    const body = randomBytes(400_000).toString('base64');
    const last = store.accept(
      arrival({ receivedAt: t0 + day, raw: { body } }, { deliveries: [planned({ dueAt: t0 + 2 * day })] }),
    );
    expect(store.queued).toBe(1);
    await last;
    const { bytes, oldestTransactionMs: _, ...times } = await store.vitals(t0 + 9 * day);
    const pending = [
      { sink: 'mail', firstDueAt: t0 + 3 * day, oldestPendingAt: t0 },
      { sink: 'slack', firstDueAt: t0 + 2 * day, oldestPendingAt: t0 + day },
    ];
    const all = { oldestPendingAt: t0, firstDueAt: t0 + 2 * day, pending };
    expect(times).toEqual({ lastEventAt: t0 + day, ...all, lastBackupAt: null });
    expect(bytes).toBeGreaterThan(empty.bytes);
    expect(store.queued).toBe(0);
  });

  test('counts the events of a time by test and status, and their deliveries by sink and state', async () => {
    const mail = planned({ sink: 'mail', lane: 'mail' });
    await store.accept(arrival({ receivedAt: t0 - 1, testId: 1 }, { deliveries: [] }));
    await store.accept(arrival({ receivedAt: t0, testId: 2 }, { deliveries: [planned(), mail] }));
    await store.accept(arrival({ receivedAt: t0 + day - 1, testId: 2 }, { deliveries: [planned()] }));
    await store.accept(arrival({ receivedAt: t0 + 5, testId: 1, status: 'Canceled' }, { deliveries: [] }));
    await store.accept(arrival({ receivedAt: t0 + day, testId: 3 }, { deliveries: [mail] }));
    const [first] = await claimDue(store, t0 + 2 * day, 'slack #hiring');
    await store.record([resultOf(first!, delivered)]);
    const { events, deliveries } = await store.tally(t0, t0 + day);
    expect(events).toEqual([
      { testId: 1, status: 'Canceled', count: 1 },
      { testId: 2, status: 'Completed', count: 2 },
    ]);
    expect(deliveries).toHaveLength(3);
    expect(deliveries).toEqual(
      expect.arrayContaining([
        { sink: 'mail', state: 'pending', count: 1 },
        { sink: 'slack', state: 'delivered', count: 1 },
        { sink: 'slack', state: 'sending', count: 1 },
      ]),
    );
  });

  test('counts events and ended deliveries of each day, with how long they took, until they are pruned', async () => {
    const came = arrival({ receivedAt: t0 });
    await store.accept(came);
    // A duplicate is no event.
    await store.accept({ ...came, event: { ...came.event, id: arrival().event.id } });
    await store.accept(arrival({ receivedAt: t0 + day, status: 'Canceled' }));
    const [first, other] = await claimDue(store, t0 + day);
    const at = { settledAt: t0 + day + 5, delayMs: 1000 };
    await store.record([resultOf(first!, retry, { ...at, dueAt: t0 + day }), resultOf(other!, rejected, at)]);
    const [again] = await claimDue(store, t0 + day);
    await store.record([resultOf(again!, delivered, at)]);
    const counts = (from: number, to: number) => store.daily(from, to);
    const ended = { sink: 'slack', count: 1 };
    expect(await counts(t0, t0 + 2 * day)).toEqual([
      { day: 0, sink: null, what: 'Completed', delayMs: 0, count: 1 },
      { day: 1, sink: null, what: 'Canceled', delayMs: 0, count: 1 },
      { ...ended, day: 1, what: 'dead', delayMs: 0 },
      { ...ended, day: 1, what: 'delivered', delayMs: 1024 },
    ]);
    expect(await counts(t0 + day / 2, t0 + 2 * day)).toMatchObject([{ day: 0 }, { day: 0 }, { day: 0 }]);
    expect(await counts(t0 + 2 * day, t0 + 3 * day)).toEqual([]);
    await prune(store, t0 + 500 * day);
    expect(await counts(t0, t0 + 2 * day)).toEqual([]);
  });

  test('finds the events that have all that is asked for, page by page', async () => {
    const mail = planned({ sink: 'mail', lane: 'mail', rule: 'other' });
    for (let n = 0; n < 24; n += 1) {
      const event = {
        candidateId: `candidate-${n % 3}-found`,
        testId: 1 + (n % 2),
        status: (['Completed', 'Canceled'] as const)[n % 5 === 0 ? 1 : 0],
        receivedAt: t0 + Math.floor(n / 2) * minute,
      };
      await store.accept(
        arrival(event, { deliveries: n % 4 === 0 ? [planned(), mail] : [planned()], windowMs: 0 }),
      );
    }
    const claimed = await claimDue(store, t0 + day, 'slack #hiring', 9);
    const ends = [delivered, rejected, unknown];
    await store.record(claimed.map((one, n) => resultOf(one, ends[n % 3]!)));
    const stories = await store.events({ limit: 1000 });
    const searches: EventSearch[] = [
      {},
      { candidates: { ids: ['candidate-1-found', 'nobody'] } },
      { candidates: { beginning: 'candidate-2' }, testId: 2 },
      { candidates: { ids: ['nobody'] } },
      { testId: 2, status: 'Completed' },
      { since: t0 + minute, until: t0 + 5 * minute },
      { rule: 'other' },
      { sink: 'mail', status: 'Completed' },
      { states: ['delivered'] },
      { states: ['delivered'], sink: 'mail' },
      { states: ['pending', 'held'], rule: 'other' },
      { states: ['dead', 'held'] },
      { states: ['held'], sink: 'slack', testId: 1 },
      { states: ['dead'], since: t0 + 2 * minute, rule: 'completed' },
    ];
    for (const asked of searches) {
      const found: EventStory[] = [];
      for (let after: string | undefined | null; after !== null;) {
        const page = await store.search({ ...asked, limit: 4, after });
        expect(page.stories.length).toBeLessThanOrEqual(4);
        found.push(...page.stories);
        after = page.after;
      }
      expect(found).toEqual(stories.filter((story) => isFound(asked, story)));
    }
  });

  test('finds events by a correlation id: their own or that of a repeat, however many came since', async () => {
    const [first, second] = [arrival({ correlationId: 'shared' }), arrival({ correlationId: 'shared' })];
    for (const one of [first, second]) await store.accept(one);
    const { candidateId } = first.event;
    await store.accept(arrival({ candidateId, correlationId: 'repeat' }));
    await Promise.all(Array.from({ length: 300 }, () => store.accept(arrival({}, { deliveries: [] }))));
    await store.accept(arrival({ candidateId, correlationId: 'late', receivedAt: t0 + 2 * day }));
    const found = async (asked: EventSearch) => {
      const { stories, after } = await store.search(asked);
      return [stories.map(({ event: { id } }) => id), after];
    };
    const ids = [second.event.id, first.event.id];
    expect(await found({ correlation: 'shared' })).toEqual([ids, null]);
    expect(await found({ correlation: 'shared', candidates: { ids: [candidateId] } })).toEqual([
      [ids[1]],
      null,
    ]);
    expect(await found({ correlation: 'repeat' })).toEqual([[ids[1]], null]);
    expect((await found({ correlation: 'late' }))[0]).toHaveLength(1);
    expect(await found({ correlation: 'nobody' })).toEqual([[], null]);
    expect(await store.events({ correlation: 'repeat' })).toMatchObject([
      { event: first.event, duplicates: 1 },
    ]);
  });

  test('knows whom a person means by an id, a number or the beginning of an id', async () => {
    const guid = '6f1c2d3e4a5b4c6d8e7f0a1b2c3d4e5f';
    for (const [candidateId, candidateNumericalId, status] of [
      [guid, 20970, 'Completed'],
      [guid, null, 'Canceled'],
      ['20970', null, 'Completed'],
      ['twice-1', 20971, 'Completed'],
      ['twice-2', 20971, 'Completed'],
      ['twice-2!', 7, 'Completed'],
      ['candidate 5', null, 'Completed'],
    ] as const)
      await store.accept(arrival({ candidateId, candidateNumericalId, status }));
    const meant = async (text: string) => {
      const found = await store.candidatesMeant(text);
      return 'ids' in found ? found.ids.toSorted() : found;
    };
    expect(await meant(' 6F1C2D3E-4a5b-4c6d-8e7f-0a1b2c3d4e5f ')).toEqual([guid]);
    expect(await meant('20970')).toEqual(['20970']);
    expect(await meant('20971')).toEqual(['twice-1', 'twice-2']);
    expect(await meant('7')).toEqual(['twice-2!']);
    expect(await meant('twice-2')).toEqual(['twice-2']);
    expect(await meant('twice-')).toEqual(['twice-1', 'twice-2', 'twice-2!']);
    expect(await meant('6f1c2d3e…')).toEqual([guid]);
    expect(await meant('6F1C2D3E-4A')).toEqual([guid]);
    expect(await meant('6F1C2D3E4')).toEqual([guid]);
    // As messages have it.
    expect(await meant('Candidate 20971')).toEqual(['twice-1', 'twice-2']);
    expect(await meant('#20971')).toEqual(['twice-1', 'twice-2']);
    // As a template's `amount` or a spreadsheet writes it, in any language.
    for (const text of [
      '20,971',
      '20.971',
      '20\u202f971',
      '20\u00a0971',
      '20 971',
      '20’971',
      'Candidate 20,971',
    ])
      expect(await meant(text)).toEqual(['twice-1', 'twice-2']);
    for (const { candidateCompleted } of Object.values(languages))
      expect(await meant(candidateCompleted.replace(/\{candidate\}.*/, '20971'))).toEqual([
        'twice-1',
        'twice-2',
      ]);
    for (const text of ['Candidate 6f1c2d3e…', 'Candidate 6f1c2d3e...', '6f1c2d3e...'])
      expect(await meant(text)).toEqual([guid]);
    // The address of the candidate's page, as the links of messages have it.
    for (const id of [guid, '6F1C2D3E-4A5B-4C6D-8E7F-0A1B2C3D4E5F'])
      expect(await meant(`https://tests.example.com/candidates/${id}/result?tab=1`)).toEqual([guid]);
    expect(await meant('candidate 5')).toEqual(['candidate 5']);
    // Too short, and no pattern of the database.
    for (const nobody of ['twice', 'twice_1', '20971.0', '2,0971', '20,971.123', ''])
      expect(await meant(nobody)).toEqual([nobody]);
    const ofNumber = await store.search({ candidates: await store.candidatesMeant('6f1c2d') });
    expect(ofNumber.stories.map(({ event }) => event.status)).toEqual(['Canceled', 'Completed']);

    const many = Array.from({ length: 101 }, (_, n) => arrival({ candidateId: `many of them ${n}` }));
    await Promise.all(many.map((one) => store.accept(one)));
    expect(await meant('many of')).toEqual({ beginning: 'many of' });
  });

  test('counts what a search finds as far as it is asked to, and knows what stands beside an event', async () => {
    const came = [1, 2, 1, 2, 1].map((testId, n) => arrival({ testId, receivedAt: t0 + (n >> 1) }));
    for (const one of came) await store.accept(one);
    expect(await store.matches({}, 5)).toEqual({ count: 5, isAll: true });
    expect(await store.matches({}, 4)).toEqual({ count: 4, isAll: false });
    expect(await store.matches({ testId: 2 }, 4)).toEqual({ count: 2, isAll: true });
    expect(await store.matches({ testId: 3 }, 4)).toEqual({ count: 0, isAll: true });
    const ids = came.map(({ event }) => event.id);
    const beside = async (place: number, asked: Parameters<typeof store.neighbours>[0] = {}) => {
      const { newer, older } = await store.neighbours(asked, ids[place]!);
      return [newer, older].map((id) => (id === null ? null : ids.indexOf(id)));
    };
    expect(await beside(2)).toEqual([3, 1]);
    expect(await beside(0)).toEqual([1, null]);
    expect(await beside(4)).toEqual([null, 3]);
    expect(await beside(2, { testId: 1 })).toEqual([4, 0]);
    // One that the search does not find may be what somebody looks at.
    expect(await beside(2, { testId: 2 })).toEqual([3, 1]);
  });

  test('lists events newest first, with their deliveries', async () => {
    const came = [arrival(), arrival({}, { deliveries: [planned(), planned()] }), arrival()];
    await Promise.all(came.map((one) => store.accept(one)));
    const stories = await store.events({ limit: 2 });
    expect(stories.map(({ event }) => event)).toEqual([came[2]!.event, came[1]!.event]);
    expect(stories[1]).toMatchObject({ configId, duplicates: 0 });
    expect(stories[1]?.deliveries).toEqual([
      await store.delivery(`dlv_${came[1]!.event.id.slice(4)}_1`),
      await store.delivery(`dlv_${came[1]!.event.id.slice(4)}_2`),
    ]);
  });

  test('finds events by time, status and candidate, alone and together', async () => {
    const came = {
      old: arrival({ receivedAt: t0 }),
      canceled: arrival({ receivedAt: t0 + 1, status: 'Canceled' }),
      dana: arrival({ receivedAt: t0 + 2, candidateId: 'dana' }),
      danaCanceled: arrival({ receivedAt: t0 + 3, candidateId: 'dana', status: 'Canceled' }),
    };
    await Promise.all(Object.values(came).map((one) => store.accept(one)));
    const found = async (filter: Parameters<typeof store.events>[0]) => {
      const stories = await store.events(filter);
      return stories.map(
        ({ event }) => Object.entries(came).find(([, one]) => one.event.id === event.id)?.[0],
      );
    };
    expect(await found({ since: t0 + 2 })).toEqual(['danaCanceled', 'dana']);
    expect(await found({ status: 'Canceled' })).toEqual(['danaCanceled', 'canceled']);
    expect(await found({ candidates: { ids: ['dana'] } })).toEqual(['danaCanceled', 'dana']);
    expect(await found({ since: t0 + 1, status: 'Canceled', candidates: { ids: ['dana'] } })).toEqual([
      'danaCanceled',
    ]);
    expect(await found({ status: 'Canceled', limit: 1 })).toEqual(['danaCanceled']);
  });

  test('lists events page by page, also where many came in one millisecond', async () => {
    const came = [t0 + 1, t0, t0, t0, t0 - 1].map((receivedAt) => arrival({ receivedAt }));
    for (const one of came) await store.accept(one);
    const ids = async (filter: Parameters<typeof store.events>[0]) =>
      (await store.events(filter)).map(({ event }) => event.id);
    const all = await ids({});
    const pages = [await ids({ limit: 2 })];
    for (let last = pages[0]?.at(-1); last !== undefined; last = pages.at(-1)?.at(-1)) {
      pages.push(await ids({ limit: 2, after: last }));
    }
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1, 0]);
    expect(pages.flat()).toEqual(all);
    expect(await ids({ since: t0, after: all[1]! })).toEqual(all.slice(2, 4));
    expect(await ids({ after: 'evt_nobody' })).toEqual([]);
  });

  test('knows no event and no delivery by an id that was never given', async () => {
    expect(await store.event('evt_nobody')).toBeNull();
    expect(await store.delivery('dlv_nobody_1')).toBeNull();
    expect(await store.delivery('nonsense')).toBeNull();
    const { eventId } = await store.accept(arrival());
    expect(await store.delivery(`dlv_${eventId.slice(4)}_2`)).toBeNull();
  });

  test('lists deliveries by state, oldest first, by sink and time, page by page', async () => {
    const [dead1, , held] = await carriedOut(store, [rejected, delivered, unknown]);
    const [dead2] = await carriedOut(store, [rejected], t0 + day);
    const ids = async (filter: Parameters<typeof store.deliveries>[0]) =>
      (await store.deliveries(filter)).map(({ id }) => id);
    expect(await ids({ states: ['dead'] })).toEqual([dead1, dead2]);
    expect(await ids({ states: ['dead', 'held'] })).toEqual([dead1, held, dead2]);
    expect(await ids({ states: ['pending', 'sending'] })).toEqual([]);
    expect(await ids({ states: ['dead', 'held', 'delivered'], since: t0 + 1 })).toEqual([dead2]);
    expect(await ids({ states: ['dead', 'held'], until: t0 + day - 1 })).toEqual([dead1, held]);
    expect(await ids({ states: ['dead', 'held'], until: t0 - 1 })).toEqual([]);
    expect(await ids({ states: ['dead'], sink: 'mail' })).toEqual([]);
    expect(await ids({ states: ['dead', 'held'], limit: 2 })).toEqual([dead1, held]);
    expect(await ids({ states: ['dead', 'held'], limit: 2, after: held! })).toEqual([dead2]);
    expect(await ids({ states: ['dead'], after: 'dlv_nobody_1' })).toEqual([]);
  });

  test('knows when the newest event came', async () => {
    expect(await store.lastEventAt()).toBeNull();
    await store.accept(arrival({ receivedAt: t0 + 5 }));
    await store.accept(arrival({ receivedAt: t0 + 3 }));
    expect(await store.lastEventAt()).toBe(t0 + 5);
    // The clock was ahead.
    expect(await store.lastEventAt(t0 + 4)).toBe(t0 + 3);
    expect((await store.vitals(t0 + 4)).lastEventAt).toBe(t0 + 3);
    expect((await store.vitals(t0)).lastEventAt).toBeNull();
  });

  test('sees at once what another process wrote', async () => {
    const other = await home.open();
    const { eventId } = await store.accept(arrival());
    expect(await other.event(eventId)).toEqual(await store.event(eventId));
  });

  test('finishes the writes under way when closed, and takes no more', async () => {
    const writes = Array.from({ length: 50 }, () => store.accept(arrival()));
    await store.close();
    await store.close();
    const accepted = await Promise.all(writes);
    await expect(store.accept(arrival())).rejects.toThrow(StoreUnavailable);
    await expect(store.lanes()).rejects.toThrow(StoreUnavailable);
    const reopened = await home.open();
    expect(await reopened.events({ limit: 100 })).toHaveLength(accepted.length);
  });

  test('says that it can be written', async () => {
    await expect(store.probe()).resolves.toBeUndefined();
  });
}
