import * as fc from 'fast-check';
import { describe, expect, test as it } from 'vitest';
import { plain } from '../../src/connector.ts';
import { compileFields } from '../../src/templates/template.ts';
import type { Vocabulary } from '../../src/templates/vocabulary.ts';
import { digest as inDigest, faultsOf, html, vocabulary } from './tools.ts';
import { plainSetting } from '../../src/templates/data.ts';
import { runs } from '../fixtures/runs.ts';

const digest = { ...vocabulary, subject: inDigest };

describe('what the check finds', () => {
  it.each<[string, string]>([
    // Variables
    [
      '{{ event.candidateID }}',
      '1:4 unknown variable `event.candidateID`, did you mean `event.candidateId`?',
    ],
    [
      '{{ event["candidateID"] }}',
      '1:4 unknown variable `event.candidateID`, did you mean `event.candidateId`?',
    ],
    ['a\n  {{ test.nmae | upcase }}', '2:6 unknown variable `test.nmae`, did you mean `test.name`?'],
    [
      '{{ test.salary | default: "-" }}',
      '1:4 unknown variable `test.salary`; no entry of the catalog has `salary`',
    ],
    ['{{ candidateId }}', '1:4 unknown variable `candidateId`, did you mean `event.candidateId`?'],
    ['{{ evnt.status }}', '1:4 unknown variable `evnt`, did you mean `event`?'],
    ['{{ zzzzzz }}', '1:4 unknown variable `zzzzzz`; there are `event`, `test`, `rule`, `now`'],
    ['{{ rule.description }}', '1:4 unknown variable `rule.description`; `rule` has `name`'],
    [
      '{{ event.score }}',
      '1:4 unknown variable `event.score`; other fields that the service sends are in `event.raw`, such as `event.raw.score`',
    ],
    ['{{ event.status.text }}', '1:4 `event.status` is text and has no `text`'],
    ['{{ event.testId.size }}', '1:4 `event.testId` is a number and has no `size`'],
    [
      '{% if event.status == Completed %}{% endif %}',
      '1:23 unknown variable `Completed`; text needs quotes: `"Completed"`',
    ],
    [
      '{{ events.size }}',
      '1:4 unknown variable `events`; it is available only in actions with `digest`, and not in the keys that say where the message goes',
    ],
    ['{{ forloop.index }}', '1:4 unknown variable `forloop`; it is available only inside `for`'],
    [
      '{{ event.status | append: foo }}',
      '1:27 unknown variable `foo`; there are `event`, `test`, `rule`, `now`',
    ],
    ['{{ test[foo] }}', '1:9 unknown variable `foo`; there are `event`, `test`, `rule`, `now`'],
    [
      '{% for i in (1..foo) %}{% endfor %}',
      '1:17 unknown variable `foo`; there are `event`, `test`, `rule`, `now`',
    ],
    [
      '{% cycle event.foo, now %}',
      '1:10 unknown variable `event.foo`; other fields that the service sends are in `event.raw`, such as `event.raw.foo`',
    ],
    [
      '{% case foo %}{% when 1 %}{% endcase %}',
      '1:9 unknown variable `foo`; there are `event`, `test`, `rule`, `now`',
    ],
    [
      '{{ later }}{% assign later = 1 %}',
      '1:4 unknown variable `later`; there are `event`, `test`, `rule`, `now`',
    ],
    [
      '{% for tag in test.tags %}{% endfor %}{{ tag }}',
      '1:42 unknown variable `tag`; there are `event`, `test`, `rule`, `now`',
    ],
    ['{% assign a = event %}{{ a.stats }}', '1:26 unknown variable `a.stats`, did you mean `a.status`?'],
    // Filters
    ['{{ event.status | upcse }}', '1:19 unknown filter `upcse`, did you mean `upcase`?'],
    ['{{ event.status | qqqqqq }}', '1:19 unknown filter `qqqqqq`'],
    ['{{ event.status | constructor }}', '1:19 unknown filter `constructor`'],
    ['{% assign x = "a" | upcse %}', '1:21 unknown filter `upcse`, did you mean `upcase`?'],
    ['{% cycle "a" | upcse %}', '1:16 unknown filter `upcse`, did you mean `upcase`?'],
    [
      '{{ test.tags | sample }}',
      '1:16 the filter `sample` is not available here: a repeated attempt would differ from the first',
    ],
    [
      '{{ test.tags | where_exp: "x", "x.y" }}',
      '1:16 the filter `where_exp` is not available here: its expression could not be checked before an event comes',
    ],
    ['{{ "a" | append }}', '1:10 the filter `append` needs an argument: `append: …`'],
    ['{{ now | date: "%Y-%Q" }}', '1:16 a date format has no `%Q`'],
    [
      '{{ now | date: "%H", "Europe/Zagrb" }}',
      '1:22 unknown time zone `Europe/Zagrb`, did you mean `Europe/Zagreb`?',
    ],
    [
      '{{ now | date_to_rfc822: "Moon" }}',
      '1:26 unknown time zone `Moon`, expected a name such as `Europe/Zagreb`',
    ],
    // Syntax
    ['{{ event.status', '1:1 `{{` is not closed; `}}` is missing'],
    ['x {% if event.status', '1:3 `{%` is not closed; `%}` is missing'],
    ['{% if event.status %}x', '1:1 `{% if event.status %}` is not closed; `{% endif %}` is missing'],
    ['{% raw %}x', '1:10 `{% raw %}` is not closed; `{% endraw %}` is missing'],
    ['x{% endif %}', '1:2 `{% endif %}` does not belong to any open tag'],
    ['{% iff x %}', '1:1 unknown tag `iff`, did you mean `if`?'],
    [
      '{% include "/etc/passwd" %}',
      '1:1 the tag `include` is not available here: a template cannot use other templates',
    ],
    [
      '{% render "package.json" %}',
      '1:1 the tag `render` is not available here: a template cannot use other templates',
    ],
    ['{% layout "x" %}', '1:1 the tag `layout` is not available here: a template cannot use other templates'],
    [
      '{% increment event %}',
      '1:1 the tag `increment` is not available here: count with `forloop.index` or `assign`',
    ],
    [
      '{% if event.status = "Completed" %}{% endif %}',
      '1:20 expected `==` to compare; a single `=` is only for `assign`',
    ],
    ['{% if event.status == "a" || event.testId == 1 %}{% endif %}', '1:27 expected `or` instead of `||`'],
    [
      '{{ event.status event.testId }}',
      '1:17 unexpected `event.testId`; expected an operator such as `==`, or `|` and a filter',
    ],
    ['{% if event.status == %}{% endif %}', '1:20 `==` needs a value on both sides'],
    ['{{ }}', '1:4 expected a value'],
    [
      '{% for x of test.tags %}{% endfor %}',
      '1:1 expected `{% for entry in list %}`, got `{% for x of test.tags %}`',
    ],
    // What only a trial shows
    [
      '{% for i in (1..1000000000) %}{% endfor %}',
      '1:1 the template reads or makes more than 4,000,000 characters or list entries',
    ],
  ])('%s', (template, found) => {
    expect(faultsOf(template).map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([
      found,
    ]);
  });

  const nested = (depth: number) => '{% if now %}'.repeat(depth) + '{% endif %}'.repeat(depth);

  it.each([
    [
      'characters',
      `a\n${'b'.repeat(499_999)}{{ now }}`,
      '2:499999 the template is longer than 500,000 characters',
    ],
    ['nested tags', nested(51), '1:601 this is nested more than 50 levels deep'],
    [
      'nested tags for the parser',
      `a${nested(5000)}`,
      expect.stringMatching(/^1:\d+ this is nested more than 50 levels deep$/),
    ],
    [
      'lines within a line',
      `{% ${'liquid '.repeat(51)}echo now %}`,
      expect.stringMatching(/^1:\d+ this is nested more than 50 levels deep$/),
    ],
  ])('is that there are too many %s', (_, template, found) => {
    const [fault, ...more] = faultsOf(template);
    expect(`${fault?.line}:${fault?.column} ${fault?.message}`).toEqual(found);
    expect(more).toEqual([]);
  });

  it('is nothing in what is large, but no larger than that', () => {
    expect(faultsOf(nested(50) + nested(1).repeat(900))).toEqual([]);
    expect(faultsOf('{% comment %}' + 'x'.repeat(400_000) + '{% endcomment %}')).toEqual([]);
  });

  it.each(['{% rawr %}', '{{ nwo }}', '{{ “now” }}'])('is one of the first hundred: %s', (part) => {
    expect(faultsOf(part.repeat(300))).toHaveLength(100);
  });

  it('is all there is, in order, in every string', () => {
    const { faults } = compileFields(
      {
        text: '{{ foo }}{% include "x" %}\n{{ bar | upcse }}',
        row: { list: ['{{ baz }}'] },
        plain: '{{ qux }}',
      },
      { text: plain, row: plain },
      vocabulary,
    );
    expect(faults.map(({ path, line, column }) => [path.join('.'), line, column])).toEqual([
      ['text', 1, 4],
      ['text', 1, 10],
      ['text', 2, 4],
      ['text', 2, 10],
      ['row.list.0', 1, 4],
    ]);
  });

  it('leaves out what only follows from another fault', () => {
    const messages = faultsOf('{% for x of test.tags %}{{ x }}{% else %}{% endfor %}').map(
      ({ message }) => message,
    );
    expect(messages).toEqual(['expected `{% for entry in list %}`, got `{% for x of test.tags %}`']);
  });

  it.each([
    ['{{ event.raw.anything.at[0].all }}'],
    ['{{ event["status"] }}{{ event.candidateId.size }}{{ test.tags.first }}{{ test.tags[0] }}{{ test.id }}'],
    ['{% assign x = event.status %}{{ x }}{% capture y %}{{ x }}{% endcapture %}{{ y.size }}'],
    ['{% if true %}{% assign x = 1 %}{% endif %}{{ x }}'],
    [
      '{% for tag in test.tags limit: 2 offset: continue reversed %}{{ tag.name }}{{ forloop.last }}{% else %}-{% endfor %}',
    ],
    ['{% tablerow tag in test.tags cols: 2 %}{{ tablerowloop.col }}{% endtablerow %}'],
    ['{% case event.status %}{% when "Completed", "Canceled" %}a{% else %}b{% endcase %}'],
    ['{% unless event.candidateNumericalId %}{% comment %}{{ foo }}{% endcomment %}{% endunless %}'],
    ['{% assign parts = test.owner | split: "@" %}{{ parts[1] }}{{ parts.last }}'],
    ['{{ now | date: "%Y-%m-%d %-H:%M:%S%:z", "Europe/Zagreb" }}{{ now | date: test.name, test.owner }}'],
    ['{% # a comment %}{% liquid assign z = 1 %}{{ z }}{{ "x".size }}{{ (1..3) | join: "," }}'],
    ['no templates { here } %}'],
  ])('is nothing in %s', (template) => {
    expect(faultsOf(template)).toEqual([]);
  });

  it('knows the events of a digest', () => {
    expect(
      faultsOf('{{ events[0].status }}{{ events.first.raw.x }}{{ events.last.test.name }}', plain, digest),
    ).toEqual([]);
    expect(
      faultsOf('{% for one in events %}{{ one.stats }}{% endfor %}{{ events.status }}', plain, digest),
    ).toMatchObject([
      { message: 'unknown variable `one.stats`, did you mean `one.status`?' },
      { message: '`events` is a list without `status`; loop over it with `{% for entry in events %}`' },
    ]);
  });

  it.each(['events', 'event', 'test'])('knows no `%s` in an alert', (name) => {
    const words = { ...vocabulary, subject: 'notice' as const };
    expect(faultsOf(`{{ ${name}.size }}`, plain, words)).toMatchObject([
      { message: `unknown variable \`${name}\`; there are \`notice\`, \`rule\`, \`now\`` },
    ]);
  });

  it('knows no events where a digest goes', () => {
    const words = { ...vocabulary, subject: { digestOf: 9, placeKeys: new Set(['to']) } };
    const fields = { to: '{{ test.owner }}{{ events.size }}', text: '{{ events.size }}' };
    const { faults } = compileFields(fields, { to: plain, text: plain }, words);
    expect(faults).toMatchObject([
      { path: ['to'], column: 20, message: expect.stringContaining('unknown variable `events`;') },
    ]);
  });

  it.each([
    [['testId'], ['event.status', 'event.candidateId']],
    [['test.id'], ['event.status', 'event.candidateId']],
    [
      ['status', 'test.name'],
      ['event.testId', 'event.candidateId', 'test.id', 'test.owner'],
    ],
  ])('can tell in what the events of a digest need not agree: by %j', (agreed, differ) => {
    const names = ['event.status', 'event.testId', 'event.candidateId', 'test.id', 'test.name', 'test.owner'];
    const words = { ...vocabulary, subject: { ...inDigest, agreed: new Set(agreed) } };
    const found = names.filter((name) => faultsOf(`{{ ${name} }}`, plain, words).length > 0);
    expect(found).toEqual(names.filter((name) => differ.includes(name)));
    const shadowed = '{% for event in events %}{{ event.status }}{{ event.test.owner }}{% endfor %}';
    expect(faultsOf(shadowed, plain, words)).toEqual([]);
  });

  it('knows a notice, and no event, in an alert', () => {
    const alert: Vocabulary = { ...vocabulary, subject: 'notice' };
    const all =
      '{{ notice.alert }}{{ notice.sink }}{{ notice.count }}{{ notice.since | date: "%H" }}{{ rule.name }}{{ now }}';
    expect(faultsOf(all, plain, alert)).toEqual([]);
    expect(faultsOf('{{ notice.advise }}{{ event.status }}', plain, alert)).toMatchObject([
      { message: 'unknown variable `notice.advise`, did you mean `notice.advice`?' },
      { message: 'unknown variable `event`; there are `notice`, `rule`, `now`' },
    ]);
    expect(faultsOf('{{ notice.detail }}')).toMatchObject([
      { message: 'unknown variable `notice`; it is available only in the actions of alerts' },
    ]);
    expect(faultsOf('{{ notice.detail | raw }}', html, alert)).toHaveLength(1);
  });

  it('finds loops that are too long for as many events as a digest may have', () => {
    const square = '{% for a in events %}{% for b in events %}{{ b.id }}{% endfor %}{% endfor %}';
    const of = (digestOf: number) => ({ ...vocabulary, subject: { ...inDigest, digestOf } });
    expect(faultsOf(square, plain, of(100))).toEqual([]);
    expect(faultsOf(square, plain, of(1000))).toMatchObject([
      { message: expect.stringContaining('the loops take more than') },
    ]);
  });
});

describe('escaping that would be switched off or done twice', () => {
  it('is that of links, too, which have values of an event in them', () => {
    const setting = { ...plainSetting, links: () => ({ candidate: 'https://x.example' }) };
    const faults = (template: string) => faultsOf(template, html, { ...vocabulary, setting });
    expect(faults('{{ links.candidate }}')).toEqual([]);
    expect(faults('{{ links.candidate | raw }}')).toHaveLength(1);
    expect(faults('{{ links.candidat }}')).toMatchObject([
      { message: 'unknown variable `links.candidat`, did you mean `links.candidate`?' },
    ]);
  });

  const hostile =
    '`raw` cannot be used on a value that comes with an event: unescaped, it could do harm where it is shown';
  it.each([
    ['{{ event.candidateId | raw }}', [hostile]],
    ['{{ event.raw.x | upcase | raw }}', [hostile]],
    ['{{ test.name | append: event.candidateId | raw }}', [hostile]],
    ['{% assign x = event.candidateId | upcase %}{{ x | raw }}', [hostile]],
    ['{% assign x = test.name | append: event.candidateId %}{{ x | raw }}', [hostile]],
    ['{% for one in event.raw %}{{ one | raw }}{% endfor %}', [hostile]],
    ['{% capture x %}{{ event.candidateId }}{% endcapture %}{{ x | url_decode | raw }}', [hostile]],
    ['{{ test.name | raw }}', []],
    [
      '{{ test.name | escape }}',
      ['leave out `escape`: values are escaped here anyway, so they would be escaped twice'],
    ],
  ])('is found in %s', (template, messages) => {
    expect(faultsOf(template, html).map(({ message }) => message)).toEqual(messages);
  });

  it('is none where nothing is escaped', () => {
    expect(faultsOf('{{ event.candidateId | raw }}{{ event.candidateId | escape }}', plain)).toEqual([]);
  });
});

it('compiles nothing where there are faults', () => {
  const { fields, faults } = compileFields({ text: '{{ foo }}' }, { text: plain }, vocabulary);
  expect(fields).toBe(null);
  expect(faults).toHaveLength(1);
});

describe('a template without faults hides none in one that is like it', () => {
  const pieces = [
    '{{ event.status }}',
    '{{ event.state }}',
    '{{ "}}" }}',
    '{{ "',
    '" }}',
    ' }}',
    '{{',
    "'",
    'a',
    '{% if event.id %}',
  ];
  const more = [
    '{% endif %}',
    '{% for x in (1..3) %}',
    '{% endfor %}',
    '{% raw %}',
    '{% endraw %}',
    '{%',
    '{{ "a" | nope }}',
    '\n',
  ];
  it('of any pieces', () => {
    const shared = { ...vocabulary };
    const anyText = fc
      .array(fc.constantFrom(...pieces, ...more), { maxLength: 5 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(anyText, (text) => {
        expect(faultsOf(text, plain, shared)).toEqual(faultsOf(text, plain, { ...vocabulary }));
      }),
      runs(400),
    );
  });

  it('that is longer', () => {
    const loop = (text: string) => `{% for x in (1..3000) %}{{ x }}${text}{% endfor %}`;
    expect(faultsOf(loop(''))).toEqual([]);
    expect(faultsOf(loop('x'.repeat(200_000)))).toHaveLength(1);
  });
});
