import { describe, expect, it } from 'vitest';
import { plain } from '../../src/connector.ts';
import { type Facts, noFacts } from '../../src/model.ts';
import type { LookupFields } from '../../src/rules/fields.ts';
import { digestData, templateData } from '../../src/templates/data.ts';
import { compileFields } from '../../src/templates/template.ts';
import type { Vocabulary } from '../../src/templates/vocabulary.ts';
import { eventWith } from '../fixtures/event.ts';
import { factsOf, lookups } from '../rules/tools.ts';
import { digest as subject, faultsOf, html, vocabulary } from './tools.ts';

const level = { at: '/level', type: 'number', personal: false } as const;
const facts: LookupFields = new Map(lookups).set('test', { fields: new Map([['level', level]]) });
const words: Vocabulary = { ...vocabulary, facts };
const digest: Vocabulary = { ...words, subject };
const said = (template: string, vocabularyOf: Vocabulary) =>
  faultsOf(template, plain, vocabularyOf).map(({ line, column, message }) => `${line}:${column} ${message}`);

const event = eventWith({});
const entry = { id: event.testId, name: 'Backend', level: null };

function render(template: string, known: Facts): unknown {
  const { fields } = compileFields({ text: template }, { text: plain }, words);
  return fields?.render(templateData(event, entry, known, 'rule', 0));
}

describe('facts in templates', () => {
  it('are printed, and nothing where they are unknown or absent', () => {
    const template =
      '{{ candidate.name }}: {{ candidate.score | plus: 1 | default: "?" }}{{ candidate.report }}';
    expect(render(template, factsOf({ name: 'Ana', score: 87, report: null }))).toMatchObject({
      fields: { text: 'Ana: 88' },
    });
    expect(render('{{ candidate.name }}|{{ candidate.score | default: "?" }}', noFacts)).toMatchObject({
      fields: { text: '|?' },
    });
  });

  it('are those of each event in a digest', () => {
    const { fields } = compileFields(
      {
        text: '{{ candidate.name }}{% for event in events %} {{ event.candidate.name }}{{ event.test.level }}{% endfor %}',
      },
      { text: plain },
      digest,
    );
    const about = ['Ana', 'Ben'].map((name) => ({
      event,
      facts: { ...factsOf({ name }), ...factsOf({ level: name.length }, 'test') },
    }));
    expect(fields?.render(digestData(about, () => entry, 'rule', 0))).toMatchObject({
      fields: { text: 'Ana Ana3 Ben3' },
    });
  });

  it.each([
    ['{{ candidate.scor }}', '1:4 unknown variable `candidate.scor`, did you mean `candidate.score`?'],
    ['{{ candidat.score }}', '1:4 unknown variable `candidat`, did you mean `candidate`?'],
    ['{{ score }}', '1:4 unknown variable `score`, did you mean `candidate.score`?'],
    ['{{ candidate.name.first }}', '1:4 `candidate.name` is text and has no `first`'],
  ])('%s is refused', (template, fault) => {
    expect(said(template, words)).toEqual([fault]);
  });

  it('are named to whoever takes another name for a look-up', () => {
    const person = new Map([
      ['person', { fields: new Map([['name', { ...level, type: 'text' as const }]]) }],
    ]);
    const found = 'your look-ups find `person.name`';
    expect(said('{{ candidate.name }} {{ event.candidateName }}', { ...vocabulary, facts: person })).toEqual([
      `1:4 unknown variable \`candidate\`; ${found}`,
      `1:25 unknown variable \`event.candidateName\`; ${found}`,
    ]);
  });

  it('come from outside, so they cannot be printed unescaped', () => {
    expect(faultsOf('{{ candidate.name | raw }}', html, words)).toHaveLength(1);
  });
});

describe('a fact of which nothing says what to print if it is not known', () => {
  const sureFacts = new Set(['candidate.name']);
  const nothing = (fact: string) =>
    `nothing is printed where \`${fact}\` is unknown or absent; say what to print then, as in \`{{ ${fact} | default: "not known" }}\``;

  it.each([
    ['a {{ candidate.score }}', 'candidate.score', '1:3'],
    ['{{ candidate.score | plus: 1 | append: " %" }}', 'candidate.score', '1:1'],
    ['{% assign s = candidate.score | round %}{{ s }}', 'candidate.score', '1:41'],
    ['{% if candidate.report %}{% endif %}{{ candidate.report }}', 'candidate.report', '1:37'],
    ['{{ test.level }}', 'test.level', '1:1'],
  ])('%s', (template, fact, at) => {
    expect(said(template, { ...words, sureFacts })).toEqual([`${at} ${nothing(fact)}`]);
  });

  it('is found in the loop of a digest', () => {
    const template = '{% for event in events %}{{ event.candidate.score }}{% endfor %}';
    expect(said(template, { ...digest, sureFacts })).toEqual([`1:26 ${nothing('candidate.score')}`]);
  });

  it.each([
    '{{ candidate.score | default: "?" }}',
    '{{ candidate.name }}',
    '{% if candidate.score %}{{ candidate.score }}{% else %}{{ candidate.score }}{% endif %}',
    '{% unless candidate.report == nil %}<a href="{{ candidate.report }}">{% endunless %}',
    '{{ event.candidateId }}{{ test.name }}',
  ])('is not: %s', (template) => {
    expect(said(template, { ...words, sureFacts })).toEqual([]);
  });
});

