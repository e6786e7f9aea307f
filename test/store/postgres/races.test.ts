import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { discard, replay } from '../../../src/store/operations/by-hand.ts';
import { rescue, sql as carrying } from '../../../src/store/operations/carrying-out.ts';
import { claim as claimOf, sql as claiming } from '../../../src/store/operations/claiming.ts';
import { forget } from '../../../src/store/operations/forgetting.ts';
import { settleIn } from '../../../src/store/operations/housekeeping.ts';
import { accept as acceptOf, sql as receiving } from '../../../src/store/operations/receiving.ts';
import { RecentCorrelations } from '../../../src/store/recent-correlations.ts';
import { candidatesBy } from '../../../src/store/operations/searching.ts';
import type { Operation } from '../../../src/store/operation.ts';
import { inLockstep } from '../../../src/store/postgres/lockstep.ts';
import { send } from '../../../src/store/postgres/pipeline.ts';
import { Tallies } from '../../../src/store/tallies.ts';
import { mentionsOf } from '../../../src/support/candidate-traces.ts';
import { PartUnavailable } from '../../../src/store/driver.ts';
import { openPostgres } from '../../../src/store/postgres.ts';
import type { Arrival, Claim, EventStory, Store } from '../../../src/store/store.ts';
import {
  arrival,
  carriedOut,
  claimDue,
  configId,
  day,
  decider,
  delivered,
  leaseRequest,
  minute,
  person,
  planned,
  prune,
  rejected,
  resultOf,
  retry,
  t0,
  undecided,
} from '../../contract/store-fixtures.ts';
import { freshSchema, sql } from '../../fixtures/postgres.ts';

