import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openSqlite } from '../../../src/store/sqlite.ts';
import { StoreUnavailable, type Store } from '../../../src/store/store.ts';
import { arrival, configId, t0 } from '../../contract/store-fixtures.ts';

const childScript = join(import.meta.dirname, 'child.ts');

let folder: string;
let path: string;
let opened: Store[];
let children: ChildProcess[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'store-'));
  path = join(folder, 'connector.db');
  opened = [];
  children = [];
});

afterEach(async () => {
  await Promise.all(children.map(kill));
  await Promise.all(opened.map((store) => store.close()));
  await rm(folder, { recursive: true });
});

async function open(serve = false): Promise<Store> {
  const store = await openSqlite(path, { serve });
  opened.push(store);
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  return store;
}

function start(play: string): ChildProcess {
  const child = fork(childScript, [play, path]);
  children.push(child);
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** What a child tells, as soon as it is `count` messages; more may be added later. Fails if the child ends before. */
function heardMany(child: ChildProcess, count: number): Promise<unknown[]> {
  const told: unknown[] = [];
  return new Promise((resolve, reject) => {
    child.on('message', (message) => {
      told.push(message);
      if (told.length === count) resolve(told);
    });
    child.once('exit', (code, signal) => reject(new Error(`The child ended: ${code ?? signal}.`)));
  });
}

async function heard(child: ChildProcess): Promise<unknown> {
  const [message] = await heardMany(child, 1);
  return message;
}

test('only one process serves a store, until it ends in whatever way', async () => {
  const child = start('serve');
  await heard(child);
  await expect(open(true)).rejects.toThrow(/Another connector serves this store .*connector\.db/);
  await expect(open(true)).rejects.toThrow(StoreUnavailable);
  const reader = await open();
  await expect(reader.probe()).resolves.toBeUndefined();
  await kill(child);
  await expect(open(true)).resolves.toBeDefined();
  await expect(open(true)).rejects.toThrow(StoreUnavailable);
});

test('serves a store once, whatever links lead to it', async () => {
  await open(true);
  const link = join(folder, 'link.db');
  await symlink(path, link);
  await expect(openSqlite(link, { serve: true })).rejects.toThrow(/Another connector serves this store/);
});

test('gives the right to serve back when closed', async () => {
  const first = await open(true);
  await first.close();
  await expect(open(true)).resolves.toBeDefined();
});

test('writes while another process writes', async () => {
  const store = await open();
  const theirs = heardMany(start('accept'), 60);
  const ours: string[] = [];
  while (ours.length < 60) {
    const accepted = await Promise.all([arrival(), arrival()].map((one) => store.accept(one)));
    ours.push(...accepted.map(({ eventId }) => eventId));
  }
  const ids = [...ours, ...(await theirs)];
  await Promise.all(children.map(kill));
  const stories = await store.events({ limit: 1_000_000 });
  const kept = new Set(stories.map(({ event }) => event.id));
  expect(ids.filter((id) => !kept.has(String(id)))).toEqual([]);
});

test('opens a new store from several processes at once', async () => {
  const told = await Promise.all([1, 2, 3, 4].map(() => heardMany(start('accept'), 3)));
  await Promise.all(children.map(kill));
  const store = await open();
  const kept = await Promise.all(told.flat().map((id) => store.event(String(id))));
  expect(kept).not.toContain(null);
});

test('accepts as soon as another process gives up its lock', async () => {
  const store = await open();
  const child = start('lock');
  await heard(child);
  let waiting = true;
  const acceptance = store.accept(arrival()).finally(() => {
    waiting = false;
  });
  // Reading goes on meanwhile, and so does everything else in this process.
  await expect(store.lanes()).resolves.toEqual([]);
  await new Promise((resolve) => {
    setTimeout(resolve, 100);
  });
  expect(waiting).toBe(true);
  child.send('let go');
  await expect(acceptance).resolves.toMatchObject({ duplicate: false });
});

test.each(['accept', 'serve and accept'])(
  'keeps what it answered for when it is killed (%s)',
  async (play) => {
    const store = await open();
    for (const round of [1, 2, 3]) {
      const child = start(play);
      const accepted = await heardMany(child, 50 * round);
      await kill(child);
      const kept = await Promise.all(accepted.map((id) => store.event(String(id))));
      expect(kept.filter((detail) => detail?.deliveries.length === 1)).toHaveLength(accepted.length);
    }
  },
);

describe('a WAL or its index that is removed while the store is served', () => {
  const named = [['-wal'], ['-shm'], ['-wal', '-shm']];
  const remove = (names: readonly string[]) => Promise.all(names.map((name) => rm(`${path}${name}`)));
  const kept = async (ids: readonly unknown[]) => {
    const store = await open();
    const found = await Promise.all(ids.map((id) => store.event(String(id))));
    return found.filter((detail) => detail !== null);
  };

  test.each(named.map((names) => [names.join(' and '), names] as const))(
    'takes nothing with it that was answered for, though the process is killed (%s)',
    async (_names, names) => {
      await (await open()).close();
      const child = start('serve and accept');
      const before = heardMany(child, 50);
      const all = heardMany(child, 150);
      await before;
      await remove(names);
      const accepted = await all;
      await kill(child);
      expect(await kept(accepted)).toHaveLength(accepted.length);
    },
  );

  test('is noticed though no event comes', async () => {
    await (await open()).close();
    const child = start('serve and rest');
    const accepted = (await heard(child)) as string[];
    await remove(['-wal']);
    await vi.waitFor(() => expect(existsSync(`${path}-wal`)).toBe(true), { timeout: 10_000 });
    await kill(child);
    expect(await kept(accepted)).toHaveLength(accepted.length);
  });

  test('is created again when no other process has the store open, and others give way', async () => {
    const reader = await open();
    const child = start('serve and accept');
    const all = heardMany(child, 150);
    await heardMany(child, 50);
    await remove(['-wal', '-shm']);
    const given = vi.waitFor(() =>
      expect(reader.lanes()).rejects.toThrow(/removed or replaced while in use/),
    );
    await given;
    await expect(reader.accept(arrival())).rejects.toThrow(StoreUnavailable);
    const accepted = await all;
    await kill(child);
    expect(await kept(accepted)).toHaveLength(accepted.length);
  });

  test('is told of, and a store that is closed without one is whole', async () => {
    const warnings: string[] = [];
    const store = await openSqlite(path, { serve: true, warn: (message) => void warnings.push(message) });
    opened.push(store);
    await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
    const first = await store.accept(arrival());
    await remove(['-wal']);
    const second = await store.accept(arrival());
    expect(warnings).toEqual([expect.stringMatching(/connector\.db-wal or -shm was removed or replaced/)]);
    await remove(['-wal']);
    await store.close();
    expect(await kept([first.eventId, second.eventId])).toHaveLength(2);
  });
});

describe('a WAL that is emptied or written over while the store is served', () => {
  let warnings: string[];
  let store: Store;

  beforeEach(async () => {
    warnings = [];
    store = await openSqlite(path, { serve: true, warn: (message) => void warnings.push(message) });
    opened.push(store);
    await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  });

  /** What a process that is killed would leave, as the next one finds it. */
  const leftBehind = async () => {
    const left = join(folder, 'left.db');
    for (const name of ['', '-wal']) await copyFile(`${path}${name}`, `${left}${name}`);
    const next = await openSqlite(left, { serve: true });
    const ids = (await next.events({ limit: 1000 })).map(({ event }) => event.id);
    await next.close();
    return ids.toReversed();
  };
  const accept = async (count = 1) => {
    const accepted = await Promise.all(Array.from({ length: count }, () => store.accept(arrival())));
    return accepted.map(({ eventId }) => eventId);
  };
  const damages: readonly (readonly [string, (wal: string) => Promise<void>])[] = [
    ['emptied', (wal) => truncate(wal)],
    ['cut off', (wal) => truncate(wal, 30_000)],
    ['filled with zeros', async (wal) => writeFile(wal, Buffer.alloc(200_000))],
    ['an older one', (wal) => copyFile(`${wal}.older`, wal)],
  ];

  test.each(damages)('loses nothing that was answered for (%s)', async (_name, damage) => {
    const first = await accept();
    await copyFile(`${path}-wal`, `${path}-wal.older`);
    const more = await accept(20);
    await damage(`${path}-wal`);
    const last = await accept();
    expect(await leftBehind()).toEqual([...first, ...more, ...last]);
    expect(warnings).toEqual([expect.stringMatching(/connector\.db-wal was emptied or written over/)]);
    await expect(store.probe()).resolves.toBeUndefined();
  });

  test.each(damages)(
    'is put back though no event comes, and when the store is closed (%s)',
    async (_, damage) => {
      const ids = await accept();
      await copyFile(`${path}-wal`, `${path}-wal.older`);
      ids.push(...(await accept(20)));
      await damage(`${path}-wal`);
      await vi.waitFor(() => expect(warnings).toHaveLength(1), { timeout: 10_000 });
      expect(await leftBehind()).toEqual(ids);
      await damage(`${path}-wal`);
      await store.close();
      await rm(`${path}-wal`, { force: true });
      const next = await openSqlite(path, { serve: true });
      expect(await next.events({})).toHaveLength(21);
      await next.close();
    },
  );
});

test('says that it cannot write when the disk takes no more, and recovers when it does again', async () => {
  const limited = spawn(
    'bash',
    ['-c', 'ulimit -S -f 1000 && exec "$0" "$@"', process.execPath, childScript, 'fill', path],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  children.push(limited);
  const told = await heard(limited);
  expect(told).toMatchObject({ name: 'StoreUnavailable', message: expect.stringContaining('connector.db') });
  const { accepted, readable } = told as { accepted: string[]; readable: number };
  // All that was accepted before could be read, and one more was accepted at the end.
  expect(readable).toBe(accepted.length - 1);
  const store = await open();
  expect((await store.events({ limit: 1000 })).map(({ event }) => event.id).toReversed()).toEqual(accepted);
});

test('says that it cannot write where it may only read', async () => {
  await (await open()).close();
  await chmod(path, 0o444);
  await chmod(folder, 0o555);
  const told = await heard(start('trespass')).finally(() => chmod(folder, 0o755));
  expect(told).toMatchObject({
    name: 'StoreUnavailable',
    message: expect.stringMatching(/cannot be (opened|written)/),
  });
});
