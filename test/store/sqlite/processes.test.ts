import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
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

test('a WAL that is removed takes nothing with it that was answered for, and the next start has it all', async () => {
  const child = start('serve and accept');
  const accepted: unknown[] = [];
  child.on('message', (id) => accepted.push(id));
  const ended = once(child, 'exit');
  await heardMany(child, 50);
  await rm(`${path}-wal`);
  expect(await ended).toEqual([1, null]);
  const store = await open(true);
  const kept = await Promise.all(accepted.map((id) => store.event(String(id))));
  expect(kept.filter((detail) => detail !== null)).toHaveLength(accepted.length);
});

test('a removed file is noticed though no event comes, and an empty store does not hide what was rescued', async () => {
  const told = Promise.withResolvers<string>();
  const store = await openSqlite(path, { serve: true, damaged: ({ message }) => told.resolve(message) });
  opened.push(store);
  await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
  const { eventId } = await store.accept(arrival());
  await rm(path);
  const [rescued = ''] = /\S*rescued-\w+/.exec(await told.promise) ?? [];
  await expect(store.accept(arrival())).rejects.toThrow(rescued);
  await store.close();
  for (const options of [{ serve: true }, { serve: false }, { serve: false, mustExist: true }])
    await expect(openSqlite(path, options)).rejects.toThrow(`is in ${rescued}. Rename that to ${path}`);
  await rename(rescued, path);
  expect(await (await open(true)).event(eventId)).not.toBeNull();
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
