import { expect, onTestFinished, test } from 'vitest';
import { keepRetention } from '../../src/ops/retention.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { workplace } from '../commands/tools.ts';
import { arrival, carriedOut, configId, day, delivered, rejected, t0 } from '../contract/store-fixtures.ts';

const hour = day / 24;
const minute = hour / 60;

/** A clock that is set by hand, and so is the uptime; its one alarm goes off when told. */
function handClock(startsAt: number) {
  interface Alarm {
    readonly delayMs: number;
    readonly run: () => void;
  }
  let armed = Promise.withResolvers<Alarm>();
  const clock = {
    isArmed: false,
    time: startsAt,
    uptime: 0,
    now: () => clock.time,
    elapsed: () => clock.uptime,
    after(delayMs: number, run: () => void) {
      clock.isArmed = true;
      armed.resolve({ delayMs, run });
      return () => (clock.isArmed = false);
    },
    /** Lets the alarm go off, if one is set, and gives the delay of the next one. */
    ring: async (): Promise<number> => {
      if (clock.isArmed) {
        const { run } = await armed.promise;
        armed = Promise.withResolvers();
        clock.isArmed = false;
        run();
      }
      return (await armed.promise).delayMs;
    },
    pass(ms: number) {
      clock.time += ms;
      clock.uptime += ms;
    },
  };
  return clock;
}

async function openTemporary(signOfLife?: number) {
  const { folder } = await workplace();
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
  onTestFinished(() => store.close());
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  if (signOfLife !== undefined) await store.keepSignOfLife({ seenAt: signOfLife, doubt: null });
  return store;
}

/** The retention of one process, by a clock of its own. */
function retention(store: Store, startsAt: number) {
  const clock = handClock(startsAt);
  const seen = { pruned: [] as number[], doubted: [] as number[], failures: [] as unknown[] };
  const { stop, isClockDoubted } = keepRetention({
    store,
    clock,
    mine: () => true,
    retentionMs: () => 9 * day,
    pruned: (events) => void seen.pruned.push(events),
    doubted: (aheadMs) => void seen.doubted.push(aheadMs),
    failed: (error) => void seen.failures.push(error),
  });
  const { ring } = clock;
  /** To the end of the round that begins next. */
  const round = async () => {
    while ((await ring()) !== 10 * minute);
  };
  return { clock, seen, stop, isClockDoubted, ring, round };
}

const finished = (receivedAt: number) => arrival({ receivedAt }, { deliveries: [] });
const countOf = async (store: Store) => (await store.events({ limit: 1000 })).length;

test('events older than the retention are deleted in small steps', async () => {
  const store = await openTemporary(t0 + 10 * day);
  const old = Array.from({ length: 60 }, () => finished(t0));
  const young = finished(t0 + 2 * day);
  await Promise.all([...old, young].map((one) => store.accept(one)));
  const { clock, seen, stop, ring } = retention(store, t0 + 10 * day);
  // Nothing is deleted while a start has the first answers to give.
  expect(await ring()).toBe(minute);
  const left: number[] = [];
  const delays: number[] = [];
  while (delays.at(-1) !== 10 * minute) {
    delays.push(await ring());
    left.push(await countOf(store));
  }
  expect(left).toEqual([36, 11, 1, 1]);
  expect(delays).toEqual([10, 10, 10, 10 * minute]);
  expect((await store.events({})).map(({ event }) => event.id)).toEqual([young.event.id]);
  expect(seen).toEqual({ pruned: [60], doubted: [], failures: [] });
  stop();
  expect(clock.isArmed).toBe(false);
});

test('while events arrive it waits longer between its steps', async () => {
  const store = await openTemporary(t0 + 10 * day);
  await Promise.all(Array.from({ length: 60 }, () => store.accept(finished(t0))));
  const { clock, ring, stop } = retention(store, t0 + 10 * day);
  await ring();
  await store.accept(finished(clock.time));
  expect(await ring()).toBe(100);
  clock.pass(2000);
  expect(await ring()).toBe(10);
  stop();
});

test('a round that is stopped reports what it deleted', async () => {
  const store = await openTemporary(t0 + 10 * day);
  await Promise.all(Array.from({ length: 60 }, () => store.accept(finished(t0))));
  const { ring, stop, seen } = retention(store, t0 + 10 * day);
  await ring();
  await ring();
  stop();
  expect(seen.pruned).toEqual([25]);
});

test('what is dead stays until somebody decides, however old it is', async () => {
  const store = await openTemporary();
  const [dead] = await carriedOut(store, [rejected, delivered]);
  await store.keepSignOfLife({ seenAt: t0 + 400 * day, doubt: null });
  const first = retention(store, t0 + 400 * day);
  await first.ring();
  await first.round();
  expect(await store.delivery(dead!)).toMatchObject({ state: 'dead' });
  expect(await countOf(store)).toBe(1);
  first.stop();
});

