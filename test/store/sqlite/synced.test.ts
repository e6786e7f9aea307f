import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { query } from '../../../src/store/operation.ts';
import { openSqlite } from '../../../src/store/sqlite.ts';
import { Database } from '../../../src/store/sqlite/database.ts';
import type { SyncFile } from '../../../src/store/sqlite/wal.ts';
import type { Store } from '../../../src/store/store.ts';
import { seeded } from '../../faults/random.ts';
import { arrival, configId, delivered, resultOf, t0 } from '../../contract/store-fixtures.ts';
import { runs } from '../../fixtures/runs.ts';
import { Disk } from './disk.ts';

let folder: string;
let path: string;
let store: Store;
/** What the store's syncs do. */
let syncFile: SyncFile;
let told: string[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'synced-'));
  path = join(folder, 'connector.db');
  syncFile = async () => {};
  told = [];
  store = await openSqlite(path, {
    serve: true,
    syncFile: (fd) => syncFile(fd),
    damaged: ({ message }) => told.push(message),
    repaired: () => told.push('repaired'),
  });
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
});

afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const failing = async () => Promise.reject(Object.assign(new Error('i/o error'), { code: 'EIO' }));
const eventsOf = async (of: Store) => (await of.events({ limit: 1_000_000 })).map(({ event }) => event.id);
const claim = () => store.claim({ lane: 'slack #hiring', now: t0, limit: 10 });

test('nothing is answered before its commit is synced, nor what rests on it, and the next group forms meanwhile', async () => {
  const syncs: PromiseWithResolvers<void>[] = [];
  syncFile = () => {
    syncs.push(Promise.withResolvers());
    return syncs.at(-1)!.promise;
  };
  const answered: string[] = [];
  const say = (what: string) => () => void answered.push(what);
  const one = arrival();
  const all = [store.accept(one).then(say('event'))];
  await expect.poll(() => syncs.length).toBe(1);
  // Who reads may see it already.
  expect(await eventsOf(store)).toEqual([one.event.id]);
  const commits = store.commits;
  all.push(store.accept(one).then(say('duplicate')), claim().then(say('claim')));
  for (let n = 0; n < 10; n += 1) await turn();
  expect([answered, syncs.length, store.commits]).toEqual([[], 1, commits]);
  syncs[0]!.resolve();
  await expect.poll(() => syncs.length).toBe(2);
  for (let n = 0; n < 10; n += 1) await turn();
  expect(answered).toEqual(['event']);
  syncs[1]!.resolve();
  await Promise.all(all);
  expect(answered).toEqual(['event', 'duplicate', 'claim']);
  expect(store.commits).toBe(commits + 2);
});

test('after a failed sync nothing is stored until all is in the file, though later syncs succeed', async () => {
  const earlier = arrival();
  await store.accept(earlier);
  const reader = new Database(path);
  const [lost, next] = [arrival(), arrival()];
  syncFile = () => {
    // All can be copied into the file, but as long as somebody reads it the WAL goes on behind what was not written.
    reader.exec('begin; select * from events');
    return failing();
  };
  const refused = [store.accept(lost), claim()].map((write) => write.catch((error: unknown) => error));
  const why = `The disk could not write ${path}-wal (EIO). Whether the last changes were stored is not known.`;
  for (const error of await Promise.all(refused))
    expect(error).toMatchObject({ name: 'StoreUnavailable', message: expect.stringContaining(why) });
  syncFile = async () => {};
  await expect(store.accept(next)).rejects.toThrow(why);
  await expect(store.probe()).rejects.toThrow(why);
  expect(told).toEqual([expect.stringContaining(why)]);
  reader.close();
  await expect.poll(() => store.accept(next).catch(() => null)).toMatchObject({ duplicate: false });
  expect(told).toEqual([expect.stringContaining(why), 'repaired']);
  expect(await store.accept(lost)).toMatchObject({ duplicate: true, eventId: lost.event.id });
  expect(await eventsOf(store)).toEqual([next, lost, earlier].map(({ event }) => event.id));
});

test('the next start begins with an empty WAL, as a sync may have failed before', async () => {
  await store.accept(arrival());
  const left = join(folder, 'left.db');
  for (const suffix of ['', '-wal']) copyFileSync(path + suffix, left + suffix);
  const next = await openSqlite(left, { serve: true });
  expect(statSync(`${left}-wal`).size).toBe(0);
  expect(await eventsOf(next)).toHaveLength(1);
  await next.close();
});

test('what a power cut leaves has all that was answered for, though syncs fail now and then', async () => {
  const random = seeded(1);
  const disk = new Disk(path);
  syncFile = async () => {
    const end = disk.begin();
    await sleep(random() * 3);
    const written = random() > 0.05;
    end(written);
    if (!written) await failing();
  };
  const events = new Set<string>();
  const states = new Map<string, string>();
  const stop = new AbortController();
  const sending = async () => {
    while (!stop.signal.aborted) {
      const one = arrival();
      // A sender tries again, and at once at times.
      const tries = [one, ...(random() < 0.3 ? [one] : [])];
      await Promise.all(
        tries.map((it) =>
          store.accept(it).then(
            ({ eventId }) => events.add(eventId),
            () => sleep(1),
          ),
        ),
      );
    }
  };
  const delivering = async () => {
    while (!stop.signal.aborted) {
      const claims = await claim().catch(() => []);
      for (const { delivery } of claims) states.set(delivery.id, 'sending');
      await store.record(claims.map((one) => resultOf(one, delivered))).then(
        () => claims.forEach(({ delivery }) => states.set(delivery.id, 'delivered')),
        () => {},
      );
      if (claims.length === 0) await sleep(1);
    }
  };
  const other = new Database(path);
  const parts = [sending(), sending(), sending(), delivering()];
  const { numRuns } = runs(20);
  for (let round = 0; round < numRuns; round += 1) {
    await sleep(random() * 30);
    const [expected, intents] = [[...events], [...states]];
    const left = await openSqlite(disk.cut(join(folder, `cut-${round}`), random), { serve: true });
    const stories = await left.events({ limit: 1_000_000 });
    await left.close();
    const kept = new Set(stories.map(({ event }) => event.id));
    expect(expected.filter((id) => !kept.has(id))).toEqual([]);
    const stateOf = new Map(stories.flatMap((story) => story.deliveries.map(({ id, state }) => [id, state])));
    expect(intents.filter(([id, state]) => ![state, 'delivered'].includes(stateOf.get(id)!))).toEqual([]);
    // The WAL begins anew, with its old frames behind the new ones or without.
    if (random() < 0.3) other.get(query('pragma wal_checkpoint(passive)'));
    else if (random() < 0.1) other.get(query('pragma wal_checkpoint(truncate)'));
  }
  stop.abort();
  await Promise.all(parts);
  other.close();
  expect(events.size).toBeGreaterThan(numRuns);
});
