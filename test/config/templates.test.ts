import { eventDataWith } from '../fixtures/event.ts';
import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bareReference, interpolateTemplate } from '../../src/config/text/references.ts';
import { plain } from '../../src/connector.ts';
import { compileFields } from '../../src/templates/template.ts';

const data = {
  event: eventDataWith({ id: 'e', candidateId: 'c', testId: 1 }),
  test: { id: 1, name: null, owner: null, channel: null },
  rule: { name: 'r' },
  now: '2026-01-01T00:00:00.000Z',
};

/** What a template prints after `${X}` in it was replaced by `value`. */
function print(template: string, value: string): unknown {
  const text = interpolateTemplate(template, () => value);
  const { fields, faults } = compileFields(
    { text },
    { text: plain },
    { test: new Set(['id', 'name', 'owner', 'channel']) },
  );
  expect(faults).toEqual([]);
  const rendered = fields?.render(data) ?? { fault: 'not compiled' };
  return 'fields' in rendered ? rendered.fields['text'] : rendered;
}

const hostile = [
  '{{ event.id }}',
  '{% if %}',
  '{%',
  '{{',
  '}}',
  '{',
  '}',
  "'",
  '"',
  '\\',
  "\\' | x",
  '%}',
  '${X}',
  '{% endraw %}',
  '-%}',
  '\n',
  'é😀',
  'plain',
  '',
];

describe('a value is literal text', () => {
  test.each(hostile)('in the text around tags: %j', (value) => {
    expect(print('a ${X} {{ event.id }} ${X}', value)).toBe(`a ${value} e ${value}`);
    expect(print('{${X}{ event.id }}', value)).toBe(`{${value}{ event.id }}`);
  });

  test.each(hostile)('in the quotes of an output: %j', (value) => {
    expect(print("{{ test.name | default: '${X}' }}!", value)).toBe(`${value}!`);
    expect(print('{{ test.name | default: "it\'s ${X}" }}!', value)).toBe(`it's ${value}!`);
  });

  test.each(hostile)('in the quotes of a tag: %j', (value) => {
    expect(print('{% assign x = "${X}" %}{{ x }}', value)).toBe(value);
  });

  test.each(hostile)('in a raw block: %j', (value) => {
    expect(print('{% raw %}{{ ${X} }}{% endraw %}{{ event.id }}', value)).toBe(`{{ ${value} }}e`);
  });

  test('whatever it is', () => {
    const piece = constantFrom(...hostile, 'a', ' ');
    assert(
      property(
        array(piece).map((pieces) => pieces.join('')),
        (value) => {
          expect(print("${X}{{ test.name | default: '${X}' }}${X}", value)).toBe(value.repeat(3));
        },
      ),
    );
  });
});

test('`$${` is text in a template, too', () => {
  expect(print('$${X} {{ event.id }}', 'never')).toBe('${X} e');
});

test('a reference in a tag without quotes is found', () => {
  expect(bareReference('{{ a }} {{ ${X} }}')).toMatchObject({ index: 11, length: 4 });
  expect(bareReference('{% if ${X} %}')).toMatchObject({ index: 6, length: 4 });
  expect(bareReference("${X} {{ '${X}' }} {% raw %}{{ ${X} }}{% endraw %}")).toBeNull();
});
