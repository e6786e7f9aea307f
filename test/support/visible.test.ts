import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonLine, printable, visible, visibleJson } from '../../src/support/text.ts';
import { anyCharacter } from '../fixtures/runs.ts';

const unseen = /\p{Cc}|\p{Default_Ignorable_Code_Point}/u;
const text = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({
    unit: fc.constantFrom('a', '\\', '"', 'u', '\n', '\b', '\u001B', '\u009B', '\u200B', '\u{E0041}'),
  }),
);

test('JSON has nothing in it that cannot be seen, and says the same as before', () => {
  fc.assert(
    fc.property(text, (value) => {
      expect(jsonLine({ value })).not.toMatch(unseen);
      expect(JSON.parse(jsonLine({ value }))).toEqual({ value });
    }),
  );
});

test('a line of the log keeps its end', () => {
  expect(visibleJson('{"a":"b"}\n')).toBe('{"a":"b"}\n');
  expect(visibleJson('{"a":"\u200B"}\n')).toBe('{"a":"\\u200b"}\n');
});

test.each(['علی\u200Cرضا', 'क्\u200Dष', '👩\u200D💻 Zoë ❤\uFE0F\u200D🔥', '1\uFE0F\u20E3 Design ✏\uFE0F'])(
  'pages and terminals show what writes a name or an emoji as it is: %s',
  (name) => expect(printable(name)).toBe(name),
);

test('two ids of ASCII letters that differ in what cannot be seen differ in a message and on a page', () => {
  const id = fc.string({
    unit: fc.constantFrom('a', 'b', '\u200B', '\u200D', '\u00AD', '\uFE0F', '\u{E0041}'),
  });
  fc.assert(
    fc.property(id, id, (one, other) => {
      expect(visible(one)).not.toMatch(unseen);
      expect(visible(one) === visible(other)).toBe(one === other);
      expect(printable(one)).not.toMatch(unseen);
      expect(printable(one) === printable(other)).toBe(one === other);
    }),
  );
});
