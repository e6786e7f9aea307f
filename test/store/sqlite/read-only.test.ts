import { execFile } from 'node:child_process';
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

/** Writes to a store as whoever serves it, as a user whom file modes bind: not as root. */
async function writtenTo(path: string): Promise<string> {
  const user = nobody === undefined ? {} : { uid: nobody, gid: nobody };
  const options = { ...user, env: { NODE_DISABLE_COMPILE_CACHE: '1' } };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', serving, path],
    options,
  );
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

test.runIf(nobody !== undefined)('says as whom to look into a store of somebody else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'read-only-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  chownSync(folder, nobody!, nobody!);
  const path = join(folder, 'connector.db');
  expect(await writtenTo(path)).toBe('written');
  chownSync(path, 0, 0);
  expect(await writtenTo(path)).toBe(
    `${path} cannot be opened. Its folder must exist, and this process must be allowed to write there: run this as the user that \`serve\` runs as.`,
  );
});
