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

/** Runs real tests and counts what they gave. */
async function countsOf(tests: string): Promise<{ code: number; output: string }> {
  await writeFile(join(folder, 'some.test.js'), tests);
  await node(vitest, 'run', '--globals', '--root', folder, '--reporter=json', '--outputFile=report.json');
  return node(counts, join(folder, 'report.json'));
}

test('passes where every test ran and passed', async () => {
  expect(await countsOf(`test('a', () => {}); test('b', () => {});`)).toEqual({
    code: 0,
    output: '2 passed, 0 failed, 0 skipped\n',
  });
});

test('fails where a test failed', async () => {
  expect(await countsOf(`test('a', () => {}); test('b', () => { throw new Error('no'); });`)).toEqual({
    code: 1,
    output: '1 passed, 1 failed, 0 skipped\n',
  });
});

test('fails where a test was skipped or left to be written', async () => {
  const tests = `test('a', () => {}); test('b', { skip: true }, () => {}); test('c', { todo: true });`;
  expect(await countsOf(tests)).toEqual({ code: 1, output: '1 passed, 0 failed, 2 skipped\n' });
});

test('fails where a file could not be loaded', async () => {
  expect(await countsOf(`import './missing.js'; test('a', () => {});`)).toEqual({
    code: 1,
    output: '0 passed, 1 failed, 0 skipped\n',
  });
});

test('adds up several reports, and fails where one has no tests', async () => {
  await countsOf(`test('a', () => {});`);
  const report = join(folder, 'report.json');
  expect(await node(counts, report, report)).toEqual({ code: 0, output: '2 passed, 0 failed, 0 skipped\n' });
  const absent = join(folder, 'absent.json');
  expect(await node(counts, report, absent)).toEqual({ code: 1, output: '1 passed, 0 failed, 0 skipped\n' });
});

test('fails where no test ran', async () => {
  const none = { code: 1, output: '0 passed, 0 failed, 0 skipped\n' };
  expect(await node(counts, join(folder, 'absent.json'))).toEqual(none);
});
