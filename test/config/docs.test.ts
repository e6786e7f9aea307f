import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { jsonSchemaText } from '../../src/commands/schema.ts';
import { parseConfig } from '../../src/config/load.ts';
import type { Schema } from './schema-keys.ts';
import { keysOf } from './schema-keys.ts';
import { failure } from './tools.ts';

const docs = await readFile(join(import.meta.dirname, '../../docs/configuration.md'), 'utf8');
const schema = JSON.parse(jsonSchemaText()) as Schema;
const inSchema = keysOf(schema, [...connectors.keys()]);

/** Every key that a table explains, with the cells of its row. The heading above says where the key stands. */
function keysInDocs(): Map<string, readonly string[]> {
  const keys = new Map<string, readonly string[]>();
  for (const section of docs.split(/^## /m)) {
    const heading = section.slice(0, section.indexOf('\n'));
    const [rows = '', path = ''] = /^(`.*|Top keys)/.test(heading)
      ? [section, /`(.*)`(.*)/.exec(heading)?.slice(1).join('')]
      : [];
    for (const [row, key] of rows.matchAll(/^\| `([^`]+)` .*$/gm))
      keys.set(
        path === '' ? String(key) : `${path}.${key}`,
        row.split(/(?<!\\)\|/).map((cell) => cell.trim()),
      );
  }
  return keys;
}

const inDocs = keysInDocs();

describe('docs/configuration.md', () => {
  test('explains every key of the schema, and no other', () => {
    expect([...inDocs.keys()].toSorted()).toEqual([...inSchema.keys()].toSorted());
  });

  test('says the defaults as they are', () => {
    const wrong = [...inSchema].filter(([key, { default: standard }]) => {
      const isPlain = ['string', 'number', 'boolean'].includes(typeof standard);
      return isPlain && inDocs.get(key)?.[3] !== `\`${String(standard)}\``;
    });
    expect(wrong.map(([key]) => key)).toEqual([]);
  });

  test.each([...connectors.values()])('says what $name does by default', ({ name, defaults }) => {
    expect(inDocs.get('sinks.<name>.concurrency')?.[4]).toContain(`${name} ${defaults.concurrency}`);
    expect(inDocs.get('sinks.<name>.timeout')?.[4]).toContain(`${name} ${defaults.timeoutMs / 1000}s`);
  });

  test('has a meaning for every key', () => {
    expect([...inDocs].filter(([, cells]) => !cells[4]).map(([key]) => key)).toEqual([]);
  });

  const examples = [...docs.matchAll(/```yaml\n(([^\n]*)[^]*?)```/g)].map(([, yaml = '', first = '']) => [
    first,
    yaml,
  ]);

  test.each(examples)('shows only what a config can have: %s', (_, yaml = '') => {
    const missing = ['sinks: {}', 'rules: []'].filter((line) => !yaml.includes(`${line.slice(0, 6)}\n`));
    const text = [yaml, ...missing, 'log: { level: none }'].join('\n');
    const { problems } = failure(() => parseConfig(text, 'docs.yaml', { env: {}, connectors }));
    const expected = /^there is no sink|is not set/;
    const others = problems.map(({ message }) => message).filter((message) => !expected.test(message));
    expect(others).toEqual([expect.stringContaining('got "none"')]);
  });
});

test('every key of the config itself says in the schema what it does', () => {
  const own = [...inSchema].filter(([key]) => !/ (sink|action)\.|<key>$/.test(key));
  const silent = own.filter(([, { description = '' }]) => description === '');
  expect(silent.map(([key]) => key)).toEqual([]);
});
