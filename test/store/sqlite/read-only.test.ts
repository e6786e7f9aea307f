import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { nobody } from '../../fixtures/postgres.ts';

const serving = `
import { openStore } from ${JSON.stringify(join(import.meta.dirname, '../../../src/store/open.ts'))};
try {
  const store = await openStore('sqlite:' + process.argv[1], { serve: true });
  await store.saveConfig({ id: 'cfg_a', source: {}, savedAt: 1 });
  await store.close();
  console.log('written');
} catch (error) {
  console.log(error.message);
}`;

/** Mounts a folder read-only for a process, as a volume may be by mistake, which root may. */
const readOnly = (folder: string) => [
  'unshare',
  '--mount',
  'sh',
  '-c',
  `mount --make-rprivate / && mount --bind ${folder} ${folder} && mount -o remount,bind,ro ${folder} && exec "$@"`,
  'sh',
];
const [unshare = '', ...unshared] = readOnly('/mnt');
const mayMount = spawnSync(unshare, [...unshared, 'true']).status === 0;

/** Writes to a store as whoever serves it, as a user whom file modes bind: not as root. */
async function writtenTo(path: string, within: string[] = []): Promise<string> {
  const user = nobody === undefined || within.length > 0 ? {} : { uid: nobody, gid: nobody };
  const options = { ...user, env: { NODE_DISABLE_COMPILE_CACHE: '1', PATH: process.env['PATH'] } };
  const [program, ...argv] = [...within, process.execPath, '--input-type=module', '--eval', serving, path];
  const { stdout } = await promisify(execFile)(program, argv, options);
  return stdout.trim();
}

test('names the one of its files that cannot be written', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'read-only-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  if (nobody !== undefined) chownSync(folder, nobody, nobody);
  const path = join(folder, 'connector.db');
  expect(await writtenTo(path)).toBe('written');
  const refused = (name: string) =>
    `${name} cannot be written: the file, its folder or its file system is read-only.`;

  chmodSync(path, 0o440);
  expect(await writtenTo(path)).toBe(refused(path));
  chmodSync(path, 0o600);
  // SQLite has made it with the mode of that time.
  expect(await writtenTo(path)).toBe(refused(`${path}-shm`));
  chmodSync(`${path}-shm`, 0o600);
  expect(await writtenTo(path)).toBe('written');
});

test.runIf(nobody !== undefined)('says whose a store or its folder is, and who this process is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'read-only-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'connector.db');
  const refused = (place: string, rights: string) =>
    `${path} cannot be opened: ${place} belongs to user 0 and group 0 (mode ${rights}), and this process is user ${nobody} with group ${nobody}. Let it belong to this user, or run this as that one.`;

  // As a volume is where a container first starts.
  chmodSync(folder, 0o755);
  expect(await writtenTo(path)).toBe(refused(folder, '755'));
  chmodSync(folder, 0o700);
  expect(await writtenTo(path)).toBe(refused(folder, '700'));

  chownSync(folder, nobody!, nobody!);
  expect(await writtenTo(path)).toBe('written');
  chownSync(path, 0, 0);
  expect(await writtenTo(path)).toBe(refused(path, '600'));
});

test.runIf(mayMount)('says that a volume was mounted read-only', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'read-only-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'connector.db');
  expect(await writtenTo(path, readOnly(folder))).toBe(
    `${path} cannot be opened: ${folder} is on a file system that is read-only. Mount it with write access.`,
  );
});
