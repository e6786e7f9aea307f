import { describe, expect, test } from 'vitest';
import { isMap, isScalar, parseDocument } from 'yaml';
import { scalarOffset } from '../../src/config/text/yaml.ts';

/** The file's text from the place that is found for `marker` in the value. */
function found(text: string, marker: string): string {
  const document = parseDocument(text);
  const scalar = isMap(document.contents) ? document.contents.items[0]?.value : null;
  if (!isScalar(scalar)) throw new Error('expected a scalar');
  const offset = scalarOffset(text, scalar, String(scalar.value).indexOf(marker));
  return text.slice(offset, offset + marker.length);
}

describe('the place of a character of a scalar is found in', () => {
  test.each([
    ['plain text', 'a: one two\n'],
    ['plain text over several lines', 'a: zero\n  one\n  two\n'],
    ['single quotes with doubled ones', "a: 'it''s one two'\n"],
    ['double quotes with escapes', 'a: "\\"\\u0041\\n\\U0001F600 one\\ttwo"\n'],
    ['double quotes with an escaped line break', 'a: "zero \\\n   one two"\n'],
    ['a literal block', 'a: |\n  zero\n    one\n  two\n'],
    ['a literal block with indicators and a comment', 'a: |2- # why\n   zero\n  one\n  two\n'],
    ['a folded block', 'a: >\n  zero\n  one\n\n  two\n'],
    ['a block with Windows line ends', 'a: |\r\n  zero\r\n  one\r\n  two\r\n'],
    ['text with letters of two code units', 'a: "😀 one two"\n'],
  ])('%s', (_, text) => {
    expect(found(text, 'one')).toBe('one');
    expect(found(text, 'two')).toBe('two');
  });

  test('white space, which points behind the text before it', () => {
    expect(found('a: "zero  one"\n', '  one')).toBe('  one');
  });
});
