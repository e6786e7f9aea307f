import * as fc from 'fast-check';
import { expect, test as it } from 'vitest';
import { filler } from '../../src/connector.ts';
import type { Medium } from '../../src/connector.ts';
import { checking } from '../../src/templates/engine.ts';
import { compileFields } from '../../src/templates/template.ts';
import { dataOf, vocabulary } from './tools.ts';
import { runs } from '../fixtures/runs.ts';

/**
 * Whatever of a value gets past it keeps its angle bracket, which no template here has itself. Nor has one what is
 * escaped, so where that is taken for the template's own text, it did not stay a value.
 */
const medium: Medium = {
  escape: (value) => value.replaceAll('<', '‹'),
  join: ({ text, values }) => filler(values)(text.replaceAll('‹', '<')),
  data: true,
};

const hostileTexts = [
  '<!channel>',
  '=HYPERLINK("<x>")',
  '\ud800<',
  '%zz<%',
  'a<\r\nBcc: b',
  '\u202e<',
  '{{ now }}<{% raw %}',
  '<'.repeat(500),
  '',
  '1e999',
];

/** What a stranger or a careless catalog may put into an event and its test. */
function hostileData(text: string, number: number | null) {
  const raw = { text, list: [text, null, { text }, 5], map: { size: text, length: 1e9 } };
  const test = { id: 5, name: text, channel: null, owner: number, tags: [text, [text], null] };
  return dataOf({ candidateId: text, correlationId: text, candidateNumericalId: number, raw }, test);
}

const values = [
  'event.candidateId',
  'event.candidateNumericalId',
  'event',
  'event.raw',
  'event.raw.list',
  'test.name',
  'test.tags',
  'test.channel',
  'now',
  'nil',
  '(1..3)',
];
const args = [
  '',
  'event.candidateId',
  '3',
  '-1, 2',
  'nil',
  'test.tags',
  '"text"',
  'event.candidateId, test.name',
  'now, test.owner',
];

/** Makes a function that renders a template as text and as data; null if it does not pass the check. */
function renderer(template: string): ((data: ReturnType<typeof hostileData>) => string) | null {
  const media = { text: medium, data: medium };
  const { fields, faults } = compileFields({ text: template, data: [template] }, media, vocabulary);
  expect(fields === null).toBe(faults.length > 0);
  return fields && ((data) => JSON.stringify(fields.render(data)));
}

/** Whether something wrong was printed. A template that names what was not sent may fail, and says so. */
const isWrong = (printed: string): boolean =>
  printed.includes('<') ||
  (printed.includes('"fault"') && !printed.includes('is not in what the service sent'));

/** Filters that print a tag, switch escaping off or are refused; they have tests of their own. */
const byThemselves = new Set(['newline_to_br', 'raw', 'escape', 'escape_once', 'xml_escape']);
const filters = Object.keys(checking.filters).filter((name) => !byThemselves.has(name));

it.each(filters)('the filter %s neither fails an event nor lets a stranger past the escaping', (filter) => {
  const uses = values.flatMap((value) => args.map((arg) => `{{ ${value} | ${filter}${arg && `: ${arg}`} }}`));
  const outcomes = uses.flatMap((template, index) => {
    const render = renderer(template);
    // Every third value in turn, as they are much alike.
    const texts = hostileTexts.filter((_, n) => (n + index) % 3 === 0);
    return texts.map((text) => ({
      template,
      text,
      printed: render?.(hostileData(text, text.length)),
    }));
  });
  const passed = outcomes.filter(({ printed }) => printed !== undefined);
  expect(passed.length).toBeGreaterThan(100);
  expect(passed.filter(({ printed }) => isWrong(printed ?? ''))).toEqual([]);
});

/** Generates templates as people write them, with existing names. */
const templates = fc.letrec<{ template: string; part: string; expression: string }>((tie) => ({
  expression: fc
    .tuple(
      fc.constantFrom(...values, 'event.raw.text | default: ""', 'x', 'x.size', 'x[0]', 'test[x]'),
      fc.constantFrom(
        '',
        '',
        ' | upcase',
        ' | json',
        ' | split: ","',
        ' | first',
        ' | date: "%F", "Europe/Zagreb"',
        ' | plus: 1',
      ),
    )
    .map((parts) => parts.join('')),
  part: fc.oneof(
    { maxDepth: 3 },
    tie('expression').map((expression) => `{{ ${expression} }}`),
    fc.constantFrom('text ', '\n', '{% break %}', '{% comment %}{{ nothing }}{% endcomment %}'),
    tie('expression').map((expression) => `{% assign x = ${expression} %}`),
    tie('expression').map((expression) => `{% echo ${expression} %}`),
    tie('template').map((template) => `{% capture x %}${template}{% endcapture %}`),
    fc
      .tuple(tie('expression'), tie('template'))
      .map(([if_, then]) => `{% if ${if_} %}${then}{% else %}{{ x }}{% endif %}`),
    fc
      .tuple(fc.constantFrom('test.tags', 'x', '(1..3)', 'event'), tie('template'))
      .map(([list, body]) => `{% for x in ${list} %}${body}{% endfor %}`),
  ),
  template: fc.array(tie('part'), { maxLength: 4 }).map((parts) => parts.join('')),
})).template;

it('no template that passes the check fails an event or lets a stranger past the escaping', () => {
  let passed = 0;
  fc.assert(
    fc.property(
      templates,
      fc.constantFrom(...hostileTexts),
      fc.constantFrom(null, 7),
      (template, text, number) => {
        const render = renderer(`{% assign x = nil %}${template}`);
        if (render === null) return;
        passed += 1;
        expect(isWrong(render(hostileData(text, number)))).toBe(false);
      },
    ),
    runs(500),
  );
  expect(passed).toBeGreaterThan(200);
});

it('any text at all is either faulty or renders', () => {
  const pieces = fc.constantFrom(
    '{{',
    '}}',
    '{%',
    '%}',
    ' event.status ',
    ' if ',
    ' endif ',
    ' for x in ',
    ' | ',
    ' date: ',
    '"',
    "'",
    '.',
    ',',
    '(1..',
    ')',
    ' raw ',
    ' endraw ',
    'x',
    '\n',
    '=',
    ' ',
    '[',
    ']',
    ' assign ',
    ' liquid ',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(pieces, fc.string({ maxLength: 3 })), { maxLength: 12 }), (parts) => {
      const { fields, faults } = compileFields({ text: parts.join('') }, { text: medium }, vocabulary);
      for (const { line, column, message } of faults) {
        expect(line > 0 && column > 0).toBe(true);
        expect(message).not.toBe('');
      }
      expect(fields === null).toBe(faults.length > 0);
      const rendered = fields?.render(hostileData('<', null)) ?? {};
      expect(rendered).not.toHaveProperty('fault');
    }),
    runs(1000),
  );
});