/** SQLite has one writer, and no two operations at the same time. */
describe('what several do at the same time on PostgreSQL', () => {
  let url: string;
  let name: string;
  let stores: Store[];
  let one: Store;
  let other: Store;
  /** A transaction of another process. */
  let between: Client;

  beforeEach(async () => {
    url = await freshSchema();
    name = new URL(url).searchParams.get('schema')!;
    url += `&application_name=${name}`;
    stores = [await openPostgres(url), await openPostgres(url)];
    [one, other] = stores as [Store, Store];
    await one.saveConfig({ id: configId, source: {}, savedAt: t0 });
    between = new Client({ connectionString: url.replace(/\?.*/, '') });
    await between.connect();
    await between.query(`set search_path to ${name}`);
  });

  afterEach(async () => {
    await between.end();
    await Promise.all(stores.map((store) => store.close()));
  });

  const waiting = async () =>
    (
      await sql(
        url,
        `select count(*)::int as n from pg_stat_activity
         where application_name = '${name}' and wait_event_type = 'Lock'`,
      )
    )[0]!['n'];

  /** Runs both so that each has read what is there before the other one writes. */
  async function atOnce<T>(held: string, ...runs: readonly (() => Promise<T>)[]): Promise<T[]> {
    await between.query(`begin; ${held}`);
    const running = Promise.all(runs.map((run) => run()));
    await expect.poll(waiting).toBe(runs.length);
    await between.query('commit');
    return running;
  }

  const allDeliveries = 'select 1 from deliveries for update';
  const firstDelivery = 'select 1 from deliveries where seq = (select min(seq) from deliveries) for update';

  /** Of each state, what was counted and what there is. */
  const counted = () =>
    sql(url, `select state, n::int from delivery_counts where state <> 'planned' and n <> 0 order by state`);
  const there = () =>
    sql(url, 'select state, count(*)::int as n from deliveries group by state order by state');

  test.each([
    ['one replica', () => one],
    ['two replicas', () => other],
  ])('of %s, a delivery is begun or discarded, never both', async (_, second) => {
    const group = { group: 'digest', groupMax: 10 };
    for (const deliveries of [[planned()], [planned(group)]]) {
      for (let n = 0; n < 10; n += 1) await one.accept(arrival({}, { deliveries }));
    }
    const ids = (await one.deliveries({ states: ['pending'] })).map(({ id }) => id);
    const [claimed, discarded] = await Promise.all([claimDue(one), second().discard(ids, t0, person)]);
    await one.record(claimed.map((each) => resultOf(each, delivered)));
    const begun = claimed.reduce((sum, { events }) => sum + events.length, 0);
    expect(begun + discarded.filter(({ done }) => done).length).toBe(20);
    expect(await counted()).toEqual(await there());
    expect((await there()).map(({ state }) => state)).not.toContain('sending');
  });

  test('a delivery that a replay has moved to another lane meanwhile is discarded there or begun, never both', async () => {
    const [id = ''] = await carriedOut(one, [rejected]);
    const lane = 'slack #renamed';
    let claimed: Promise<Claim[]> = Promise.resolve([]);
    await between.query('begin');
    const [results] = await inLockstep([discard(new Tallies(), [id], t0, person)], async (statements) => {
      if (statements.some(({ values }) => values.includes('["lane slack #hiring"]')))
        await one.replay([{ deliveryId: id, configId, planned: planned({ lane }) }], t0, person);
      const writes = statements.some(({ sql: text }) => text.includes("state = 'discarded'"));
      if (writes) {
        claimed = claimDue(other, t0, lane);
        await Promise.race([claimed, vi.waitUntil(async () => (await waiting()) === 1, 10_000)]);
      }
      return send(between, statements, 10_000);
    });
    await between.query('commit');
    expect(results).toEqual([{ deliveryId: id, done: true }]);
    expect(await claimed).toEqual([]);
    expect(await there()).toEqual([{ state: 'discarded', n: 1 }]);
  });

  test('nor is one begun there whose candidate is being erased', async () => {
    const [id = ''] = await carriedOut(one, [rejected]);
    const lane = 'slack #renamed';
    const [story] = await one.events({});
    const { candidateId, id: eventId } = story!.event;
    const asked = { candidateId, eventIds: [eventId], mentions: mentionsOf(candidateId) };
    let claimed: Promise<Claim[]> = Promise.resolve([]);
    await between.query('begin');
    const [result] = await inLockstep([forget(new Tallies(), asked, t0, person)], async (statements) => {
      if (statements.some(({ values }) => values.includes('["lane slack #hiring"]')))
        await one.replay([{ deliveryId: id, configId, planned: planned({ lane }) }], t0, person);
      if (statements.some(({ sql: text }) => text.includes('delete from deliveries'))) {
        claimed = claimDue(other, t0, lane);
        await Promise.race([claimed, vi.waitUntil(async () => (await waiting()) === 1, 10_000)]);
      }
      return send(between, statements, 10_000);
    });
    await between.query('commit');
    expect(result).toMatchObject({ done: true, events: 1 });
    expect(await claimed).toEqual([]);
    expect(await there()).toEqual([]);
  });

  test('a digest has its carrier, though as many as it may have came before it between its two statements', async () => {
    const accept = (dueAt: number) =>
      other.accept(arrival({}, { deliveries: [planned({ dueAt, group: 'digest', groupMax: 2 })] }));
    const { eventId } = await accept(t0);
    const due = { lane: 'slack #hiring', now: t0, limit: 1 };
    const [claimed] = await inLockstep([claimOf(new Tallies(), due)], async (statements) => {
      if (statements.some((statement) => statement.sql === claiming.beginDigest))
        for (const earlier of [2, 1]) await accept(t0 - earlier);
      return send(between, statements, 10_000);
    });
    const [digest] = claimed as Claim[];
    expect(digest?.delivery).toMatchObject({ eventId, carrier: digest?.delivery.id });
    expect(digest?.events).toHaveLength(2);
    expect(digest?.events.map(({ id }) => id)).toContain(eventId);
  });

  test('what is due is found and claimed without what was delivered before, which a long transaction keeps', async () => {
    const accept = (dueAt: number) => one.accept(arrival({}, { deliveries: [planned({ dueAt })] }));
    await accept(t0);
    await between.query(`insert into deliveries (seq, rule, action, sink, connector, lane, due_at, since)
      select 100 + n, rule, action, sink, connector, lane, due_at, since from deliveries, generate_series(1, 5000) n`);
    const old = new Client({ connectionString: url.replace(/\?.*/, '') });
    await old.connect();
    await old.query('begin isolation level repeatable read; select 1');
    await between.query(`update deliveries set state = 'delivered', ended_at = 1, receipt = '{}'`);
    await accept(t0);
    const [head] = await one.lanes();
    const pages = async (statement: string, ...values: unknown[]): Promise<number> => {
      const { rows } = await between.query(`explain (analyze, buffers, format json) ${statement}`, values);
      return rows[0]['QUERY PLAN'][0].Plan['Shared Hit Blocks'];
    };
    const { lane, dueAt, seq } = head!;
    const figures = [
      await pages(carrying.laneHeads),
      await pages(carrying.laneHead, lane, dueAt, seq),
      await pages(claiming.dueFirst, lane, t0, 10, dueAt, seq),
    ];
    expect((await one.vitals(t0)).oldestTransactionMs).toBeGreaterThan(0);
    await old.end();
    const [whole, look, claimed] = figures as [number, number, number];
    expect(whole).toBeGreaterThan(100);
    expect(look + claimed).toBeLessThan(60);
  });

  test('whether an event is new is looked up by its candidate, also by a statement that was prepared in an empty store', async () => {
    const { many } = receiving.insertEvent;
    const arrays = Array.from(new Set(many.match(/\$\d+/g)), () => `'{}'`);
    await between.query(`set plan_cache_mode = force_generic_plan; prepare several as ${many}`);
    const { rows } = await between.query(`explain (format json) execute several (${arrays.join(', ')})`);
    const indexes = JSON.stringify(rows).match(/(?<="Index Name":")\w+/g);
    expect(indexes).toEqual(['events_content']);
  });

  test("a candidate's number is looked for in the index of numbers", async () => {
    await between.query(`prepare numbered as ${candidatesBy.number}`);
    const { rows } = await between.query('explain (format json) execute numbered (7)');
    expect(JSON.stringify(rows).match(/(?<="Index Name":")events_[cn]\w+/g)).toEqual(['events_number']);
  });

  test('of two replicas that accept the same contents at the same moment, one makes the events', async () => {
    const came = (candidateId: string, correlationId: string | null, receivedAt = t0) =>
      arrival({ candidateId, correlationId, receivedAt });
    const accepted = (store: Store, ...arrivals: readonly Arrival[]) =>
      Promise.all(arrivals.map((each) => store.accept(each)));
    await one.accept(came('a', 'first'));
    const later = t0 + 2 * day;
    // One of them has the locks of both contents and waits for the table, the other one waits for the locks.
    const results = await atOnce(
      'lock table events in share mode',
      () => accepted(one, came('a', 'c1', later), came('b', 'c2'), came('b', null)),
      () => accepted(other, came('b', 'c4'), came('a', 'c5', later), came('a', 'first', later)),
    );
    expect(results.flat().filter(({ duplicate }) => !duplicate)).toHaveLength(2);
    const stories = await one.events({});
    const events = stories.map(({ event }) => `${event.candidateId} ${(event.receivedAt - t0) / day}`);
    expect(events.toSorted()).toEqual(['a 0', 'a 2', 'b 0']);
    expect(await counted()).toEqual([{ state: 'pending', n: 3 }]);
    // What came through either of them is known to both by its correlation id, however late it comes again.
    const retries = [
      came('a', 'c1', later + 9 * day),
      came('a', 'c5', later + 9 * day),
      came('b', 'c4', later),
    ];
    const again = await accepted(one, ...retries);
    const idOf = (text: string) => stories[events.indexOf(text)]!.event.id;
    expect(again.map(({ eventId }) => eventId)).toEqual([idOf('a 2'), idOf('a 2'), idOf('b 0')]);
  });

  test('a duplicate of an event that another replica deletes at that moment is a new event', async () => {
    const old = { candidateId: 'a', correlationId: 'first', receivedAt: t0 };
    const { eventId } = await one.accept(arrival(old));
    const again = arrival({ ...old, id: `${eventId.slice(0, -1)}z`, receivedAt: t0 + day });
    await between.query('begin');
    const accepting = acceptOf(new Tallies(), again, new RecentCorrelations(1));
    const [accepted] = await inLockstep([accepting], async (statements) => {
      if (statements.some(({ sql: text }) => text.includes('key share')))
        await sql(url, 'delete from events');
      return send(between, statements, 10_000);
    });
    await between.query('commit');
    expect(accepted).toMatchObject({ eventId: again.event.id, duplicate: false });
  });

  test.each([
    ['one replica', () => one],
    ['two replicas', () => other],
  ])('of %s, a delivery is replayed once', async (_, second) => {
    const [deliveryId] = await carriedOut(one, [rejected]);
    const again = { deliveryId: deliveryId!, configId, planned: planned() };
    const results = await Promise.all([
      one.replay([again], t0, person),
      second().replay([again], t0, person),
    ]);
    expect(new Set(results.flat().map(({ done }) => done))).toEqual(new Set([false, true]));
    expect(await counted()).toEqual(await there());
  });

  test.each([
    ['one replica', () => one],
    ['two replicas', () => other],
  ])(
    'of %s, a rule is applied late once, and each message sent again gets an id of its own',
    async (_, second) => {
      const ids = await carriedOut(one, [delivered, delivered]);
      const [{ event }] = (await one.events({ limit: 1 })) as [EventStory];
      const late = [{ eventId: event.id, configId, deliveries: [planned({ rule: 'new' })] }];
      const items = ids.map((deliveryId) => ({ deliveryId, configId, planned: planned() }));
      const applied = [one.apply(late, t0, person), second().apply(late, t0, person)];
      const resent = [one.resend(items, t0, person), second().resend(items, t0, person)];
      expect((await Promise.all(applied)).flat()).toHaveLength(1);
      expect((await Promise.all(resent)).flat().filter(({ done }) => done)).toHaveLength(2);
      expect(await counted()).toEqual(await there());
    },
  );

  test('of two people who send a message again at the same moment, one does', async () => {
    const [deliveryId] = await carriedOut(one, [delivered]);
    const items = [{ deliveryId: deliveryId!, configId, planned: planned() }];
    const results = await atOnce(
      'lock table deliveries in exclusive mode',
      ...[one, other].map((store) => () => store.resend(items, t0, person)),
    );
    expect(new Set(results.flat().map(({ done }) => done))).toEqual(new Set([false, true]));
    expect(await counted()).toEqual(await there());
  });

  test('what is done to many takes a handful of round trips, while others wait for the locks', async () => {
    await carriedOut(one, [rejected, rejected, rejected]);
    for (let n = 0; n < 3; n += 1) await one.accept(arrival());
    await claimDue(one);
    const ids = (await one.deliveries({ states: ['dead'] })).map(({ id }) => id);
    const replays = ids.map((deliveryId) => ({ deliveryId, configId, planned: planned() }));
    const operations: Operation<unknown>[] = [
      replay(new Tallies(), replays, t0, person),
      discard(new Tallies(), ids, t0, person),
      rescue(new Tallies(), { now: t0, settlingMs: minute, of: undefined }, 10),
    ];
    for (const operation of operations) {
      let rounds = 0;
      await inLockstep([operation], (statements) => {
        rounds += 1;
        return send(between, statements, 10_000);
      });
      expect(rounds).toBeLessThan(5);
    }
    expect(await there()).toEqual([
      { state: 'discarded', n: 3 },
      { state: 'pending', n: 3 },
    ]);
  });

  test('a delivery whose attempt is undone and rescued is carried out afterwards', async () => {
    await one.accept(arrival());
    const [claimed] = await claimDue(one);
    const deferral = { deliveryId: claimed!.delivery.id, attempt: 1, claimedAt: t0, until: t0 + minute };
    await between.query(`begin; ${allDeliveries}`);
    await expect(one.defer([deferral], t0)).rejects.toThrow('stay locked');
    expect(await other.rescue(t0, minute)).toBe(0);
    await between.query('commit');
    await other.rescue(t0, minute);
    await one.defer([deferral], t0);
    expect(await counted()).toEqual(await there());
    const [again] = await claimDue(other, t0 + day);
    await other.record([resultOf(again!, delivered)]);
    expect(await counted()).toEqual([{ state: 'delivered', n: 1 }]);
  });

  test('an outcome of a row that somebody keeps locked is refused at once, and beside it others are stored', async () => {
    await one.accept(arrival());
    await one.accept(arrival());
    const claims = await claimDue(one);
    await between.query(`begin; ${firstDelivery}`);
    const record = () => Promise.allSettled(claims.map((claim) => one.record([resultOf(claim, delivered)])));
    expect(await record()).toMatchObject([
      { reason: { message: expect.stringContaining('stay locked') } },
      { status: 'fulfilled' },
    ]);
    await between.query('commit');
    await record();
    expect(await counted()).toEqual([{ state: 'delivered', n: 2 }]);
  });

  test('an event whose look-up somebody keeps locked is decided later, and an event of the same candidate is stored meanwhile', async () => {
    const { eventId } = await one.accept(undecided('eva'));
    await between.query(`begin; ${allDeliveries}`);
    await expect(one.decide(eventId, decider(), t0 + minute)).rejects.toThrow(PartUnavailable);
    await other.accept(undecided('eva'));
    await between.query('commit');
    expect(await one.decide(eventId, decider(), t0 + minute)).toBe('decided');
  });

  test.each([
    ['deletes', 'delete from events'],
    ['changes', "update events set raw = ''"],
  ])(
    'the repeat of an event that somebody %s is refused at once, and beside it others are stored',
    async (_, edit) => {
      const ana = { candidateId: 'ana', correlationId: 'a', candidateNumericalId: null };
      await one.accept(arrival(ana));
      await between.query(`begin; ${edit}`);
      const repeat = arrival({ ...ana, candidateNumericalId: 7 });
      expect(await Promise.allSettled([one.accept(repeat), one.accept(arrival())])).toMatchObject([
        { reason: expect.any(PartUnavailable) },
        { value: { duplicate: false } },
      ]);
      await between.query('rollback');
      expect(await one.accept(repeat)).toMatchObject({ duplicate: true });
    },
  );

  test('of what is to be tried at once, a row that somebody keeps locked is left for later', async () => {
    const [, free] = await carriedOut(one, [retry, retry]);
    await between.query(`begin; ${firstDelivery}`);
    await one.takeRetry('slack', t0, 0);
    expect((await claimDue(one)).map(({ delivery }) => delivery.id)).toEqual([free]);
    await between.query('commit');
  });

  test('who replays or discards what somebody keeps locked hears so at once, as claims of its lane wait meanwhile', async () => {
    const [id = ''] = await carriedOut(one, [rejected]);
    await between.query(`begin; ${allDeliveries}`);
    const replayed = one.replay([{ deliveryId: id, configId, planned: planned() }], t0, person);
    await expect(replayed).rejects.toThrow(PartUnavailable);
    await expect(one.discard([id], t0, person)).rejects.toThrow(PartUnavailable);
    await between.query('commit');
    expect(await one.discard([id], t0, person)).toEqual([{ deliveryId: id, done: true }]);
  });

  test('what waits is not pulled in while somebody keeps it locked', async () => {
    await one.accept(arrival());
    const [claimed] = await claimDue(one);
    await one.record([resultOf(claimed!, retry)]);
    await between.query(`begin; ${allDeliveries}`);
    await expect(one.pullIn(t0 - day, day)).rejects.toThrow(PartUnavailable);
    await between.query('commit');
  });

  test('a row that another one refers to, as that of an attempt does, is not locked by that', async () => {
    await one.accept(arrival());
    const [claimed] = await claimDue(one);
    await between.query('begin; select 1 from deliveries for key share');
    await one.record([resultOf(claimed!, delivered)]);
    await between.query('commit');
    expect(await counted()).toEqual([{ state: 'delivered', n: 1 }]);
  });

  test('the rows of a digest are locked once, not once for each', async () => {
    const deliveries = [planned({ group: 'digest', groupMax: 10 })];
    for (let n = 0; n < 3; n += 1) await one.accept(arrival({}, { deliveries }));
    const [claimed] = await claimDue(one);
    await between.query(
      `prepare deferred (bigint, text, bigint, bigint, bigint, text) as ${carrying.defer.digest}`,
    );
    const explained = await between.query<{ readonly 'QUERY PLAN': string }>(
      `explain (analyze, timing off) execute deferred (${claimed!.row.carrier}, 'sending 1', ${t0}, 0, ${t0}, null)`,
    );
    const plan = explained.rows.map((row) => row['QUERY PLAN']);
    expect(plan.filter((step) => step.includes('LockRows'))).toEqual([
      expect.stringMatching(/rows=3(?:\.00)? loops=1\)/),
    ]);
  });

  test('writes that waited too long for a lock are refused together, as each alone would wait as long again', async () => {
    const hasty = await openPostgres(url, { limits: { lockMs: 100 } });
    stores.push(hasty);
    await one.accept(arrival());
    await one.accept(arrival());
    const claims = await claimDue(one);
    await between.query('begin; lock table attempts');
    const writes = [
      ...claims.map((claim) => hasty.record([resultOf(claim, delivered)])),
      hasty.saveConfig({ id: 'another', source: {}, savedAt: t0 }),
    ];
    const locked = { reason: { message: expect.stringContaining('stay locked') } };
    expect(await Promise.allSettled(writes)).toMatchObject([locked, locked, locked]);
    await between.query('commit');
  });

  test('an event is stored while somebody keeps a table locked that outcomes need', async () => {
    await one.accept(arrival());
    const [claimed] = await claimDue(one);
    await between.query('begin; lock table attempts');
    const recorded = one.record([resultOf(claimed!, delivered)]);
    await expect.poll(waiting).toBe(1);
    await one.accept(arrival());
    await one.probe();
    expect(await waiting()).toBe(1);
    await between.query('commit');
    await recorded;
  });

  test('a claim whose commit goes on after its connection was lost is rescued, too', async () => {
    const { eventId } = await one.accept(arrival());
    const asked = leaseRequest({ names: ['sink slack'], forMs: day });
    const { held } = await one.leases!.renew(asked);
    const lease = { name: 'sink slack', replica: 'a', epoch: held.get('sink slack')! };
    const claim = `select 1 from leases for share;
      update deliveries set state = 'sending', attempts = 1, started_at = ${t0}, first_attempt_at = ${t0}`;
    const rescued = await atOnce(claim, () => one.rescue(t0, minute, { sink: 'slack', lease }));
    expect(rescued).toEqual([1]);
    const [delivery] = (await one.event(eventId))!.deliveries;
    expect(delivery).toMatchObject({ state: 'pending', uncertain: true, dueAt: t0 + minute });
  });

  test('an event is deleted and counted once', async () => {
    await carriedOut(one, [delivered, delivered]);
    const pruned = await atOnce(
      allDeliveries,
      () => prune(one, t0 + day),
      () => prune(other, t0 + day),
    );
    expect(new Set(pruned)).toEqual(new Set([0, 2]));
    expect(await sql(url, 'select * from delivery_counts where n <> 0')).toEqual([]);
    expect(await sql(url, 'select id from configs where uses <> 0')).toEqual([]);
  });

  test('what a restored store has is asked for before it is sent, by the statement of docs/deploy.md', async () => {
    await carriedOut(one, [delivered, rejected]);
    await one.accept(arrival());
    await one.accept(undecided('ana'));
    const page = readFileSync(join(import.meta.dirname, '../../../docs/deploy.md'), 'utf8');
    const [, statement] = /psql "\$STORE_URL" -c "(.*)"/.exec(page)!;
    await sql(url, statement!);
    const found = await one.deliveries({ states: ['delivered', 'dead', 'pending'] });
    expect(found.map(({ state, uncertain }) => [state, uncertain])).toEqual([
      ['delivered', false],
      ['dead', true],
      ['pending', true],
    ]);
    expect(await sql(url, 'select uncertain from undecided')).toEqual([{ uncertain: '1' }]);
  });

  test('however many there are: some at a time, and the store is at home when none is left', async () => {
    for (const come of [arrival(), arrival(), undecided('ana')]) await one.accept(come);
    await sql(url, `insert into home values (1, 'before')`);
    const found: unknown[] = [];
    for (let calls = 0; calls < 4; calls += 1) {
      const operation = settleIn({ isAt: (kept) => kept === 'here', next: () => 'here' }, t0, 2);
      found.push(...(await inLockstep([operation], (statements) => send(between, statements, 10_000))));
    }
    expect(found).toEqual([2, 2, 0, null]);
  });

  test('and what another replica decides at that moment is among it', async () => {
    await one.accept(undecided('ana'));
    await sql(
      url,
      `insert into home values (1, 'before'); update deliveries set due_at = ${t0 + 9999 * day}`,
    );
    const request = leaseRequest({ forMs: day });
    const decided = `delete from undecided; update deliveries set due_at = ${t0}`;
    const [state] = await atOnce(decided, () => one.leases!.renew(request));
    expect(state!.distrusted).toBe(1);
  });

  test('a config that is saved again is not deleted', async () => {
    await atOnce(`update configs set saved_at = ${t0 + 2 * day}`, () => prune(other, t0 + day));
    expect(await one.config(configId)).toEqual({});
  });
});