describe('a fact that is true or false', () => {
  const passed = { at: '/passed', type: 'boolean', personal: false } as const;
  const withFlag: Vocabulary = {
    ...words,
    facts: new Map(facts).set('exam', { fields: new Map([['passed', passed]]) }),
  };
  const orFalse =
    '`default` takes false for missing, and `exam.passed` may be false; write `, allow_false: true` behind what it says';

  it.each([
    [
      '{{ exam.passed }}',
      '1:1 nothing is printed where `exam.passed` is unknown or absent; say what to print then, as in `{{ exam.passed | default: "not known", allow_false: true }}`',
    ],
    ['{{ exam.passed | default: "?" }}', `1:18 ${orFalse}`],
    ['{% assign p = exam.passed %}{{ p | default: "?" }}', `1:36 ${orFalse}`],
  ])('%s has its false said', (template, fault) => {
    expect(said(template, { ...withFlag, sureFacts: new Set() })).toEqual([fault]);
  });

  it('is said with the argument that is named', () => {
    const template = '{{ exam.passed | default: "?", allow_false: true }}';
    expect(said(template, { ...withFlag, sureFacts: new Set() })).toEqual([]);
    const { fields } = compileFields({ text: template }, { text: plain }, withFlag);
    const told = [true, false, null].map((known) =>
      fields?.render(templateData(event, entry, factsOf({ passed: known }, 'exam'), 'rule', 0)),
    );
    expect(told).toMatchObject(['true', 'false', '?'].map((text) => ({ fields: { text } })));
  });

  const saysElse = (fact: string) =>
    `1:1 where \`${fact}\` is unknown or absent, this says what it says of another value; ask for that first, as in \`{% if ${fact} == nil %}not known{% elsif … %}\``;

  it.each([
    ['{% if exam.passed %}passed{% else %}failed{% endif %}', 'exam.passed'],
    ['{% unless exam.passed %}failed{% endunless %}', 'exam.passed'],
    ['{% if exam.passed == false %}failed{% else %}passed{% endif %}', 'exam.passed'],
    ['{% unless exam.passed == false %}passed{% endunless %}', 'exam.passed'],
    ['{% if exam.passed != false %}passed{% endif %}', 'exam.passed'],
    ['{% case exam.passed %}{% when true %}passed{% else %}failed{% endcase %}', 'exam.passed'],
    [
      '{% if candidate.score >= 80 %}strong{% elsif candidate.score >= 50 %}good{% else %}weak{% endif %}',
      'candidate.score',
    ],
  ])('%s tells of what is unknown, too', (template, fact) => {
    expect(said(template, { ...withFlag, sureFacts: new Set() })).toEqual([saysElse(fact)]);
    expect(said(template, { ...withFlag, sureFacts: new Set([fact]) })).toEqual([]);
  });

  it.each([
    '{% if exam.passed %}passed{% endif %}',
    '{% if exam.passed == nil %}?{% elsif exam.passed %}passed{% else %}failed{% endif %}',
    '{% if exam.passed %}passed{% elsif exam.passed == false %}failed{% else %}?{% endif %}',
    '{% if exam.passed == false %}failed{% elsif exam.passed == true %}passed{% else %}?{% endif %}',
    '{% if exam.passed == false %}failed{% endif %}',
    '{% if candidate.score and candidate.score != 100 %}not all{% endif %}',
    '{% case exam.passed %}{% when true %}passed{% when false %}failed{% else %}?{% endcase %}',
    '{% case exam.passed %}{% when nil %}?{% else %}decided{% endcase %}',
    '{% case exam.passed %}{% when false %}failed{% endcase %}',
    '{% if candidate.score >= 80 %}strong{% elsif candidate.score %}weak{% else %}?{% endif %}',
    '{% if candidate.score != nil %}{% if candidate.score >= 80 %}strong{% else %}weak{% endif %}{% endif %}',
    '{% if candidate.name and candidate.score %}{{ candidate.name }}{% else %}A candidate{% endif %}',
    '{% unless candidate.name %}A candidate{% endunless %}',
    '{% if event.testId == 1 %}a{% else %}b{% endif %}',
  ])('%s does not', (template) => {
    expect(said(template, { ...withFlag, sureFacts: new Set() })).toEqual([]);
  });

  it('counts as one also where the rule knows it', () => {
    const sureFacts = new Set(['exam.passed']);
    expect(said('{{ exam.passed | default: "?" }}', { ...withFlag, sureFacts })).toEqual([`1:18 ${orFalse}`]);
  });
});
