import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { readText } from '../../src/config/text/files.ts';
import { parseConfig } from '../../src/config/load.ts';
import { markOf, watchConfig, type WatchOptions } from '../../src/config/live/reload.ts';
import { around, env, pagers } from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

let folder: string;
let file: string;
let watching: { close(): void } | null = null;
const loaded: number[] = [];
const failed: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'watch-'));
  file = join(folder, 'config.yaml');
  await writeFile(file, withPort(1));
});

afterEach(async () => {
  watching?.close();
  watching = null;
  loaded.length = 0;
  failed.length = 0;
  await rm(folder, { recursive: true });
});

const withPort = (port: number | string) => around(`receiver: { port: ${port} }`);

/** Watches as a process does that has just started. */
async function watch(options: Partial<WatchOptions<Config>> = {}): Promise<void> {
  watching = watchConfig(file, {
    inForce: markOf(await readText(file)),
    load: async (text) => parseConfig(text, file, { env, connectors: pagers }),
    onLoaded: (config) => void loaded.push(config.receiver.port),
    onFailed: (error) => void failed.push(error.message),
    settleMs: 20,
    ...options,
  });
}

test('a change of the file is loaded', async () => {
  await watch();
  await writeFile(file, withPort(2));
  await eventually(() => expect(loaded).toEqual([2]));
});

test('a file that is written piece by piece is loaded when it stays as it is: each piece may be valid', async () => {
  await watch({ settleMs: 300 });
  for (let port = 2; port <= 60; port += 1) {
    await writeFile(file, withPort(port));
    await pause(10);
  }
  await eventually(() => expect(loaded).toContain(60));
  expect(loaded).toEqual([60]);
});

test('a file that is put in its place is loaded, as editors save', async () => {
  await watch();
  await writeFile(`${file}.new`, withPort(3));
  await rename(`${file}.new`, file);
  await eventually(() => expect(loaded).toEqual([3]));
});

test('a folder that is swapped behind links is noticed, as Kubernetes mounts a ConfigMap', async () => {
  for (const port of [1, 2]) {
    await mkdir(join(folder, `v${port}`));
    await writeFile(join(folder, `v${port}`, 'config.yaml'), withPort(port));
  }
  await unlink(file);
  await symlink('v1', join(folder, '..data'));
  await symlink('..data/config.yaml', file);
  await watch();
  await symlink('v2', join(folder, '..next'));
  await rename(join(folder, '..next'), join(folder, '..data'));
  await eventually(() => expect(loaded).toEqual([2]));
});

test('a secret whose folder is swapped behind links is noticed, as Kubernetes mounts it, and one that cannot be read yet', async () => {
  const secrets = join(folder, 'secrets');
  for (const version of ['v1', 'v2', 'v3']) await mkdir(join(secrets, version), { recursive: true });
  await writeFile(join(secrets, 'v1', 'token'), 'first');
  await writeFile(join(secrets, 'v3', 'token'), 'third');
  await symlink('v1', join(secrets, '..data'));
  await symlink('..data/token', join(secrets, 'token'));
  await writeFile(file, around(`admin: { title: '\${file:${join(secrets, 'token')}}' }`));
  const load = async (text: string) => parseConfig(text, file, { env, connectors: pagers });
  let config: Config = await load(await readFile(file, 'utf8'));
  await watch({
    load,
    files: () => config.files,
    onLoaded: (next) => void (config = next),
    pollMs: 600_000,
    retryMs: 600_000,
  });
  const swap = async (version: string) => {
    await symlink(version, join(secrets, '..next'));
    await rename(join(secrets, '..next'), join(secrets, '..data'));
  };
  await swap('v2');
  await eventually(() => expect(failed).toEqual([expect.stringContaining('token cannot be read')]));
  expect(config.admin.title).toBe('first');
  await swap('v3');
  await eventually(() => expect(config.admin.title).toBe('third'));
  await swap('v1');
  await eventually(() => expect(config.admin.title).toBe('first'));
  expect(failed).toHaveLength(1);
});

test('polling finds a change that no file event reports', async () => {
  const elsewhere = join(folder, 'elsewhere');
  await mkdir(elsewhere);
  await writeFile(join(elsewhere, 'real.yaml'), withPort(1));
  await unlink(file);
  await symlink(join(elsewhere, 'real.yaml'), file);
  await watch({ pollMs: 50 });
  await writeFile(join(elsewhere, 'real.yaml'), withPort(4));
  await eventually(() => expect(loaded).toEqual([4]));
});

test('a broken config is reported, and the next good one is loaded', async () => {
  await watch();
  await writeFile(file, withPort('many'));
  await eventually(() => expect(failed).toHaveLength(1));
  expect(failed[0]).toContain('config.yaml:1:19: error: expected a whole number, got "many"');
  await writeFile(file, withPort(1));
  await eventually(() => expect(loaded).toEqual([1]));
});

