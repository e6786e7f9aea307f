import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineCounter } from 'yaml';
import { readQuickly } from '../../src/config/quick-yaml.ts';
import { parseYaml, scalarOffset } from '../../src/config/yaml.ts';
import type { Json } from '../../src/model.ts';
import type { Path } from '../../src/support/json.ts';

const root = join(import.meta.dirname, '../..');
const fixtures = join(root, 'test/fixtures/config');
const files = [
  join(root, 'config.example.yaml'),
  ...readdirSync(fixtures)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => join(fixtures, name)),
];
const texts = files.map((file) => readFileSync(file, 'utf8'));

/** More of what configs have, on few lines. */
const dense = `# why
receiver: { host: 127.0.0.1, port: 0, allowFrom: [127.0.0.1, "::1"] }
timezone: Europe/Zagreb # here
sinks:
  slack: { connector: slack, token: "\${TOKEN}" }

  sheet:
    connector: google-sheets
    "a b": 'it''s'
    retry: &retry { giveUpAfter: 1d, minDelay: 5s }
catalog:
  7: { name: "Backend", owner: dana@example.com, weight: 1.5, hard: true, none: null }
  8:
    name: Front end: no
    tags: [ a, b ]
rules:
- name: all of it
  when: { status: [Completed, Canceled], testId: 7 }
  then:
  - sink: slack
    text: |
      Hello {{ event.candidateId }}

        # not a comment
      bye
    blocks:
      - type: section
        text: >-
          folded
          text
      -   deep: 09:00
          long: http://x.example/y?a=b#c
  - sink: sheet
    row: { "Candidate id": "{{ event.candidateId }}", N: 0x1F }
  - sink: mail
    to: [
        dana@example.com, # why

        robin@example.com ]
unmatched: []
`;

/** What is compared: the values, whether there are faults, and every place if there are none. */
function read(text: string, before = 0) {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (const { index } of text.matchAll(/\n/g)) lines.addNewLine(index + 1);
  const { tree, faults } = parseYaml({ text, lines, quickFrom: 0 });
  if (!tree || faults.length > 0) return null;
  const places = [...pathsIn(tree.value, [])].map((path) => {
    const { range, key, scalar } = tree.placeOf(path);
    const inside = scalar && [0, 3, 9].map((index) => scalarOffset(text, scalar, index) - before);
    return { path, starts: range[0] - before, key: key?.map((at) => at - before), inside };
  });
  return { value: tree.value, places };
}

function* pathsIn(value: Json, path: Path): Generator<Path> {
  if (path.length > 0) yield path;
  if (typeof value !== 'object' || value === null) return;
  const keyed = Array.isArray(value) ? [...(value as Json[]).entries()] : Object.entries(value);
  for (const [key, inner] of keyed) yield* pathsIn(inner, [...path, key]);
  yield [...path, 'not there'];
}

/** A text with a tab is read by the library. */
const library = '#\t\n';
const byLibrary = (text: string) => read(library + text, library.length);
const isQuick = (text: string) => readQuickly(text, { mostNodes: 1000, byLibrary: () => null }) !== null;

describe('a config that is read quickly is what the library makes of it, with the same places', () => {
  test('what is read quickly: the example, and most configs', () => {
    expect([dense, ...texts.slice(0, 1)].map(isQuick)).toEqual([true, true]);
    expect(texts.filter(isQuick).length).toBeGreaterThan(texts.length / 2);
  });

  test.each<[string, string]>([
    ['the dense one', dense],
    ...files.map((file, index): [string, string] => [file, texts[index]!]),
  ])('%s', (_, text) => {
    expect(read(text)).toEqual(byLibrary(text));
  });

  test.each([
    '[a, b',
    '- - a',
    '--- a',
    '... ',
    'a: b',
    '*x',
    '&x a',
    '!!str 1',
    '!odd x',
    '? a',
    '- a',
    '"a',
    "'a''b'",
    '\ufeffa',
  ])('a value written %s', (value) => {
    for (const text of [`a: ${value}\nb: 1\n`, `a:\n  - ${value}\nb: *x\n`, `a: { b: ${value} }\n`])
      expect(read(text)).toEqual(byLibrary(text));
  });

  test.each(['|', '>', '|-', '>-', '|+', '>+', '|2', '>2', '|2-', '|+2', '|4', '| # why', '|+ # why'])(
    'a text below %s',
    (head) => {
      const places: [before: string, margin: string, after: string][] = [
        ['a: ', '  ', 'b: 1\n'],
        ['a:\n  b: ', '    ', '   # why\n  c: 1\n'],
        ['a:\n  - ', '    ', '  - c\n'],
        ['a:\n  - b: ', '        ', '    c: 1\n'],
        ['a: ', '    ', ''],
      ];
      for (const [before, margin, after] of places)
        for (const lines of ['one', 'one\n\n', 'one\n  two', '\none', 'one\n# two']) {
          const text = `${before}${head}\n${lines.replaceAll(/^(?=.)/gm, margin)}\n${after}`;
          expect([text, read(text)]).toEqual([text, byLibrary(text)]);
        }
    },
  );

  test('with anything changed in it', () => {
    const pieces = [
      ' ',
      '  ',
      '\n',
      '\n  ',
      ':',
      ': ',
      '#',
      ' #',
      '-',
      '- ',
      '"',
      "'",
      '{',
      '}',
      '[',
      ']',
      ',',
      '|',
      '>',
      '+',
      '2',
    ];
    const more = [
      '&a ',
      '*a',
      '!',
      '?',
      '%',
      '@',
      '0',
      '1.',
      '~',
      'null',
      'true',
      'key: x\n',
      '\n---\n',
      '\u00a0',
      '\\',
    ];
    const change = fc.record({
      at: fc.nat(dense.length),
      gone: fc.constantFrom(0, 0, 1, 2, 20),
      put: fc.constantFrom('', ...pieces, ...more),
    });
    let quick = 0;
    const property = fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
      let text = dense;
      for (const { at, gone, put } of changes) text = text.slice(0, at) + put + text.slice(at + gone);
      if (!isQuick(text)) return;
      quick += 1;
      expect(read(text)).toEqual(byLibrary(text));
    });
    fc.assert(property, { numRuns: Number(process.env['QUICK_YAML_RUNS'] ?? 150) });
    expect(quick).toBeGreaterThan(0);
  });
});
