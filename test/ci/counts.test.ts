import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const counts = join(root, '.ci/counts.js');
const vitest = join(root, 'node_modules/vitest/vitest.mjs');

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'counts-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function node(...args: string[]): Promise<{ code: number; output: string }> {
  let output = '';
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = execFile(process.execPath, args, { env: { PATH, NODE_COMPILE_CACHE }, cwd: folder });
  child.stdout?.on('data', (chunk: string) => (output += chunk));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}

const files = {
  passes: `test('a', () => {}); test('b', () => {});`,
  fails: `test('a', () => {}); test('b', () => { throw new Error('no'); });`,
  skips: `test('a', () => {}); test('b', { skip: true }, () => {}); test('c', { todo: true });`,
  breaks: `import './missing.js'; test('a', () => {});`,
};

test('passes where every test ran and passed, and fails else; adds up several reports', async () => {
  // Real tests, and vitest's own reports of them.
  const reports = Object.entries(files).map(async ([name, content]) => {
    await writeFile(join(folder, `${name}.test.js`), content);
    const report = join(folder, `${name}.json`);
    await node(
      vitest,
      'run',
      name,
      '--globals',
      '--pool=threads',
      '--root',
      folder,
      '--reporter=json',
      `--outputFile=${report}`,
    );
    return report;
  });
  const [passes = '', fails = '', skips = '', breaks = ''] = await Promise.all(reports);
  const absent = join(folder, 'absent.json');
  for (const [given, code, output] of [
    [[passes], 0, '2 passed, 0 failed, 0 skipped\n'],
    [[fails], 1, '1 passed, 1 failed, 0 skipped\n'],
    [[skips], 1, '1 passed, 0 failed, 2 skipped\n'],
    [[breaks], 1, '0 passed, 1 failed, 0 skipped\n'],
    [[passes, passes], 0, '4 passed, 0 failed, 0 skipped\n'],
    [[passes, absent], 1, '2 passed, 0 failed, 0 skipped\n'],
    [[absent], 1, '0 passed, 0 failed, 0 skipped\n'],
  ] as const)
    expect(await node(counts, ...given)).toEqual({ code, output });
});
