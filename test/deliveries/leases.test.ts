import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { LeaseKeeper, type LeaseParts } from '../../src/deliveries/leases.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { type Lease, type Store, StoreUnavailable } from '../../src/store/store.ts';
import { configId } from '../contract/store-fixtures.ts';

import { freshSchema, sql } from '../fixtures/postgres.ts';

const timeoutMs = 10_000;
const minuteMs = 60_000;

/** Copies on one real store, each under a clock that stands still, and that renews when a test says so. */
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
    /** By the database's clock, everything that this copy has has run out. */
    runOut: async (copy: string): Promise<void> => {
      await sql(url, `update leases set until = 1 where holder = '${copy}'`);
      await sql(url, `update copies set until = 1 where id = '${copy}'`);
    },
    copy: async (copy: string, names: readonly string[], parts: Partial<LeaseParts> = {}): Promise<Copy> => {
      const made = new Copy(await open(), copy, names, parts);
      await made.keeper.start();
      return made;
    },
  };
}

class Copy {
  names: readonly string[];
  extra: readonly string[] = [];
  elapsed = 0;
  readonly failures: unknown[] = [];
  readonly taken: Lease[] = [];
  readonly lost: string[] = [];
  readonly keeper: LeaseKeeper;
  #alarm: (() => void) | null = null;

