import { setTimeout as sleep } from 'node:timers/promises';
import { once } from 'node:events';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { LeaseKeeper, type Holding, type LeaseParts, type Leases } from '../../src/deliveries/leases.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { type Lease, type LeaseStore, type Store, StoreUnavailable } from '../../src/store/store.ts';
import { systemClock } from '../../src/support/clock.ts';
import {
  arrival,
  claimDue,
  configId,
  day,
  idsOf,
  leaseRequest,
  planned,
  prune,
  t0,
} from '../contract/store-fixtures.ts';

import { freshSchema, sql } from '../fixtures/postgres.ts';
import { bench, configFor, ScriptedTool, skipping } from './scripted.ts';
import { eventually } from '../fixtures/eventually.ts';

const minuteMs = 60_000;

/** Replicas on one real store, each under a clock that stands still, and that renews when a test says so. */
async function cluster() {
  const url = await freshSchema();
  const opened: Store[] = [];
  const open = async () => {
    const store = await openPostgres(url);
    opened.push(store);
    return store;
  };
  onTestFinished(async () => {
    await Promise.all(opened.map((store) => store.close()));
  });
  return {
    url,
    open,
    /** By the database's clock, everything that this replica has has run out. */
    runOut: async (replica: string): Promise<void> => {
      await sql(url, `update leases set until = 1 where holder = '${replica}'`);
      await sql(url, `update copies set until = 1 where id = '${replica}'`);
    },
    replica: async (
      replica: string,
      names: readonly string[],
      parts: Partial<LeaseParts> = {},
    ): Promise<Replica> => {
      const made = new Replica(await open(), replica, names, parts);
      await made.keeper.start();
      return made;
    },
  };
}

class Replica {
  names: readonly string[];
  extra: readonly string[] = [];
  elapsed = 0;
  now = t0;
  readonly failures: unknown[] = [];
  readonly taken: Lease[] = [];
  readonly lost: string[] = [];
  readonly keeper: LeaseKeeper;
  #alarm: (() => void) | null = null;

