import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { jsonSchemaText } from '../../src/commands/config/schema.ts';
import { parseConfig } from '../../src/config/load.ts';
import type { Schema } from './schema-keys.ts';
import { keysOf } from './schema-keys.ts';
import { failure } from './tools.ts';

const file = join(import.meta.dirname, '../../docs/configuration.md');
const docs = await readFile(file, 'utf8');
const schema = JSON.parse(jsonSchemaText()) as Schema;
const inSchema = keysOf(schema, [...connectors.keys()]);

interface Row {
  readonly row: string;
  /** The key, type, default and meaning. */
  readonly cells: readonly string[];
}

/** Every key that a table in the docs explains, under the section that its heading names. */
function keysInDocs(): Map<string, Row> {
  const keys = new Map<string, Row>();
  for (const section of docs.split(/^## /m)) {
    const heading = section.slice(0, section.indexOf('\n'));
    if (!/^(`.*|Top keys)/.test(heading)) continue;
    const path = /`(.*)`(.*)/.exec(heading)?.slice(1).join('');
    for (const [row, key] of section.matchAll(/^\| `([^`]+)` .*$/gm)) {
      const cells = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
      keys.set(path === undefined ? String(key) : `${path}.${key}`, { row, cells: cells.slice(1) });
    }
  }
  return keys;
}

const inDocs = keysInDocs();

/** Keys of the config itself, and those that all connectors have. */
const own = [...inSchema].filter(([key]) => !/ (sink|action)\.|<key>$/.test(key));

describe('docs/configuration.md', () => {
  test('explains every key of the schema, and no other', () => {
    expect([...inDocs.keys()].toSorted()).toEqual([...inSchema.keys()].toSorted());
  });

  test('says the defaults as they are', () => {
    const wrong = [...inSchema].filter(([key, { default: standard }]) => {
      const isPlain = ['string', 'number', 'boolean'].includes(typeof standard);
      return isPlain && inDocs.get(key)?.cells[2] !== `\`${String(standard)}\``;
    });
    expect(wrong.map(([key]) => key)).toEqual([]);
  });

  test.each([...connectors.values()])('says what $name does by default', ({ name, defaults }) => {
    expect(inDocs.get('sinks.<name>.concurrency')?.cells[3]).toContain(`${name} ${defaults.concurrency}`);
    expect(inDocs.get('sinks.<name>.timeout')?.cells[3]).toContain(`${name} ${defaults.timeoutMs / 1000}s`);
  });

  // Three connections at once, and 30 mails a minute (learn.microsoft.com, "Exchange Online limits").
  test("keeps to what Microsoft 365 takes of a mailbox's mails", () => {
    const blocks = Array.from(docs.matchAll(/^```yaml\n(.*?)^```/gms), ([, block = '']) => block);
    const mail = blocks.find((block) => block.includes('smtp.office365.com')) ?? '';
    expect(mail).toMatch(/^ {4}concurrency: 3\n {4}rate: 30\/min$/m);
  });

  test('has a meaning for every key', () => {
    expect([...inDocs].filter(([, { cells }]) => !cells[3]).map(([key]) => key)).toEqual([]);
  });

  test('begins each meaning with what the schema says of the key; `vitest -u` writes it', async () => {
    let made = docs;
    for (const [key, { description = '' }] of own) {
      const { row, cells } = inDocs.get(key) ?? { row: '', cells: [] };
      const [, , , meaning = ''] = cells;
      // A key without a row is named by the first of these tests.
      if (row !== '' && !meaning.startsWith(description))
        made = made.replace(row, () => row.replace(/(?:[^|\\]|\\.)*\|$/, () => ` ${description} |`));
    }
    await expect(made).toMatchFileSnapshot(file);
  });

  const examples = [...docs.matchAll(/```yaml\n(([^\n]*)[^]*?)```/g)].map(([, yaml = '', first = '']) => [
    first,
    yaml,
  ]);

  test.each(examples)('shows only what a config can have: %s', (_, yaml = '') => {
    const missing = ['sinks: {}', 'rules: []'].filter((line) => !yaml.includes(`${line.slice(0, 6)}\n`));
    const text = [yaml, ...missing, 'log: { level: none }'].join('\n');
    const { problems } = failure(() => parseConfig(text, 'docs.yaml', { env: {}, connectors }));
    const expected = /^there is no (sink|catalog)|is not set|^the table tests.csv cannot be read/;
    const others = problems.map(({ message }) => message).filter((message) => !expected.test(message));
    expect(others).toEqual([expect.stringContaining('got "none"')]);
  });
});

test('every key of the config itself says in the schema what it does', () => {
  const silent = own.filter(([, { description = '' }]) => description === '');
  expect(silent.map(([key]) => key)).toEqual([]);
});