  constructor(store: Store, copy: string, names: readonly string[], parts: Partial<LeaseParts>) {
    this.names = names;
    this.keeper = new LeaseKeeper({
      store: store.leases!,
      clock: {
        now: Date.now,
        elapsed: () => this.elapsed,
        after: (_, run) => {
          this.#alarm = run;
          return () => (this.#alarm = null);
        },
      },
      copy,
      configId: () => configId,
      names: () => new Map(this.names.map((name) => [name, timeoutMs])),
      extra: () => this.extra,
      taken: async (lease) => void this.taken.push(lease),
      lost: (name) => this.lost.push(name),
      idle: async () => {},
      copies: () => {},
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
async function settle(...copies: Copy[]): Promise<void> {
  for (let round = 0; round < 4; round += 1) for (const copy of copies) await copy.renew();
}

const names = (count: number) => Array.from({ length: count }, (_, n) => `sink ${n}`);

const shares = (...copies: Copy[]) => {
  const held = copies.flatMap((copy) => copy.held);
  expect(new Set(held).size, 'nothing is held twice').toBe(held.length);
  return copies.map((copy) => copy.held.length).toSorted((a, b) => a - b);
};

describe('copies', () => {
  test('share evenly, also when another one comes or goes', async () => {
    const { copy } = await cluster();
    const a = await copy('a', names(7));
    expect(a.held).toHaveLength(7);
    const b = await copy('b', names(7));
    await settle(a, b);
    expect(shares(a, b)).toEqual([3, 4]);
    const c = await copy('c', names(7));
    await settle(a, b, c);
    expect(shares(a, b, c)).toEqual([2, 2, 3]);
    await b.keeper.stop();
    await settle(a, c);
    expect(shares(a, c)).toEqual([3, 4]);
  });

  test('leave everything where it is once it is shared', async () => {
    const { copy } = await cluster();
    const all = [await copy('a', names(8)), await copy('b', names(8)), await copy('c', names(8))];
    await settle(...all);
    const before = all.map(({ held }) => held);
    const takenBefore = all.map(({ taken }) => taken.length);
    await settle(...all);
    expect(all.map(({ held }) => held)).toEqual(before);
    expect(all.map(({ taken }) => taken.length)).toEqual(takenBefore);
  });

  test('take over from one that died, but not before its leases have run out', async () => {
    const { copy, runOut } = await cluster();
    const a = await copy('a', names(4));
    const b = await copy('b', names(4));
    await settle(a, b);
    const left = a.held;
    await settle(b);
    expect(b.held).toHaveLength(2);
    await runOut('a');
    await settle(b);
    expect(b.held).toHaveLength(4);
    const epochs = b.taken.filter(({ name }) => left.includes(name)).map(({ epoch }) => epoch);
    expect(epochs).toEqual([2, 2]);
  });

  test('hand over what is idle, and begin nothing more until then', async () => {
    const { copy } = await cluster();
    const busy = Promise.withResolvers<void>();
    const a = await copy('a', names(2), { idle: () => busy.promise });
    const b = await copy('b', names(2));
    await settle(a, b);
    expect(a.held).toHaveLength(1);
    expect(b.held).toHaveLength(0);
    busy.resolve();
    await vi.waitFor(async () => {
      await settle(a, b);
      expect(shares(a, b)).toEqual([1, 1]);
    });
  });

  test('hold what only one of them has in its config there', async () => {
    const { copy } = await cluster();
    const a = await copy('a', [...names(2), 'x', 'y', 'z']);
    const b = await copy('b', names(2));
    await settle(a, b);
    expect(a.held).toEqual(['x', 'y', 'z']);
    expect(b.held).toEqual(names(2));
  });

  test('hand over what left their config to one that still has it', async () => {
    const { copy } = await cluster();
    const a = await copy('a', names(2));
    const b = await copy('b', names(2));
    await settle(a, b);
    const before = a.held;
    a.names = [];
    await settle(a, b);
    expect(b.held).toEqual(names(2));
    expect(before.map((name) => a.keeper.holding(name))).toEqual([null]);
  });

  test('leave a sink that none has in its config alone until a new config had time to reach all of them', async () => {
    const { copy } = await cluster();
    const a = await copy('a', names(2));
    const b = await copy('b', names(2));
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
    const { copy } = await cluster();
    const a = await copy('a', []);
    const b = await copy('b', ['sink new']);
    a.extra = ['sink new'];
    for (let passedMs = 0; passedMs < 2 * minuteMs; passedMs += 10_000) {
      for (const one of [a, b]) one.elapsed += 10_000;
      await settle(a, b);
    }
    expect(b.held).toEqual(['sink new']);
    expect(a.held).toEqual([]);
  });
});

describe('a copy', () => {
  test('that stood still holds nothing, and learns what others have taken over', async () => {
    const { copy, runOut } = await cluster();
    const a = await copy('a', ['one']);
    a.elapsed += 14_000;
    expect(a.held).toEqual([]);
    await runOut('a');
    const b = await copy('b', ['one']);
    expect(b.held).toEqual(['one']);
    await a.renew();
    expect(a.held).toEqual([]);
    expect(a.lost).toEqual(['one']);
  });

  test('that cannot renew begins nothing after its time, and goes on with what nobody took', async () => {
    const { copy, runOut, open } = await cluster();
    const { leases } = await open();
    let isAway = false;
    const a = await copy('a', names(3), {
      store: {
        ...leases!,
        renew: (asked) =>
          isAway ? Promise.reject(new StoreUnavailable('It is away.')) : leases!.renew(asked),
      },
    });
    isAway = true;
    a.elapsed += 12_000;
    await a.renew();
    expect(a.failures).toHaveLength(1);
    expect(a.held).toHaveLength(3);
    a.elapsed += 2000;
    expect(a.held).toEqual([]);
    isAway = false;
    await runOut('a');
    await a.renew();
    expect(a.held).toHaveLength(3);
    // What is under way must not be taken for something that an ended process left.
    expect(a.taken).toHaveLength(3);
    expect(a.lost).toEqual([]);
  });

  test('holds a lease only when what the one before left is looked after, and tries that again', async () => {
    const { copy } = await cluster();
    let failures = 1;
    const looked = Promise.withResolvers<void>();
    const a = await copy('a', ['one'], {
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
    await vi.waitFor(() => expect(a.held).toEqual(['one']));
  });

  test('does not give back what it got again in the meantime', async () => {
    const { copy, runOut, url } = await cluster();
    const busy = Promise.withResolvers<void>();
    const a = await copy('a', names(2), { idle: () => busy.promise });
    const b = await copy('b', names(2));
    await a.renew();
    expect(a.held).toHaveLength(1);
    // The other one takes over everything, and ends.
    await runOut('a');
    await b.renew();
    await b.keeper.stop();
    await a.renew();
    expect(a.held).toHaveLength(2);
    busy.resolve();
    await vi.waitFor(async () => {
      await a.renew();
      expect(a.held).toHaveLength(2);
    });
    const rows = await sql(url, `select name, holder, epoch from leases order by name`);
    expect(rows.map(({ holder }) => holder)).toEqual(['a', 'a']);
    expect(a.lost).toHaveLength(2);
  });
});
