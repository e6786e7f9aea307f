import { describe, expect, test as it } from 'vitest';
import { plain } from '../../src/connector.ts';
import type { Medium } from '../../src/connector.ts';
import type { Json } from '../../src/model.ts';
import { maxSteps } from '../../src/templates/limits.ts';
import { compileFields } from '../../src/templates/template.ts';
import { dataOf, html, render, test, vocabulary } from './tools.ts';

function fault(template: string, raw: { [key: string]: Json } = {}) {
  return compile({ text: template }).render(dataOf({ raw }));
}

function compile(fields: Record<string, Json>, medium: Medium = plain) {
  const media = Object.fromEntries(Object.keys(fields).map((key) => [key, medium]));
  const { fields: compiled } = compileFields(fields, media, vocabulary);
  if (!compiled) throw new Error('there are faults');
  return compiled;
}

describe('what templates print', () => {
  it.each<[string, string]>([
    ['{{ event.status }} {{ event.testId }}', 'Completed 1234567'],
    [
      '{{ test.name }} of {{ rule.name }} at {{ now }}',
      'Backend Engineer of completed at 2026-07-01T12:00:00.000Z',
    ],
    ['{{ event.receivedAt }}', '2026-03-29T00:30:00.000Z'],
    ['[{{ event.candidateNumericalId }}{{ event.correlationId }}{{ nil }}]', '[]'],
    ["{{ test.channel | default: '#hiring' }}", '#hiring'],
    ["{{ event.raw.note.text | default: 'none' }}", 'none'],
    ['{% if event.raw.score > 5 %}high{% else %}unknown{% endif %}', 'unknown'],
    ['{{ test.tags }} {{ event.raw | json }}', '["a","b"] {"testId":1234567}'],
    ['{{ event.raw }}', '{"testId":1234567}'],
    ['{% for tag in test.tags %}{{ forloop.index }}{{ tag }}{% endfor %}', '1a2b'],
    ['{% assign name = test.name | upcase %}{{ name }}', 'BACKEND ENGINEER'],
    ['{% raw %}{{ event.status }}{% endraw %}', '{{ event.status }}'],
    ['{% cycle "a", "b" %}{% cycle "a", "b" %}{% echo event.status %}', 'abCompleted'],
    ['{% liquid\n assign n = 1 | plus: 1\n echo n\n%}', '2'],
    ['{{ 1 | divided_by: 0 }}', 'Infinity'],
    ['{% capture x %}abc{% endcapture %}{{ x.size }}{{ x | size }}', '33'],
    ['{{ event.raw.testId }}[{{ event[test.name] }}{{ test.tags[7] }}{{ test.owner.phone }}]', '1234567[]'],
  ])('%s', (template, printed) => {
    expect(render(template, dataOf({ raw: { testId: 1234567 } }))).toBe(printed);
  });

  it('leaves keys without a medium alone', () => {
    const { fields } = compileFields({ unfurl: '{{ not a template' }, {}, vocabulary);
    expect(fields?.render(dataOf())).toEqual({ fields: { unfurl: '{{ not a template' } });
  });

  it('hands out what has no templates as it is, without a copy', () => {
    const blocks = [{ type: 'divider', children: ['{ not }', 'a template'] }];
    const rendered = compile({ blocks }).render(dataOf());
    expect('fields' in rendered && rendered.fields['blocks']).toBe(blocks);
  });

  it('renders only the keys that are asked for', () => {
    const fields = compile({ channel: '{{ test.owner }}', text: '{{ event.raw.missing }}' });
    expect(fields.render(dataOf(), ['channel', 'thread'])).toEqual({
      fields: { channel: 'dana@example.com' },
    });
  });

  it('renders every string of a list or a map, but not the keys of a map', () => {
    const row = { '{{ event.status }}': '{{ event.status }}', list: [1, null, true, ['{{ test.owner }}']] };
    expect(render(row)).toEqual({
      '{{ event.status }}': 'Completed',
      list: [1, null, true, ['dana@example.com']],
    });
  });

  it('shows a digest all of its events', () => {
    const data = dataOf();
    const events = ['a', 'b'].map((candidateId) => Object.assign({ test }, data.event, { candidateId }));
    const template =
      '{{ events.size }}: {% for one in events %}{{ one.candidateId }} {{ one.test.name }}; {% endfor %}';
    expect(render(template, { ...data, events })).toBe('2: a Backend Engineer; b Backend Engineer; ');
  });
});