/** A store with an event of day 0, served until day 5. */
async function servedForDays() {
  const store = await openTemporary();
  await store.accept(finished(t0));
  await store.keepSignOfLife({ seenAt: t0 + 5 * day, doubt: null });
  return store;
}

test('a store that was served too shortly for a sign of life was in use when its newest event came', async () => {
  const store = await openTemporary();
  await store.accept(finished(t0));
  const { seen, ring, round } = retention(store, t0 + 400 * day);
  await store.accept(finished(t0 + 400 * day));
  await ring();
  await round();
  expect(await countOf(store)).toBe(2);
  expect(seen.doubted[0]).toBe(400 * day);
});

test('a start with a clock far ahead deletes nothing, nor does the one after it', async () => {
  const store = await servedForDays();
  for (const start of [1, 2]) {
    const { ring, round, seen, stop } = retention(store, t0 + 400 * day + start * hour);
    await ring();
    await round();
    expect(await countOf(store)).toBe(1);
    expect(seen.doubted).not.toEqual([]);
    stop();
  }
  const right = retention(store, t0 + 5 * day + hour);
  await right.ring();
  await right.round();
  expect(await countOf(store)).toBe(1);
  right.clock.pass(5 * day);
  await right.round();
  expect(await countOf(store)).toBe(0);
  expect(right.seen.doubted).toEqual([]);
});

test('a clock that jumps while the process runs deletes nothing', async () => {
  const store = await servedForDays();
  const { clock, ring, round, seen } = retention(store, t0 + 5 * day);
  await ring();
  clock.time += 400 * day;
  await round();
  clock.time -= 400 * day;
  clock.pass(hour);
  await round();
  expect(await countOf(store)).toBe(1);
  expect(seen).toEqual({ pruned: [], doubted: [400 * day], failures: [] });
});

test('a clock is doubted as soon as it jumps, and no longer when it is set right', async () => {
  const { clock, ring, isClockDoubted } = retention(await servedForDays(), t0 + 5 * day);
  await ring();
  expect(isClockDoubted()).toBe(false);
  clock.time += 400 * day;
  expect(isClockDoubted()).toBe(true);
  clock.time -= 400 * day;
  clock.pass(minute);
  expect(isClockDoubted()).toBe(false);
});

test('a clock is doubted where only an event tells of a time, which may have come by that clock', async () => {
  const store = await openTemporary();
  await store.accept(finished(t0));
  await store.accept(finished(t0 + 400 * day));
  // As an upgrade of a store does that knew no sign of life.
  await store.keepSignOfLife({ seenAt: t0 + 400 * day, doubt: null });
  const { clock, ring, round, seen, isClockDoubted } = retention(store, t0 + 400 * day + hour);
  await ring();
  await round();
  expect(await countOf(store)).toBe(2);
  expect(isClockDoubted()).toBe(true);
  expect(seen.doubted[0]).toBe(hour);
  for (let hours = 0; hours < 24; hours += 1) {
    clock.pass(hour);
    await round();
  }
  expect(isClockDoubted()).toBe(false);
});

test('a new store doubts no clock', async () => {
  const { ring, seen, isClockDoubted } = retention(await openTemporary(), t0);
  await ring();
  expect(isClockDoubted()).toBe(false);
  expect(seen.doubted).toEqual([]);
});

test('a clock that goes on for 24 hours of uptime is believed, over restarts too', async () => {
  const store = await servedForDays();
  // Switched off for a month, and from then on by night.
  for (const [start, left] of [
    [0, 1],
    [1, 1],
    [2, 0],
  ] as const) {
    const { clock, ring, round, stop } = retention(store, t0 + 35 * day + start * 20 * hour);
    await ring();
    for (let hours = 0; hours < 9; hours += 1) {
      clock.pass(hour);
      await round();
    }
    expect(await countOf(store)).toBe(left);
    stop();
  }
});

test('a clock that jumps about is not believed', async () => {
  const store = await servedForDays();
  const { clock, ring, round } = retention(store, t0 + 100 * day);
  await ring();
  for (let hours = 0; hours < 26; hours += 1) {
    clock.pass(hour);
    clock.time += 2 * day;
    await round();
  }
  expect(await countOf(store)).toBe(1);
});

test('a store that cannot be used is reported, and tried again later', async () => {
  const store = await openTemporary();
  await store.close();
  const { ring, seen, stop } = retention(store, t0);
  expect(await ring()).toBe(10 * minute);
  expect(seen.failures).toMatchObject([{ name: 'StoreUnavailable' }]);
  stop();
});

test('a store that is closed under the last step, after the stop, is no failure', async () => {
  const store = await openTemporary();
  const { clock, seen, stop } = retention(store, t0);
  await store.close();
  void clock.ring();
  stop();
  // Longer than the round, which fails at once.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect(seen.failures).toEqual([]);
  expect(clock.isArmed).toBe(false);
});
