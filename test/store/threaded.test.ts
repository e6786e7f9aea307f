import { enableCompileCache } from 'node:module';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { StoreUnavailable, type Store } from '../../src/store/store.ts';
import { openInThread } from '../../src/store/threaded.ts';
import { arrival, claimDue, configId, t0 } from '../contract/store-fixtures.ts';
import { storeContract } from '../contract/store.ts';

storeContract('SQLite in a thread', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'store-'));
  const opened: Store[] = [];
  return {
    async open() {
      const store = await openInThread(join(folder, 'connector.db'), { serve: false });
      opened.push(store);
      return store;
    },
    async dispose() {
      await Promise.all(opened.map((store) => store.close()));
      await rm(folder, { recursive: true });
    },
  };
});

enableCompileCache('node_modules/.cache/compiled');

describe('a store in a thread', () => {
  let path: string;

  beforeEach(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'store-'));
    path = join(folder, 'connector.db');
    onTestFinished(() => rm(folder, { recursive: true }));
  });

  async function open(): Promise<Store> {
    const store = await openInThread(path, { serve: true });
    onTestFinished(() => store.close());
    await store.saveConfig({ id: configId, source: {}, savedAt: t0 });
    return store;
  }

  /** A process of its own, in which the thread's loss or idleness decides about its end. */
  async function played(play: string): Promise<{ told: unknown[]; code: unknown; stderr: string }> {
    const child = fork(join(import.meta.dirname, 'sqlite/child.ts'), [play, path], { silent: true });
    const told: unknown[] = [];
    let stderr = '';
    child.on('message', (message) => told.push(message));
    child.stderr?.on('data', (data: Buffer) => {
      stderr += data.toString();
    });
    const [code] = (await once(child, 'close')) as unknown[];
    return { told, code, stderr };
  }

  test('reads while a write waits for another process that has the file locked', async () => {
    const store = await open();
    const other = fork(join(import.meta.dirname, 'sqlite/child.ts'), ['lock', path]);
    const ended = once(other, 'exit');
    await once(other, 'message');
    const acceptance = store.accept(arrival());
    await expect(store.lanes()).resolves.toEqual([]);
    other.send('let go');
    await expect(acceptance).resolves.toMatchObject({ duplicate: false });
    await ended;
  });

  test('hands on events that are nested as deeply as a body can be', async () => {
    const store = await open();
    const deep = `{"deep":${'['.repeat(32_000)}${']'.repeat(32_000)}}`;
    const { eventId } = await store.accept(arrival({ raw: JSON.parse(deep) as { deep: [] } }));
    const [claimed] = await claimDue(store);
    expect(JSON.stringify(claimed?.events[0]?.raw)).toBe(deep);
    expect(JSON.stringify((await store.event(eventId))?.event.raw)).toBe(deep);
  });

  test('fails only the call that is at fault, with the words and the stack of the thread', async () => {
    const store = await open();
    const [lost, accepted] = await Promise.allSettled([
      store.accept(arrival({}, { configId: 'cfg_unknown' })),
      store.accept(arrival()),
    ]);
    expect(accepted).toMatchObject({ status: 'fulfilled' });
    const reason: unknown = lost.status === 'rejected' && lost.reason;
    expect(reason).not.toBeInstanceOf(StoreUnavailable);
    expect(reason).toMatchObject({
      message: 'Config cfg_unknown was never saved.',
      stack: expect.stringContaining('transaction.ts'),
    });
  });

  test('fails a call that cannot be written down, alone', async () => {
    const store = await open();
    const circle: unknown[] = [];
    circle.push(circle);
    const saved = store.saveConfig({ id: 'cfg_circle', source: circle as [], savedAt: t0 });
    await expect(saved).rejects.toThrow(/circular/);
    await expect(store.probe()).resolves.toBeUndefined();
  });

  test('refuses calls when thousands wait already, but for closing', async () => {
    const store = await open();
    const calls = Array.from({ length: 5001 }, () => store.lastEventAt());
    await expect(calls.pop()).rejects.toThrow(new StoreUnavailable('5000 calls wait for the disk already.'));
    await expect(store.close()).resolves.toBeUndefined();
    await expect(Promise.all(calls)).resolves.toHaveLength(5000);
  });

  test('ends what waits when it is closed, and refuses what comes later', async () => {
    const store = await open();
    const acceptance = store.accept(arrival());
    const closing = [store.close(), store.close()];
    await expect(store.probe()).rejects.toThrow(new StoreUnavailable('The store is closed.'));
    await expect(acceptance).resolves.toMatchObject({ duplicate: false });
    await Promise.all(closing);
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  test('fails every call when it is lost, and ends the process, which only a start makes whole again', async () => {
    const { told, code, stderr } = await played('lose');
    const words = 'StoreUnavailable: The thread that has the store ended.';
    expect(told).toEqual([words, words]);
    expect(code).toBe(1);
    expect(stderr).toContain(words);
  });

  test('does not keep a process alive by itself', async () => {
    expect(await played('leave')).toMatchObject({ told: ['written'], code: 0 });
  });
});