test('a missing file is reported', async () => {
  await watch();
  await unlink(file);
  await eventually(() => expect(failed[0]).toContain('there is no such file'));
});

test('SIGHUP loads the file though it did not change', async () => {
  await writeFile(file, withPort(5));
  await watch();
  process.kill(process.pid, 'SIGHUP');
  await eventually(() => expect(loaded).toEqual([5]));
});

test('other files of the folder load nothing', async () => {
  await watch();
  await writeFile(join(folder, 'data.db'), 'x');
  await writeFile(file, withPort(6));
  await eventually(() => expect(loaded).toEqual([6]));
  await writeFile(join(folder, 'data.db'), 'y');
  process.kill(process.pid, 'SIGHUP');
  await eventually(() => expect(loaded).toEqual([6, 6]));
});

test('an error in onLoaded is reported, and watching goes on', async () => {
  await watch({
    onLoaded: async ({ receiver }) => {
      if (receiver.port === 2) throw new Error('the store is full');
      loaded.push(receiver.port);
    },
  });
  await writeFile(file, withPort(2));
  await eventually(() => expect(failed).toEqual(['the store is full']));
  await writeFile(file, withPort(3));
  await eventually(() => expect(loaded).toEqual([3]));
});

test('after close, nothing is loaded any more', async () => {
  await watch();
  const listeners = process.listenerCount('SIGHUP');
  await writeFile(file, withPort(2));
  await eventually(() => expect(loaded).toEqual([2]));
  watching?.close();
  expect(process.listenerCount('SIGHUP')).toBe(listeners - 1);
});

test('a change between the first reading and the watching is loaded', async () => {
  const inForce = markOf(await readText(file));
  await writeFile(file, withPort(7));
  await watch({ inForce });
  await eventually(() => expect(loaded).toEqual([7]));
});

describe('a failure that may pass is retried, and reported once', () => {
  const withSecret = () => around(`receiver: { port: 8, token: '\${file:${join(folder, 'token')}}' }`);

  test('where a secret is not there yet', async () => {
    const tries: string[] = [];
    await watch({
      retryMs: 5,
      load: async (text) => {
        tries.push(text);
        return parseConfig(text, file, { env, connectors: pagers });
      },
    });
    await writeFile(file, withSecret());
    await eventually(() => expect(tries.length).toBeGreaterThan(2));
    expect(failed).toEqual([expect.stringContaining('there is no such file')]);
    await writeFile(join(folder, 'elsewhere'), 'the-token');
    await rename(join(folder, 'elsewhere'), join(folder, 'token'));
    await eventually(() => expect(loaded).toEqual([8]));
    expect(failed).toHaveLength(1);
  });

  test('where a config could not be taken over', async () => {
    let full = 3;
    await watch({
      retryMs: 5,
      onLoaded: ({ receiver }) => {
        if ((full -= 1) >= 0) throw new Error('the store is full');
        loaded.push(receiver.port);
      },
    });
    await writeFile(file, withPort(9));
    await eventually(() => expect(loaded).toEqual([9]));
    expect(failed).toEqual(['the store is full']);
  });

  test('but not what is wrong with the text', async () => {
    const load = vi.fn<WatchOptions<Config>['load']>(async (text) =>
      parseConfig(text, file, { env, connectors: pagers }),
    );
    await watch({ retryMs: 1, load });
    await writeFile(file, withPort('many'));
    await eventually(() => expect(failed).toHaveLength(1));
    process.kill(process.pid, 'SIGHUP');
    await eventually(() => expect(failed).toHaveLength(2));
    expect(load).toHaveBeenCalledTimes(2);
  });
});

describe('what could block or fill the process is not read', () => {
  const pipe = (path: string) => void execFileSync('mkfifo', [path]);
  const device = (path: string) => symlinkSync('/dev/zero', path);

  test.each([
    ['a pipe', pipe],
    ['a device', device],
  ])('%s in place of the file', async (_what, make) => {
    await watch();
    make(`${file}.new`);
    await rename(`${file}.new`, file);
    await eventually(() => expect(failed).toEqual([expect.stringContaining('not a regular file')]));
    await writeFile(`${file}.new`, withPort(2));
    await rename(`${file}.new`, file);
    await eventually(() => expect(loaded).toEqual([2]));
  });

  test.each([
    ['a pipe', pipe, 'not a regular file'],
    ['a device', device, 'not a regular file'],
    ['too large', (path: string) => writeFileSync(path, 'x'.repeat(2 ** 20 + 1)), 'larger than 1 MB'],
  ])('%s as a secret', async (_what, make, says) => {
    await watch({ retryMs: 5 });
    make(join(folder, 'token'));
    await writeFile(file, around(`receiver: { port: 8, token: '\${file:${join(folder, 'token')}}' }`));
    await eventually(() => expect(failed).toEqual([expect.stringContaining(says)]));
  });

  test('a file without end, by a command that may read pipes', async () => {
    expect(await readText('/dev/zero')).toEqual({ fault: 'the file is larger than 16 MB' });
  });
});
