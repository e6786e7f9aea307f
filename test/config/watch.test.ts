import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { watchConfig } from '../../src/config/watch.ts';
import { around, env, pagers } from './tools.ts';

let folder: string;
let file: string;
let watching: { close(): void } | null = null;
const loaded: number[] = [];
const failed: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'watch-'));
  file = join(folder, 'config.yaml');
});

afterEach(async () => {
  watching?.close();
  watching = null;
  loaded.length = 0;
  failed.length = 0;
  await rm(folder, { recursive: true });
});

const withPort = (port: number | string) => around(`receiver: { port: ${port} }`);

function watch(options: { settleMs?: number; pollMs?: number } = { settleMs: 20 }): void {
  watching = watchConfig(file, () => loadConfig(file, { env, connectors: pagers }), {
    onLoaded: (config) => void loaded.push(config.receiver.port),
    onFailed: (error) => void failed.push(error.message),
    ...options,
  });
}

test('a change of the file is loaded', async () => {
  await writeFile(file, withPort(1));
  watch();
  await writeFile(file, withPort(2));
  await vi.waitFor(() => expect(loaded).toEqual([2]));
});

test('a file that is put in its place is loaded, as editors save', async () => {
  await writeFile(file, withPort(1));
  watch();
  await writeFile(`${file}.new`, withPort(3));
  await rename(`${file}.new`, file);
  await vi.waitFor(() => expect(loaded).toEqual([3]));
});

test('a folder that is swapped behind links is noticed, as Kubernetes mounts a ConfigMap', async () => {
  for (const port of [1, 2]) {
    await mkdir(join(folder, `v${port}`));
    await writeFile(join(folder, `v${port}`, 'config.yaml'), withPort(port));
  }
  await symlink('v1', join(folder, '..data'));
  await symlink('..data/config.yaml', file);
  watch();
  await symlink('v2', join(folder, '..next'));
  await rename(join(folder, '..next'), join(folder, '..data'));
  await vi.waitFor(() => expect(loaded).toEqual([2]));
});

test('a change that is not told of is found by looking', async () => {
  const elsewhere = join(folder, 'elsewhere');
  await mkdir(elsewhere);
  await writeFile(join(elsewhere, 'real.yaml'), withPort(1));
  await symlink(join(elsewhere, 'real.yaml'), file);
  watch({ settleMs: 20, pollMs: 50 });
  await writeFile(join(elsewhere, 'real.yaml'), withPort(4));
  await vi.waitFor(() => expect(loaded).toEqual([4]), { timeout: 5000 });
});

test('a broken config is told of, and the next good one is loaded', async () => {
  await writeFile(file, withPort(1));
  watch();
  await writeFile(file, withPort('many'));
  await vi.waitFor(() => expect(failed).toHaveLength(1));
  expect(failed[0]).toContain('config.yaml:1:19: error: expected a whole number, got "many"');
  await writeFile(file, withPort(1));
  await vi.waitFor(() => expect(loaded).toEqual([1]));
});

test('a file that is gone is told of', async () => {
  await writeFile(file, withPort(1));
  watch();
  await unlink(file);
  await vi.waitFor(() => expect(failed[0]).toContain('there is no such file'));
});

test('SIGHUP loads the file though it did not change', async () => {
  await writeFile(file, withPort(5));
  watch();
  process.kill(process.pid, 'SIGHUP');
  await vi.waitFor(() => expect(loaded).toEqual([5]));
});

test('other files of the folder load nothing', async () => {
  await writeFile(file, withPort(1));
  watch();
  await writeFile(join(folder, 'data.db'), 'x');
  await writeFile(file, withPort(6));
  await vi.waitFor(() => expect(loaded).toEqual([6]));
  await writeFile(join(folder, 'data.db'), 'y');
  process.kill(process.pid, 'SIGHUP');
  await vi.waitFor(() => expect(loaded).toEqual([6, 6]));
});

test('what taking a config over throws is told of, and the watching goes on', async () => {
  await writeFile(file, withPort(1));
  watching = watchConfig(file, () => loadConfig(file, { env, connectors: pagers }), {
    settleMs: 20,
    onLoaded: async ({ receiver }) => {
      if (receiver.port === 2) throw new Error('the store is full');
      loaded.push(receiver.port);
    },
    onFailed: (error) => void failed.push(error.message),
  });
  await writeFile(file, withPort(2));
  await vi.waitFor(() => expect(failed).toEqual(['the store is full']));
  await writeFile(file, withPort(3));
  await vi.waitFor(() => expect(loaded).toEqual([3]));
});

test('after close, nothing is loaded any more', async () => {
  await writeFile(file, withPort(1));
  watch();
  const listeners = process.listenerCount('SIGHUP');
  await writeFile(file, withPort(2));
  await vi.waitFor(() => expect(loaded).toEqual([2]));
  watching?.close();
  expect(process.listenerCount('SIGHUP')).toBe(listeners - 1);
});
