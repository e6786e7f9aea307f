import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { array, assert, constantFrom, double, integer, property, record } from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Problem } from '../../src/config/config.ts';
import { ConfigError } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { slipsIn } from '../../src/templates/slips.ts';
import { env, failure, load, pagers, problems } from './tools.ts';
import { runs } from '../fixtures/runs.ts';

const folder = join(import.meta.dirname, '../fixtures/config');
const base = await readFile(join(folder, 'template-with-a-fault.yaml'), 'utf8');

const pieces = [
  '{',
  '}',
  '[',
  ']',
  ': ',
  '"',
  "'",
  '\n',
  '\t',
  '- ',
  '*a',
  '&a ',
  '!x ',
  '${',
  '{{',
  '%}',
  'null',
  '.inf',
  '<<: ',
  '#',
  '|',
  '\\',
  '?',
  '\r\n',
  '😀',
  '---\n',
  '%YAML 1.1\n',
  '\0',
];

const edit = record({
  at: double({ min: 0, max: 1, noNaN: true }),
  cut: integer({ min: 0, max: 20 }),
  piece: constantFrom('', ...pieces),
});

/** The problems of a text; none if it is a config. Throws any error but a ConfigError. */
function problemsOf(text: string): readonly Problem[] {
  try {
    parseConfig(text, 'config.yaml', { env, connectors: pagers });
    return [];
  } catch (error) {
    if (error instanceof ConfigError && error.problems.length > 0) return error.problems;
    throw error;
  }
}

test('whatever a file says, the answer is a config, or problems with places in the file', () => {
  assert(
    property(array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
      const text = edits.reduce((before, { at, cut, piece }) => {
        const index = Math.floor(at * before.length);
        return before.slice(0, index) + piece + before.slice(index + cut);
      }, base);
      const lines = text.split('\n');
      const outside = problemsOf(text).filter(
        ({ line, column }) => column > (lines[line - 1] ?? '').length + 1,
      );
      expect(outside).toEqual([]);
    }),
    runs(100),
  );
});

describe('a file that goes too far is refused in good time', () => {
  test.each([
    ['lists in lists', `catalog: ${'['.repeat(50_000)}`, 'nested too deeply to be read'],
    [
      'lists in lists that YAML can still read',
      `catalog: { 1: { a: ${'['.repeat(200)}${']'.repeat(200)} } }`,
      'nested deeper than 100 levels',
    ],
    ['dashes in dashes', `catalog:\n  ${'- '.repeat(50_000)}x`, 'nested too deeply to be read'],
  ])('%s', (_, text, message) => {
    expect(problems(text).map((problem) => problem.replace(/^\S+ /, ''))).toEqual([message]);
  });
});

test('a key that would change what objects are is refused', () => {
  expect(problems('catalog: { 1: { __proto__: { name: x } } }')).toEqual([
    '1:17 "__proto__" cannot be a key',
  ]);
  expect(load('catalog: { 1: { constructor: x, toString: y } }').plan.test(1)).toMatchObject({
    constructor: 'x',
  });
});

test('a name that every object has is no name of a sink, of hours or of a key', () => {
  expect(problems('rules: [ { name: a, when: {}, then: [ { sink: toString, text: x } ] } ]')[0]).toContain(
    'there is no sink "toString"',
  );
  expect(problems('rules: [ { name: a, when: {}, then: [ { sink: page, text: x, valueOf: y } ] } ]')).toEqual(
    [
      '1:62 unknown key "valueOf"; expected channel, text, blocks, fields, to, urgency, sink, hours or digest',
    ],
  );
  expect(problems('constructor: 1')).toEqual([
    expect.stringMatching(/^1:1 unknown key "constructor"; expected receiver, /),
  ]);
});

test.each(['!!omap', '!!pairs', '!!set', '!other'])('a list that is tagged %s is refused', (tag) => {
  expect(problems(`catalog: { 1: { a: ${tag} [b: c] } }`)).toEqual([
    expect.stringContaining(`the tag ${tag} has no meaning here`),
  ]);
});

test.each([
  ['a word', 'x'],
  ['words of secrets', 'token'],
  ['lists without an end', 'auth:['],
  ['quotes without an end', "token:'"],
  ['addresses', '://:'],
  ['addresses in words', 'a://b:c '],
])('a fault beside %s is reported quickly, however long the line is', (_, part) => {
  const text = `{ "catalog": { "1": { "name": "${part.repeat(250_000 / part.length)}" } }, "lgo": {} }`;
  expect(problems(text)).toContainEqual(expect.stringContaining('unknown key "lgo"'));
});

const knowsNothing = { whyNoTest: () => null, typeOf: () => null };

// Patterns that look back over blanks took hours for it.
test('what no person means is found quickly behind a tag that no person writes', () => {
  expect(slipsIn(`{{ a |${' '.repeat(400_000)}b }}{{ a | size | default: 1 }}`, knowsNothing)).toHaveLength(
    1,
  );
});

test('of many slips in one template the first are told', () => {
  expect(slipsIn('{{ event.status == "Done" }}'.repeat(17_000), knowsNothing)).toHaveLength(100);
});

test('a very long line is cut around what is wrong with it', () => {
  const text = `{ "sinks": {}, "rules": [], "catalog": { "1": { "name": "${'x'.repeat(5000)}" } }, "lgo": {}, "hours": {} }`;
  const { problems: found } = failure(() => load(text));
  const [line = '', carets = ''] = found[0]?.excerpt.split('\n') ?? [];
  expect(line.length).toBeLessThan(200);
  expect(line.slice(carets.indexOf('^'), carets.lastIndexOf('^') + 1)).toBe('"lgo"');
});
