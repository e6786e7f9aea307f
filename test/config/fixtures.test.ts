import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/config/load.ts';
import { env, failure, pagers } from './tools.ts';

const folder = join(import.meta.dirname, '../fixtures/config');
const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml'));

/** Each bad config says in its first lines what has to be said of it: `# expect: line:column message`. */
describe('a config with the fault', () => {
  test.each(files.map((file) => file.replace('.yaml', '')))('%s', async (name) => {
    const text = await readFile(join(folder, `${name}.yaml`), 'utf8');
    const expected = [...text.matchAll(/^# expect: (.*)$/gm)].map(([, line]) => line);
    const error = failure(() =>
      parseConfig(text, 'config.yaml', { env: { ...env, EMPTY: '' }, connectors: pagers }),
    );
    const found = error.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
    expect(found).toEqual(expected);
    expect(error.message).not.toMatch(/\n\s+at /);
  });
});