describe('escaping', () => {
  const hostile = dataOf({ candidateId: '<!channel> & co' });
  const harmless = '&lt;!channel&gt; &amp; co';

  it.each([
    ['an output', '<b>{{ event.candidateId }}</b>', `<b>${harmless}</b>`],
    ['a filtered one', '{{ event.candidateId | append: "<i>" }}', `${harmless}&lt;i&gt;`],
    ['echo', '{% echo event.candidateId %}', harmless],
    ['cycle', '{% cycle event.candidateId %}', harmless],
    ['JSON', '{{ event.raw }}', '{"a":"&lt;"}'],
    ['a loop', '{% for one in event.raw %}{{ one }}{% endfor %}', '["a","&lt;"]'],
    [
      'captured text, once',
      '{% capture x %}<b>{{ event.candidateId }}</b>{% endcapture %}{{ x }}',
      `<b>${harmless}</b>`,
    ],
    [
      'captured text without the blanks around it',
      '{% capture x %} <b>{{ event.candidateId }} {% endcapture %}{{ x | strip }}',
      `<b>${harmless}`,
    ],
    ['captured text that was filtered', '{% capture x %}<b>{% endcapture %}{{ x | upcase }}', '&lt;B&gt;'],
    ['line breaks as HTML', '{{ "a<\nb" | newline_to_br }}', 'a&lt;<br />b'],
  ])('reaches %s', (_, template, printed) => {
    const data = { ...hostile, event: { ...hostile.event, raw: { a: '<' } } };
    expect(render(template, data, html)).toBe(printed);
  });

  it('lets one trust the catalog', () => {
    const data = dataOf({}, { ...test, owner: '<@U123>' });
    expect(render('{{ test.owner }} {{ test.owner | raw }}', data, html)).toBe('&lt;@U123&gt; <@U123>');
  });

  it('knows where in the key it stands', () => {
    const canceled = dataOf({ status: 'Canceled' });
    const places: Json[] = [];
    const escape: Medium['escape'] = (value, path) => {
      if (value === 'Canceled') places.push([...path]);
      return value;
    };
    render({ blocks: ['x', { text: 'is {{ event.status }}' }] }, canceled, { escape });
    render('{{ event.status }}', canceled, { escape });
    expect(places).toEqual([['blocks', 1, 'text'], []]);
  });
});

describe('data', () => {
  const medium: Medium = { ...html, data: true };

  it.each<[string, Json]>([
    ['{{ event.testId }}', 1234567],
    ['{{- event.testId -}}', 1234567],
    ['{{ event.candidateNumericalId }}', null],
    ['{{ event.raw.missing | default: nil }}', null],
    ['{{ event.status }}', 'Completed'],
    ['{{ test.tags }}', ['a', 'b']],
    ['{{ event.testId | plus: 1 }}', 1234568],
    ['{{ event.status == "Completed" }}', true],
    ['{{ 1 | divided_by: 0 }}', null],
    ['test {{ event.testId }}', 'test 1234567'],
    ['{{ event.testId }} ', '1234567 '],
    ['{% if true %}{{ event.testId }}{% endif %}', '1234567'],
  ])('%s yields %j', (template, value) => {
    expect(render({ value: template }, dataOf(), medium)).toEqual({ value });
  });

  it('is text where the key itself is the template', () => {
    expect(render('{{ event.testId }}', dataOf(), medium)).toBe('1234567');
  });

  it('is escaped wherever it has text', () => {
    const data = dataOf({ raw: { deep: [{ text: '<!channel>' }] } });
    expect(render({ value: '{{ event.raw.deep }}' }, data, medium)).toEqual({
      value: [{ text: '&lt;!channel&gt;' }],
    });
  });
});

