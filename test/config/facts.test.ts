import { describe, expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import type { Problem } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { eventWith } from '../fixtures/event.ts';
import { type Facts, noFacts } from '../../src/model.ts';
import { decide } from '../../src/rules/decide.ts';
import { factsOf } from '../rules/tools.ts';
import { failure } from './tools.ts';

const plain = '{ sink: slack, channel: "#a", text: x }';

/** Loads a config with two look-ups and one rule: its `when` on line 2, its action from line 3 on. */
const load = (when: string, action = plain, more = '') =>
  parseConfig(
    `rules: [ { name: r,
  when: ${when},
  then: [ ${action} ] } ]
lookups:
  candidate:
    url: "https://tests.example.com/api/{{ event.candidateId }}"
    fields: { name: { at: /name, personal: true }, score: { at: /score, type: number } }
  test:
    url: "https://tests.example.com/tests/{{ event.testId }}"
    fields: { level: { at: /level, type: number } }
sinks:
  slack: { connector: slack, token: "\${TOKEN}" }
  mail: { connector: email, url: smtp://localhost, from: a@example.com }
  ats: { connector: webhook, url: https://ats.example.com }
${more}`,
    'config.yaml',
    { env: { TOKEN: 'xoxb-12345' }, connectors },
  );

const shortly = ({ line, column, message }: Problem) => `${line}:${column} ${message}`;
const told = (...given: Parameters<typeof load>) =>
  load(...given)
    .warnings.map(shortly)
    .filter((text) => !/no action uses|no catalog/.test(text));

describe('of the look-ups of a config, a plan has those whose facts something uses', () => {
  test.each<[when: string, action: string, used: string[]]>([
    ['{}', plain, []],
    ['{ any: [ { not: { candidate.score: unknown } } ] }', plain, ['candidate']],
    ['{ test.level: 3, test.name: A }', plain, ['test']],
    ['{ test.name: A }', plain, []],
    ['{}', '{ sink: slack, channel: "{{ test.level }}", text: x }', ['test']],
    ['{}', '{ sink: slack, channel: "#a", text: "{{ test.name }}{{ event.candidateId }}" }', []],
    ['{}', '{ sink: slack, channel: "#a", text: "{{ candidate.score | default: 0 }}" }', ['candidate']],
    [
      '{}',
      '{ sink: slack, channel: "#a", text: "{% for one in events %}{{ one.candidate.name }}{% endfor %}", digest: { every: 1h } }',
      ['candidate'],
    ],
    [
      '{}',
      '{ sink: slack, channel: "#a", text: x, digest: { every: 1h, by: [candidate.score] } }',
      ['candidate'],
    ],
    // The default text of a message.
    ['{}', '{ sink: slack, channel: "#a" }', ['candidate']],
    ['{}', '{ sink: mail, to: a@example.com, subject: s, text: t }', []],
    ['{}', '{ sink: ats }', ['candidate', 'test']],
    ['{}', '{ sink: ats, body: { a: 1 } }', []],
  ])('%s %s', (when, action, used) => {
    expect([...load(when, action).plan.lookups.keys()]).toEqual(used);
  });

  test('a link may be what uses it, but is none itself', () => {
    const links = 'links: { candidate: "https://x.example.com/{{ candidate.name }}" }';
    const linked = '{ sink: slack, channel: "#a", text: "{{ links.candidate }}" }';
    expect([...load('{}', linked, links).plan.lookups.keys()]).toEqual(['candidate']);
    const other = links.replace('candidate.name', 'event.candidateId');
    expect([...load('{}', linked, other).plan.lookups.keys()]).toEqual([]);
  });

  test('check says which are not made', () => {
    expect(told('{ candidate.score: 5 }')).toEqual([
      '8:3 nothing uses the facts of "test", so it is not looked up',
    ]);
  });
});

describe('a config that names a fact which no look-up has is refused at its place', () => {
  test.each<[when: string, action: string, fault: string]>([
    ['{ candidate.scor: 5 }', plain, '2:11 unknown key "candidate.scor"; did you mean "candidate.score"?'],
    ['{ candidate.score: "80" }', plain, '2:28 expected a number, or unknown or absent, got "80"'],
    [
      '{}',
      '{ sink: slack, channel: "#a", text: "{{ candidate.scor }}" }',
      '3:51 unknown variable `candidate.scor`, did you mean `candidate.score`?',
    ],
    [
      '{}',
      '{ sink: slack, channel: "#a", digest: { every: 1h, by: [testId, candidate.scor] } }',
      '3:75 expected status, testId, candidateId, candidateNumericalId, or test. and a key of the catalog, got "candidate.scor"; did you mean "candidate.score"?',
    ],
  ])('%s %s', (when, action, fault) => {
    expect(failure(() => load(when, action)).problems.map(shortly)).toEqual([fault]);
  });
});

describe('check warns where a message has a gap if a fact is not known', () => {
  const text =
    '{ sink: slack, channel: "#a", text: "{{ candidate.score }} % {{ test.level | default: 1 }}" }';
  const gap =
    '3:48 nothing is printed where `candidate.score` is unknown or absent; say what to print then, as in `{{ candidate.score | default: "not known" }}`';

  test.each([
    ['{}', [gap]],
    ['{ candidate.score: [unknown, 5] }', [gap]],
    ['{ candidate.name: A }', [gap]],
    ['{ all: [ { candidate.score: { gte: 80 } } ] }', []],
  ])('unless the rule knows it: %s', (when, warnings) => {
    expect(told(when, text)).toEqual(warnings);
  });
});

test('what the catalog says by hand wins over the look-up `test`, and counts as known', () => {
  const action = '{ sink: slack, channel: "#{{ test.level }}", text: x }';
  const { plan } = load('{ test.level: { gte: 3 } }', action, 'catalog: { 7: { level: 5 }, 8: { name: B } }');
  const lanes = (testId: number, facts = noFacts) =>
    decide(plan, eventWith({ testId }), facts, 0).map(({ lane }) => lane);
  expect(lanes(7)).toEqual(['slack 5']);
  expect(lanes(7, factsOf({ level: 1 }, 'test'))).toEqual(['slack 5']);
  expect(lanes(8, factsOf({ level: 4 }, 'test'))).toEqual(['slack 4']);
  expect(lanes(8)).toEqual([]);
});

test('a digest goes by facts', () => {
  const action = '{ sink: slack, channel: "#a", digest: { every: 1h, by: candidate.score } }';
  const { plan } = load('{}', action);
  const groupOf = (facts: Facts) => decide(plan, eventWith({}), facts, 0)[0]?.group;
  expect(groupOf(factsOf({ score: 1 }))).toBe(groupOf(factsOf({ score: 1, name: 'Ana' })));
  expect(groupOf(factsOf({ score: 1 }))).not.toBe(groupOf(factsOf({ score: 2 })));
});