  constructor(store: Store, replica: string, names: readonly string[], parts: Partial<LeaseParts>) {
    this.names = names;
    const leases = store.leases!;
    this.keeper = new LeaseKeeper({
      // By a clock that stands still, the database's seems to be set ahead on a slow machine.
      store: { ...leases, renew: (asked) => leases.renew({ ...asked, nowAbout: undefined }) },
      clock: {
        now: () => this.now,
        elapsed: () => this.elapsed,
        after: (_, run) => {
          this.#alarm = run;
          return () => (this.#alarm = null);
        },
      },
      replica: replica,
      asked: () => ({ configId, callsBy: 'same', names: this.names, extra: this.extra }),
      taken: async (lease) => void this.taken.push(lease),
      lost: (name) => this.lost.push(name),
      idle: async () => {},
      replicas: () => {},
      quietMs: () => 0,
      moved: () => {},
      configLost: () => {},
      told: () => {},
      failed: (error) => this.failures.push(error),
      ...parts,
    });
  }

  async renew(): Promise<void> {
    const run = this.#alarm!;
    this.#alarm = null;
    run();
    await vi.waitUntil(() => this.#alarm !== null, { timeout: 20_000, interval: 2 });
  }

  get held(): string[] {
    return [...new Set([...this.names, ...this.extra])].filter((name) => this.keeper.holding(name) !== null);
  }
}

/** Each renews often enough for everything to have found its place. */
async function settle(...replicas: Replica[]): Promise<void> {
  for (let round = 0; round < 4; round += 1) for (const replica of replicas) await replica.renew();
}

const sinksTo = (count: number) => Array.from({ length: count }, (_, n) => `sink ${n}`);

const shares = (...replicas: Replica[]) => {
  const held = replicas.flatMap((replica) => replica.held);
  expect(new Set(held).size, 'nothing is held twice').toBe(held.length);
  return replicas.map((replica) => replica.held.length).toSorted((a, b) => a - b);
};

describe('replicas', () => {
  test('share evenly, also when another one comes or goes', async () => {
    const { replica } = await cluster();
    const a = await replica('a', sinksTo(7));
    expect(a.held).toHaveLength(7);
    const b = await replica('b', sinksTo(7));
    await settle(a, b);
    expect(shares(a, b)).toEqual([3, 4]);
    const c = await replica('c', sinksTo(7));
    await settle(a, b, c);
    expect(shares(a, b, c)).toEqual([2, 2, 3]);
    await b.keeper.stop();
    await settle(a, c);
    expect(shares(a, c)).toEqual([3, 4]);
  });

  test('leave everything where it is once it is shared', async () => {
    const { replica } = await cluster();
    const all = [
      await replica('a', sinksTo(8)),
      await replica('b', sinksTo(8)),
      await replica('c', sinksTo(8)),
    ];
    await settle(...all);
    const before = all.map(({ held }) => held);
    const takenBefore = all.map(({ taken }) => taken.length);
    await settle(...all);
    expect(all.map(({ held }) => held)).toEqual(before);
    expect(all.map(({ taken }) => taken.length)).toEqual(takenBefore);
  });

  test('take over from one that died, but not before its leases have run out', async () => {
    const { replica, runOut, url } = await cluster();
    const a = await replica('a', sinksTo(4));
    const b = await replica('b', sinksTo(4));
    await settle(a, b);
    const left = a.held;
    await sql(url, `update copies set until = 1 where id = 'a'`);
    await settle(b);
    expect(b.held).toHaveLength(2);
    await runOut('a');
    await settle(b);
    expect(b.held).toHaveLength(4);
    const epochs = b.taken.filter(({ name }) => left.includes(name)).map(({ epoch }) => epoch);
    expect(epochs).toEqual([2, 2]);
  });

  test('hand over what is idle, and begin nothing more until then', async () => {
    const { replica } = await cluster();
    const busy = Promise.withResolvers<void>();
    const a = await replica('a', sinksTo(2), { idle: () => busy.promise });
    const b = await replica('b', sinksTo(2));
    await settle(a, b);
    expect(a.held).toHaveLength(1);
    expect(b.held).toHaveLength(0);
    busy.resolve();
    await eventually(async () => {
      await settle(a, b);
      expect(shares(a, b)).toEqual([1, 1]);
    });
  });

  test('hold what only one of them has in its config there', async () => {
    const { replica } = await cluster();
    const a = await replica('a', [...sinksTo(2), 'x', 'y', 'z']);
    const b = await replica('b', sinksTo(2));
    await settle(a, b);
    expect(a.held).toEqual(['x', 'y', 'z']);
    expect(b.held).toEqual(sinksTo(2));
  });

  test('hand over what left their config to one that still has it', async () => {
    const { replica } = await cluster();
    const a = await replica('a', sinksTo(2));
    const b = await replica('b', sinksTo(2));
    await settle(a, b);
    const before = a.held;
    a.names = [];
    await settle(a, b);
    expect(b.held).toEqual(sinksTo(2));
    expect(before.map((name) => a.keeper.holding(name))).toEqual([null]);
  });

  test('leave a sink that none has in its config alone until a new config had time to reach all of them', async () => {
    const { replica } = await cluster();
    const a = await replica('a', sinksTo(2));
    const b = await replica('b', sinksTo(2));
    for (const one of [a, b]) one.extra = ['sink new'];
    await settle(a, b);
    expect([...a.held, ...b.held]).not.toContain('sink new');
    for (const one of [a, b]) one.elapsed += 11_000;
    await settle(a, b);
    expect([...a.held, ...b.held]).not.toContain('sink new');
    for (let passedMs = 0; passedMs < minuteMs; passedMs += 10_000) {
      for (const one of [a, b]) one.elapsed += 10_000;
      await settle(a, b);
    }
    const holders = [a, b].filter(({ held }) => held.includes('sink new'));
    expect(holders).toHaveLength(1);
    expect(holders[0]!.keeper.holding('sink new')).toMatchObject({ orphaned: true });
  });

  test('leave a sink alone that another one has in its config', async () => {
    const { replica } = await cluster();
    const a = await replica('a', []);
    const b = await replica('b', ['sink new']);
    a.extra = ['sink new'];
    for (let passedMs = 0; passedMs < 2 * minuteMs; passedMs += 10_000) {
      for (const one of [a, b]) one.elapsed += 10_000;
      await settle(a, b);
    }
    expect(b.held).toEqual(['sink new']);
    expect(a.held).toEqual([]);
  });
});

describe('a replica', () => {
  test('that stood still holds nothing, and learns what others have taken over', async () => {
    const { replica, runOut } = await cluster();
    const a = await replica('a', ['one']);
    a.elapsed += 10_000;
    expect(a.held).toEqual([]);
    await runOut('a');
    const b = await replica('b', ['one']);
    expect(b.held).toEqual(['one']);
    await a.renew();
    expect(a.held).toEqual([]);
    expect(a.lost).toEqual(['one']);
  });

  test('whose machine was suspended begins and ends nothing before it has renewed', async () => {
    const { replica, runOut } = await cluster();
    const a = await replica('a', ['taken', 'kept']);
    const [taken, kept] = a.names.map((name) => a.keeper.holding(name)!);
    a.now += minuteMs;
    expect([a.held, taken!.until, kept!.until]).toEqual([[], -Infinity, -Infinity]);
    await runOut('a');
    await replica('b', ['taken']);
    await a.renew();
    expect([a.held, taken!.until, kept!.until]).toEqual([['kept'], -Infinity, 10_000]);
  });

  test('that cannot renew begins nothing after its time, and goes on with what nobody took', async () => {
    const { replica, runOut, open } = await cluster();
    const { leases } = await open();
    let isAway = false;
    const a = await replica('a', sinksTo(3), {
      store: {
        ...leases!,
        renew: (asked) =>
          isAway ? Promise.reject(new StoreUnavailable('It is away.')) : leases!.renew(asked),
      },
    });
    const holding = a.keeper.holding('sink 0')!;
    a.elapsed += 3000;
    await a.renew();
    expect(holding.until).toBe(13_000);
    isAway = true;
    a.elapsed += 9000;
    await a.renew();
    expect(a.failures).toHaveLength(1);
    expect(a.held).toHaveLength(3);
    a.elapsed += 1000;
    expect(a.held).toEqual([]);
    expect(holding.until).toBe(13_000);
    expect(a.keeper.fault).toBe(null);
    a.elapsed += 9000;
    expect(a.keeper.fault).toEqual(new StoreUnavailable('It is away.'));
    isAway = false;
    await runOut('a');
    await a.renew();
    expect(a.held).toHaveLength(3);
    expect(a.keeper.fault).toBe(null);
    // What is under way must not be taken for something that an ended process left.
    expect(a.taken).toHaveLength(3);
    expect(a.lost).toEqual([]);
  });

  test('takes nothing over at once when the database was away: the others have to renew first', async () => {
    const { replica, runOut, open } = await cluster();
    const { leases } = await open();
    let isAway = false;
    const store: LeaseStore = {
      ...leases!,
      renew: (asked) => (isAway ? Promise.reject(new StoreUnavailable('It is away.')) : leases!.renew(asked)),
    };
    const a = await replica('a', sinksTo(4));
    const b = await replica('b', sinksTo(4), { store });
    await settle(a, b);
    isAway = true;
    await b.renew();
    isAway = false;
    for (const one of ['a', 'b']) await runOut(one);
    await b.renew();
    await a.renew();
    expect(shares(a, b)).toEqual([2, 2]);
    await runOut('a');
    await b.renew();
    expect(b.held).toHaveLength(2);
    b.elapsed += 3000;
    await b.renew();
    expect(b.held).toHaveLength(4);
  });

  test.each([
    ['ahead', minuteMs],
    ['back', -60 * minuteMs],
  ])(
    "takes nothing over at once when the database's clock was set %s: the others have to renew first",
    async (_, byMs) => {
      const { replica, open, url } = await cluster();
      const { leases } = await open();
      let [aheadMs, askedAt] = [0, 0];
      // By the clock of its answers and of what has run out, the database is ahead. The replica's clock stands still.
      const store: LeaseStore = {
        ...leases!,
        async renew({ nowAbout, ...asked }) {
          const passedMs = performance.now() - askedAt;
          askedAt += passedMs;
          const about = nowAbout === undefined ? undefined : nowAbout + passedMs - aheadMs;
          const state = await leases!.renew({ ...asked, nowAbout: about });
          return { ...state, now: state.now + aheadMs };
        },
      };
      const a = await replica('a', sinksTo(4));
      const b = await replica('b', sinksTo(4), { store });
      await settle(a, b);
      const set = async () => {
        for (const [table, id] of Object.entries({ leases: 'holder', copies: 'id' }))
          await sql(url, `update ${table} set until = until - ${byMs} where ${id} = 'a'`);
      };
      aheadMs = byMs;
      await set();
      await b.renew();
      await a.renew();
      expect(shares(a, b)).toEqual([2, 2]);
      await set();
      await b.renew();
      expect(b.held).toHaveLength(2);
      b.elapsed += 3000;
      aheadMs += 3000;
      await b.renew();
      expect(b.held).toHaveLength(4);
    },
  );

  test("takes over from one that died before the database's clock was set back", async () => {
    const { replica, url } = await cluster();
    await replica('a', sinksTo(2));
    for (const table of ['leases', 'copies']) await sql(url, `update ${table} set until = until + 3600000`);
    expect((await replica('b', sinksTo(2))).held).toHaveLength(2);
  });

  test("takes a turn that one had who died before the database's clock was set back", async () => {
    const { url, open } = await cluster();
    const { leases } = await open();
    const turn = (holder: string) => leases!.takeTurn('consent', holder, 30_000);
    expect([await turn('a'), await turn('b')]).toEqual([true, false]);
    await sql(url, 'update leases set until = until + 3600000');
    expect(await turn('b')).toBe(true);
  });

  test('holds a lease only when what the one before left is looked after, and tries that again', async () => {
    const { replica } = await cluster();
    let failures = 1;
    const looked = Promise.withResolvers<void>();
    const a = await replica('a', ['one'], {
      taken: async () => {
        if (failures > 0) {
          failures -= 1;
          throw new StoreUnavailable('It is away.');
        }
        await looked.promise;
      },
    });
    await a.renew();
    expect(a.failures).toHaveLength(1);
    expect(a.held).toEqual([]);
    looked.resolve();
    await eventually(() => expect(a.held).toEqual(['one']));
  });

  test('are at fault while a lease cannot be taken for long, until it can or another one holds it', async () => {
    const { replica, runOut } = await cluster();
    let isAway = true;
    const a = await replica('a', ['one'], {
      taken: async () => {
        if (isAway) throw new StoreUnavailable('It is away.');
      },
    });
    const failsUntil = async (elapsed: number) => {
      a.elapsed = elapsed;
      await a.renew();
    };
    await failsUntil(9999);
    expect(a.keeper.fault).toBe(null);
    await failsUntil(10_000);
    expect(a.keeper.fault).toEqual(new StoreUnavailable('It is away.'));
    await runOut('a');
    const b = await replica('b', ['one']);
    await settle(b, a);
    expect([b.held, a.keeper.fault]).toEqual([['one'], null]);
    await b.keeper.stop();
    await failsUntil(20_000);
    await failsUntil(30_000);
    expect(a.keeper.fault).not.toBe(null);
    isAway = false;
    await a.renew();
    await eventually(() => expect(a.held).toEqual(['one']));
    expect(a.keeper.fault).toBe(null);
  });

  test('does not give back what it got again in the meantime', async () => {
    const { replica, runOut, url } = await cluster();
    const busy = Promise.withResolvers<void>();
    const a = await replica('a', sinksTo(2), { idle: () => busy.promise });
    const b = await replica('b', sinksTo(2));
    await a.renew();
    expect(a.held).toHaveLength(1);
    // The other one takes over everything, and ends.
    await runOut('a');
    await b.renew();
    await b.keeper.stop();
    await a.renew();
    expect(a.held).toHaveLength(2);
    busy.resolve();
    await eventually(async () => {
      await a.renew();
      expect(a.held).toHaveLength(2);
    });
    const rows = await sql(url, `select name, holder, epoch from leases order by name`);
    expect(rows.map(({ holder }) => holder)).toEqual(['a', 'a']);
    expect(a.lost).toHaveLength(2);
  });
});

/** A lease that a test gives and takes. */
class GivenLease implements Leases {
  lease: Lease | undefined;
  until = Infinity;
  orphaned = false;

  holding(): Holding | null {
    const { lease, orphaned } = this;
    const until = () => this.until;
    return lease && this.until > systemClock.elapsed()
      ? {
          lease,
          orphaned,
          get until() {
            return until();
          },
        }
      : null;
  }
}

/** As another replica takes it at the end of the one before. */
async function take(store: Store, replica: string, name = 'sink tool'): Promise<Lease> {
  const asked = leaseRequest({ replica, names: [name] });
  const { held } = await store.leases!.renew(asked);
  return { name, replica, epoch: held.get(name)! };
}

/** Somebody's session in the store's schema, as of a database tool. */
async function sessionOn(url: string): Promise<Client> {
  const session = new Client({ connectionString: url.replace(/\?.*/, '') });
  onTestFinished(() => session.end());
  await session.connect();
  await session.query(`set search_path to ${new URL(url).searchParams.get('schema')}`);
  return session;
}

/** A worker on PostgreSQL that has the lease of its sink. */
async function working(
  scripted: ScriptedTool,
  sink = '',
  wrap: (store: Store) => Partial<Store> = () => ({}),
  pollMs = 20,
) {
  const { url, open, runOut } = await cluster();
  const real = await open();
  const { clock, skip } = skipping();
  let areTimersHeld = false;
  let behindMs = 0;
  const after = (ms: number, run: () => void) => (areTimersHeld ? () => {} : clock.after(ms, run));
  let looks = 0;
  let isBusy = false;
  const store: Store = {
    ...real,
    lanes: (from) => {
      looks += 1;
      if (isBusy) on.worker.wake();
      return real.lanes(from);
    },
    ...wrap(real),
  };
  const leases = new GivenLease();
  const errors: unknown[] = [];
  const config = configFor(scripted, sink);
  const on = await bench(config, {
    store,
    leases,
    pollMs,
    clock: { ...clock, now: () => clock.now() - behindMs, after },
    storeFailed: (error) => errors.push(error),
  });
  leases.lease = await take(real, 'a');
  return {
    ...on,
    url,
    leases,
    errors,
    real,
    skip,
    setClockBack: (ms: number) => void (behindMs += ms),
    /** From now on nothing happens by itself after a time. */
    holdTimers: () => void (areTimersHeld = true),
    configId: config.plan.id,
    /** It has claimed all that it wants. */
    looked: async () => {
      const before = looks;
      await eventually(() => expect(looks).toBeGreaterThan(before + 2));
    },
    /** From now on it never rests. */
    beBusy: () => {
      isBusy = true;
      on.worker.wake();
    },
    /** Another replica takes over the sink. */
    takeOver: async (): Promise<Lease> => {
      await runOut('a');
      return take(real, 'b');
    },
  };
}

const reached = async (
  on: { delivery: (id: string) => Promise<{ state: string }> },
  id: string,
  state: string,
) =>
  eventually(async () => expect(await on.delivery(id)).toMatchObject({ state }), {
    timeout: 20_000,
    interval: 10,
  });

describe('a worker', () => {
  test('gets nothing with a lease that another replica has taken over', async () => {
    const scripted = new ScriptedTool();
    const on = await working(scripted);
    await on.takeOver();
    const eventId = await on.accept();
    await on.looked();
    expect(await on.delivery(eventId)).toMatchObject({ state: 'pending', attempts: 0 });
    expect(scripted.sent).toEqual([]);
  });

  test('begins nothing with an event when another replica has taken the lease over', async () => {
    const scripted = new ScriptedTool();
    const on = await working(scripted);
    expect(await on.delivery(await on.receive('before'))).toMatchObject({ attempts: 1 });
    await eventually(() => expect(on.reports).toHaveLength(1));
    await on.takeOver();
    const eventId = await on.receive('after');
    await on.looked();
    expect(await on.delivery(eventId)).toMatchObject({ state: 'pending', attempts: 0 });
    expect(scripted.sent).toHaveLength(1);
  });

  test('sends nothing when the lease has run out since the claim', async () => {
    const scripted = new ScriptedTool();
    const on = await working(scripted, '', (store) => ({
      async claim(query) {
        const claimed = await store.claim(query);
        if (on.reports.length === 0) on.leases.until = -Infinity;
        return claimed;
      },
    }));
    const eventId = await on.accept();
    await eventually(() => expect(on.reports).toHaveLength(1));
    expect(scripted.sent).toEqual([]);
    on.leases.until = Infinity;
    await reached(on, eventId, 'delivered');
    const outcomes = () => on.reports.map(({ outcome }) => outcome.outcome);
    await expect.poll(outcomes).toEqual(['retry', 'delivered']);
  });

  test('ends an attempt when the lease runs out, however long the time-out is', async () => {
    const scripted = new ScriptedTool();
    const on = await working(scripted, 'timeout: 10m');
    scripted.deliver = async ({ signal }) => {
      on.leases.until = systemClock.elapsed() + 100;
      if (!signal.aborted) await once(signal, 'abort');
      return { outcome: 'unknown', reason: 'timeout', detail: 'No answer.' };
    };
    const eventId = await on.accept();
    await eventually(() => expect(on.reports).toHaveLength(1));
    expect(await on.delivery(eventId)).toMatchObject({ state: 'pending', attempts: 1, uncertain: true });
  });

  test('leaves a sink alone that its config does not have and another replica may have', async () => {
    const scripted = new ScriptedTool();
    const on = await working(scripted);
    const holding = on.leases.lease;
    on.leases.lease = undefined;
    const eventId = await on.accept();
    const { plan, ...rest } = configFor(scripted);
    await on.adopt({ ...rest, plan, sinks: new Map() });
    on.leases.lease = holding;
    await on.looked();
    expect(await on.delivery(eventId)).toMatchObject({ state: 'pending', attempts: 0 });
    on.leases.orphaned = true;
    await reached(on, eventId, 'dead');
  });

  test('tells also of what was being sent to a sink that left the config: nobody else would look for it', async () => {
    const on = await working(new ScriptedTool());
    const holding = on.leases.lease;
    on.leases.lease = undefined;
    const eventId = await on.accept();
    await claimDue(on.real, Date.now(), 'tool');
    const { plan, ...rest } = configFor(new ScriptedTool());
    await on.adopt({ ...rest, plan, sinks: new Map() });
    await on.looked();
    await eventually(() => expect(on.worker.sinksWithDeliveries).toContain('tool'));
    Object.assign(on.leases, { lease: holding, orphaned: true });
    await reached(on, eventId, 'dead');
    await eventually(() => expect(on.worker.sinksWithDeliveries).not.toContain('tool'));
  });

  test('takes over one sink: rescues what is its, and restores its pause', async () => {
    const scripted = new ScriptedTool();
    const on = await working(scripted);
    const { lease } = on.leases;
    on.leases.lease = undefined;
    const eventId = await on.accept();
    const others = arrival(
      {},
      { configId: on.configId, deliveries: [planned({ sink: 'other', lane: 'other' })] },
    );
    const [other] = idsOf(await on.real.accept(others));
    await claimDue(on.real, Date.now(), 'tool');
    await claimDue(on.real, Date.now(), 'other');
    const soon = Date.now() + minuteMs;
    await on.real.keepPause({ sink: 'tool', since: Date.now(), probeAt: soon, probes: 3, because: null });
    expect(await on.worker.takeOver('tool', lease!)).toBe(1);
    expect(await on.delivery(eventId)).toMatchObject({ state: 'pending', uncertain: true });
    expect(await on.real.delivery(other!)).toMatchObject({ state: 'sending' });
    expect(on.changes).toEqual(['tool paused']);
  });

  test('takes over without a burst: nobody knows how much of the rate was used', async () => {
    const scripted = new ScriptedTool();
    const on = await working(scripted, 'rate: 5/h');
    const { lease } = on.leases;
    on.leases.lease = undefined;
    await Promise.all(Array.from({ length: 3 }, (_, n) => on.accept(`candidate-${n}`)));
    await on.worker.takeOver('tool', lease!);
    on.leases.lease = lease;
    await on.looked();
    expect(scripted.sent).toEqual([]);
  });

  test('rescues nothing with a lost lease: it may be what the next replica is sending', async () => {
    const on = await working(new ScriptedTool());
    const lost = on.leases.lease!;
    on.leases.lease = undefined;
    const eventId = await on.accept();
    const lease = await on.takeOver();
    await on.real.claim({ lane: 'tool', now: Date.now(), limit: 1, lease });
    expect(await on.worker.takeOver('tool', lost)).toBe(0);
    expect(await on.delivery(eventId)).toMatchObject({ state: 'sending', uncertain: false });
    expect(await on.worker.takeOver('tool', lease)).toBe(1);
  });

  test('takes a sink over again only when its own attempts have ended', async () => {
    const scripted = new ScriptedTool();
    const answer = Promise.withResolvers<Outcome>();
    scripted.deliver = () => answer.promise;
    const on = await working(scripted, 'timeout: 60s');
    const eventId = await on.accept();
    await eventually(() => expect(scripted.sent).toHaveLength(1));
    on.leases.lease = undefined;
    const lease = await on.takeOver();
    const taken = on.worker.takeOver('tool', lease);
    // Time enough for it to rescue what is under way.
    for (let writes = 0; writes < 5; writes += 1) await on.real.probe();
    answer.resolve({ outcome: 'delivered', receipt: {} });
    expect(await taken).toBe(0);
    expect(await on.delivery(eventId)).toMatchObject({ state: 'delivered', attempts: 1 });
  });

  test('clears up a claim that was stored without an answer', async () => {
    const scripted = new ScriptedTool();
    let claims = 0;
    const on = await working(scripted, '', (store) => ({
      async claim(query) {
        const claimed = await store.claim(query);
        if (claimed.length === 0) return claimed;
        claims += 1;
        if (claims === 1) throw new StoreUnavailable('Whether it was stored is not known.');
        return claimed;
      },
    }));
    const eventId = await on.accept();
    await reached(on, eventId, 'delivered');
    expect(await on.delivery(eventId)).toMatchObject({ attempts: 2 });
    expect(scripted.sent).toHaveLength(1);
    expect(on.errors).toHaveLength(1);
  });

  /** From now on nothing that PostgreSQL has of deliveries can be changed. Returns what ends that. */
  async function readOnly(url: string): Promise<() => Promise<unknown>> {
    await sql(
      url,
      `create function refuse() returns trigger language plpgsql as
         $$ begin raise exception 'permission denied' using errcode = '42501'; end $$;
       create trigger refuse before update on deliveries for each statement execute function refuse()`,
    );
    return () => sql(url, 'drop trigger refuse on deliveries');
  }

  test('is at fault while a claim fails, also while the sink waits to be cleared up', async () => {
    const scripted = new ScriptedTool();
    const sent = Promise.withResolvers<Outcome>();
    scripted.deliver = () => sent.promise;
    const on = await working(scripted, 'concurrency: 1, timeout: 10m');
    const allow = await readOnly(on.url);
    const first = await on.accept('ana');
    const last = await on.accept('ben');
    await eventually(() => expect(on.errors.length).toBeGreaterThan(1));
    expect(on.worker.fault).toBe(null);
    on.skip(10_000);
    for (let times = 0; times < 3; times += 1) {
      expect(on.worker.fault).toBeInstanceOf(StoreUnavailable);
      await on.looked();
    }
    await allow();
    await reached(on, first, 'sending');
    // The other one is due, too, and waits for its turn.
    await eventually(() => expect(on.worker.fault).toBe(null));
    sent.resolve({ outcome: 'delivered', receipt: {} });
    await reached(on, last, 'delivered');
  });

  test('sends what it can while a session keeps the row of a delivery locked, and is at fault for that one', async () => {
    const scripted = new ScriptedTool();
    const on = await working(scripted);
    const { lease } = on.leases;
    on.leases.lease = undefined;
    const kept = await on.accept('ana');
    const session = await sessionOn(on.url);
    await session.query('begin; update deliveries set last_error = null');
    on.leases.lease = lease;
    await reached(on, await on.accept('ben'), 'delivered');
    await on.looked();
    on.skip(10_000);
    const locked = { message: expect.stringContaining('tool is locked') };
    await eventually(() => expect(on.worker.fault).toMatchObject(locked));
    await reached(on, await on.accept('cyd'), 'delivered');
    expect(on.worker.fault).toMatchObject(locked);
    expect(on.errors).toEqual([]);
    await session.query('rollback');
    await reached(on, kept, 'delivered');
    await eventually(() => expect(on.worker.fault).toBe(null));
    expect(scripted.sent).toHaveLength(3);
  });

  test('sends what it can after the clock was set back while a session keeps locked what is to be due sooner', async () => {
    const scripted = new ScriptedTool();
    scripted.deliver = async () =>
      scripted.sent.length > 1
        ? { outcome: 'delivered', receipt: {} }
        : { outcome: 'retry', reason: 'server', detail: 'Later.', retryAfterMs: 2 * minuteMs };
    const on = await working(scripted);
    const kept = await on.accept('ana');
    await eventually(() => expect(on.reports).toHaveLength(1));
    const session = await sessionOn(on.url);
    await session.query('begin; update deliveries set last_error = null');
    on.setClockBack(60 * minuteMs);
    await reached(on, await on.accept('ben'), 'delivered');
    on.skip(10_000);
    await eventually(() => expect(on.worker.fault).toBeInstanceOf(StoreUnavailable));
    await session.query('rollback');
    await eventually(() => expect(on.changes).toContainEqual(expect.stringMatching(/^1 pulled in/)));
    await eventually(() => expect(on.worker.fault).toBe(null));
    on.skip(2 * minuteMs);
    await reached(on, kept, 'delivered');
  });

  test.each([null, 'of Monday'])(
    'takes a sink over while a session keeps a row of what was being sent (group %j) locked, and is at fault for that one',
    async (group) => {
      const scripted = new ScriptedTool();
      const on = await working(scripted);
      const { lease } = on.leases;
      on.leases.lease = undefined;
      const deliveries = [planned({ sink: 'tool', connector: 'tool', lane: 'tool', group, groupMax: 10 })];
      const ids: string[] = [];
      for (let n = 0; n < 2; n += 1)
        ids.push(...idsOf(await on.real.accept(arrival({}, { configId: on.configId, deliveries }))));
      await claimDue(on.real, Date.now(), 'tool');
      const session = await sessionOn(on.url);
      await session.query(
        'begin; update deliveries set last_error = null where seq = (select max(seq) from deliveries)',
      );
      expect(await on.worker.takeOver('tool', lease!)).toBe(group === null ? 1 : 0);
      on.leases.lease = lease;
      await reached(on, await on.accept('ben'), 'delivered');
      expect(await on.real.delivery(ids[1]!)).toMatchObject({ state: 'sending' });
      const locked = { message: expect.stringContaining('tool is locked') };
      await eventually(() => {
        on.skip(5000);
        expect(on.worker.fault).toMatchObject(locked);
      });
      await reached(on, await on.accept('cyd'), 'delivered');
      expect(on.errors).toEqual([]);
      await session.query('rollback');
      await eventually(async () =>
        expect(await on.real.delivery(ids[1]!)).not.toMatchObject({ state: 'sending' }),
      );
      await eventually(() => expect(on.worker.fault).toBe(null));
    },
  );

  test.each(['first', 'other'] as const)(
    'goes without the %s event of a new digest while a session keeps its row locked, and leaves a digest that was tried',
    async (which) => {
      const { url, open } = await cluster();
      const store = await open();
      await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
      const lease = await take(store, 'a', 'sink slack');
      const accept = async (group: string | null) => {
        await store.accept(arrival({}, { deliveries: [planned({ group, groupMax: 10 })] }));
      };
      const claimed = async (limit = 10) => {
        const claims = await store.claim({ lane: 'slack #hiring', now: t0, limit, lease });
        return claims.map(({ delivery: { group, attempts }, events }) => [events.length, group, attempts]);
      };
      for (let n = 0; n < 3; n += 1) await accept('tried');
      expect(await claimed()).toEqual([[3, 'tried', 1]]);
      await store.rescue(t0, 0, { sink: 'slack', lease });
      for (const group of ['new', 'new', 'new', null]) await accept(group);
      const session = await sessionOn(url);
      const chosen = which === 'first' ? 'min' : 'max';
      await session.query(`begin; update deliveries set last_error = null where seq in
        (select ${chosen}(seq) from deliveries where group_key is not null group by group_key)`);
      expect(await claimed(1)).toEqual([[2, 'new', 1]]);
      expect(await claimed()).toEqual([[1, null, 1]]);
      await session.query('rollback');
      expect(await claimed()).toEqual([
        [3, 'tried', 2],
        [1, 'new', 1],
      ]);
    },
  );

  test('does not repeat a claim that is refused as soon as its sink is cleared up', async () => {
    let [claims, rescues] = [0, 0];
    const refused = () => {
      claims += 1;
      return Promise.reject(new StoreUnavailable('It is refused.'));
    };
    const rescue: Store['rescue'] = async () => {
      rescues += 1;
      return 0;
    };
    const on = await working(new ScriptedTool(), '', () => ({ claim: refused, rescue }), 3_600_000);
    on.holdTimers();
    await on.accept();
    await eventually(() => expect(rescues).toBe(1));
    for (let round = 0; round < 20; round += 1) await on.real.lanes();
    expect(claims).toBe(1);
  });

  test('is not at fault any more once a claim that failed is not to be made, as a person has paused the sink', async () => {
    const on = await working(new ScriptedTool());
    const allow = await readOnly(on.url);
    await on.accept();
    await eventually(() => expect(on.errors.length).toBeGreaterThan(1));
    on.skip(10_000);
    expect(on.worker.fault).toBeInstanceOf(StoreUnavailable);
    await on.real.pauseByPerson('tool', null, t0, { who: 'ana', from: '', note: null });
    await allow();
    await eventually(() => expect(on.worker.fault).toBe(null));
  });

  test('is not at fault any more once a claim that failed has to wait, as the tool asked for that', async () => {
    const scripted = new ScriptedTool();
    const answer = Promise.withResolvers<Outcome>();
    scripted.deliver = () => answer.promise;
    const on = await working(scripted, 'concurrency: 2, timeout: 10m');
    const first = await on.accept('ana');
    await reached(on, first, 'sending');
    const allow = await readOnly(on.url);
    await on.accept('ben');
    await eventually(() => expect(on.errors.length).toBeGreaterThan(0));
    on.skip(10_000);
    expect(on.worker.fault).toBeInstanceOf(StoreUnavailable);
    answer.resolve({ outcome: 'retry', reason: 'rate_limited', detail: 'Too many.', retryAfterMs: 240_000 });
    await allow();
    await reached(on, first, 'pending');
    await eventually(() => expect(on.worker.fault).toBe(null));
  });

  test('is at fault while outcomes cannot be recorded, although it finds nothing else to do', async () => {
    const scripted = new ScriptedTool();
    const sent = Promise.withResolvers<Outcome>();
    scripted.deliver = () => sent.promise;
    const on = await working(scripted, 'concurrency: 1, timeout: 10m');
    const eventId = await on.accept();
    await reached(on, eventId, 'sending');
    const allow = await readOnly(on.url);
    sent.resolve({ outcome: 'delivered', receipt: {} });
    await eventually(() => expect(on.errors.length).toBeGreaterThan(0));
    expect(on.worker.fault).toBe(null);
    on.skip(10_000);
    await on.looked();
    expect(on.worker.fault).toBeInstanceOf(StoreUnavailable);
    await allow();
    await reached(on, eventId, 'delivered');
    await eventually(() => expect(on.worker.fault).toBe(null));
  });

  test('clears up what an event began that was stored without an answer', async () => {
    const scripted = new ScriptedTool();
    let events = 0;
    const answerless = (store: Store): Partial<Store> => ({
      // So dear that it looks at everything seldom.
      async lanes(from) {
        await sleep(30);
        return store.lanes(from);
      },
      async accept(came) {
        const accepted = await store.accept(came);
        events += 1;
        if (events === 1) throw new StoreUnavailable('Whether it was stored is not known.');
        return accepted;
      },
    });
    // Nor does it look for strays.
    const on = await working(scripted, '', answerless, 3_600_000);
    await expect(on.receive()).rejects.toThrow('not known');
    const eventId = await on.receive();
    await reached(on, eventId, 'delivered');
    expect(await on.delivery(eventId)).toMatchObject({ attempts: 2 });
    expect(scripted.sent).toHaveLength(1);
  });

  test('becomes idle while it is busy with other sinks, and stores the pause that it learned of last', async () => {
    const scripted = new ScriptedTool();
    const answer = Promise.withResolvers<Outcome>();
    scripted.deliver = () => answer.promise;
    const on = await working(scripted, 'concurrency: 10, timeout: 60s');
    await Promise.all(Array.from({ length: 6 }, (_, n) => on.accept(`candidate-${n}`)));
    await eventually(() => expect(scripted.sent).toHaveLength(6));
    on.leases.lease = undefined;
    on.beBusy();
    await on.looked();
    const idle = on.worker.idle('tool');
    answer.resolve({ outcome: 'retry', reason: 'server', detail: 'Down.', sinkWide: true });
    await idle;
    expect(on.changes).toContain('tool paused');
    expect(await on.real.pauses()).toMatchObject([{ sink: 'tool' }]);
  });

  test('leaves a pause alone that the next replica has stored', async () => {
    const scripted = new ScriptedTool();
    scripted.deliver = () => ({ outcome: 'retry', reason: 'server', detail: 'Down.', sinkWide: true });
    const on = await working(scripted, 'concurrency: 10');
    await Promise.all(Array.from({ length: 6 }, (_, n) => on.accept(`candidate-${n}`)));
    await eventually(async () => expect(await on.real.pauses()).toMatchObject([{ sink: 'tool' }]));
    on.leases.lease = undefined;
    await on.worker.idle('tool');
    on.worker.forget('tool');
    const theirs = { sink: 'tool', since: 1, probeAt: 2, probes: 9, because: null };
    await on.real.keepPause(theirs);
    await on.looked();
    expect(await on.real.pauses()).toEqual([theirs]);
  });
});

test('retention keeps the configs of replicas that are alive, however long no event has used them', async () => {
  const { open, runOut } = await cluster();
  const [a, b] = [await open(), await open()];
  await b.saveConfig({ id: 'cfg_b', source: {}, savedAt: t0 });
  const asked = leaseRequest();
  await b.leases!.renew({ ...asked, replica: 'b', configId: 'cfg_b' });
  await prune(a, t0 + 400 * day);
  expect(await b.accept(arrival({}, { configId: 'cfg_b' }))).toMatchObject({ duplicate: false });
  await b.saveConfig({ id: 'cfg_gone', source: {}, savedAt: t0 });
  await b.leases!.renew({ ...asked, replica: 'b', configId: 'cfg_gone' });
  await runOut('b');
  await a.leases!.renew({ ...asked, replica: 'a', configId });
  await prune(a, t0 + 400 * day);
  expect(await a.config('cfg_gone')).toBeNull();
});