describe('templates that fail for an event', () => {
  it.each([
    ['a field', '{{ event.raw.score }}', 'event.raw.score'],
    ['a field of a field', '{{ event.raw.note.text }}', 'event.raw.note'],
    ['a field under another name', '{% assign sent = event.raw %}{{ sent.score }}', 'sent.score'],
    ['a field of an entry', '{% for one in event.raw.list %}{{ one.x }}{% endfor %}', 'one.x'],
  ])('say which the service did not send: %s', (_, template, name) => {
    expect(fault(template, { list: [{}] })).toEqual({
      fault: `The template of "text" failed: \`${name}\` is not in what the service sent; if it may be missing, write \`{{ ${name} | default: "" }}\`.`,
    });
  });

  it('say that their loops go too far, without the clock having a say', () => {
    const nested =
      '{% for a in event.raw.list %}{% for b in event.raw.list %}{% for c in event.raw.list %}x{% endfor %}{% endfor %}{% endfor %}';
    const list = Array.from({ length: 100 }, (_, index) => index);
    expect(fault(nested, { list })).toEqual({
      fault: `The template of "text" failed: the loops take more than ${maxSteps.toLocaleString('en')} steps.`,
    });
  });

  const tooMuch =
    'The template of "text" failed: the template reads or makes more than 4,000,000 characters or list entries.';

  it.each([
    ['a range', '{% for a in (1..event.raw.n) %}{% endfor %}'],
    [
      'text that doubles',
      '{% assign s = "0123456789" %}{% for a in event.raw.list %}{% assign s = s | append: s %}{% endfor %}',
    ],
    [
      'captured text that doubles',
      '{% assign s = "0123456789" %}{% for a in event.raw.list %}{% capture s %}{{ s }}{{ s }}{% endcapture %}{% endfor %}',
    ],
  ])('say that they make too much: %s', (_, template) => {
    const list = Array.from({ length: 64 }, (__, index) => index);
    expect(fault(template, { n: 1e9, list })).toEqual({
      fault: tooMuch,
    });
  });
});

it.each(
  ['toString', 'valueOf', 'toJSON'].flatMap((key) => [
    [key, 'append: "x"', '[object Object]x'],
    [key, 'plus: 1', '1'],
    [key, 'upcase', '[OBJECT OBJECT]'],
    [key, 'sort: "a" | size', '1'],
    [key, 'json', `{"${key}":1}`],
  ]),
)('a map of an event may have the key %s: %s', (key, filter, printed) => {
  const raw = { map: JSON.parse(`{"${key}":1}`) };
  expect(render(`{{ event.raw.map | ${filter} }}`, dataOf({ raw }))).toBe(printed);
  expect(
    render(`{{ event.raw.list | ${filter} | size }}`, dataOf({ raw: { list: [raw.map, raw.map] } })),
  ).toMatch(/^\d+$/);
});

it('a long list or text is not read again and again', () => {
  const raw = { list: Array.from({ length: 6000 }, (_, index) => `v${index}`), text: 'x'.repeat(60_000) };
  for (const body of ['event.raw.list | reverse', 'event.raw.text | size'])
    expect(fault(`{% for i in (1..12000) %}{% assign x = ${body} %}{% endfor %}`, raw)).toEqual({
      fault: expect.stringContaining('reads or makes more than 4,000,000 characters or list entries'),
    });
});

it('a digest of hundreds may still look through its events for each of them', () => {
  const events = Array.from({ length: 300 }, () => ({ ...dataOf().event, test }));
  const same = '{% assign same = events | where: "testId", event.testId %}{{ same.size }};';
  const printed = render(`{% for event in events %}${same}{% endfor %}`, { ...dataOf(), events });
  expect(printed).toBe('300;'.repeat(300));
});

it('leaves its data as it was', () => {
  const data = dataOf();
  const before = JSON.stringify(data);
  render('{% assign event = 1 %}{% capture test %}x{% endcapture %}{{ event }}{{ test }}', data);
  expect(JSON.stringify(data)).toBe(before);
});
