import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/config/load.ts';
import { env, failure, pagers } from './tools.ts';

const folder = join(import.meta.dirname, '../fixtures/config');
const read = async (name: string) => readFile(join(folder, `${name}.yaml`), 'utf8');

const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml'));
const names = files.map((file) => file.replace('.yaml', ''));
const faults = names.filter((name) => name !== 'ten-mistakes');

/** Each bad config names the problems to report in its first lines: `# expect: line:column message`. */
describe('a config with the fault', () => {
  test.each(faults)('%s', async (name) => {
    const text = await read(name);
    const expected = [...text.matchAll(/^# expect: (.*)$/gm)].map(([, line]) => line);
    const options = { env: { ...env, EMPTY: '' }, connectors: pagers };
    const error = failure(() => parseConfig(text, 'config.yaml', options));
    const found = error.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
    expect(found).toEqual(expected);
    expect(error.message).not.toMatch(/\n\s+at /);
  });
});
