import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/config/load.ts';
import { connectors } from '../../connectors/index.ts';
import { Backtest } from '../../src/backtest/backtest.ts';
import { compare, type Difference, plannedFor } from '../../src/backtest/differences.ts';
import { noFacts } from '../../src/model.ts';
import { eventWith } from '../fixtures/event.ts';
import { factsOf } from '../rules/tools.ts';

const sinks = `
sinks:
  slack: { connector: slack, token: '\${TOKEN}' }
  mail: { connector: email, url: 'smtp://127.0.0.1', from: hiring@example.com }
  sheet: { connector: google-sheets, spreadsheetId: s, credentials: '{"client_email":"a@example.com","private_key":"k"}' }
`;

const planOf = (rules: string) =>
  parseConfig(`${sinks}\n${rules}`, 'config.yaml', { env: { TOKEN: 'xoxb-1' }, connectors }).plan;

const event = eventWith({ candidateId: 'Dana', receivedAt: Date.UTC(2026, 10, 21) });

const rule = (name: string, ...actions: string[]) =>
  `  - { name: ${name}, when: {}, then: [ ${actions.join(', ')} ] }\n`;
const slack = (text: string) => `{ sink: slack, channel: '#hiring', text: '${text}' }`;
const mail = (to: string) => `{ sink: mail, to: ${to}, subject: Hi, text: Hello }`;
const sheet = (row: string) => `{ sink: sheet, tab: Results, row: { ${row} } }`;

/** The difference between two lists of rules, in short. */
function difference(before: string, after: string) {
  const found = compare(
    plannedFor(planOf(`rules:\n${before}`), event),
    plannedFor(planOf(`rules:\n${after}`), event),
  );
  return inShort(found);
}

const inShort = (found: readonly Difference[]) =>
  found.map(({ kind, planned: { sink, rule: name }, edits }) => [`${kind} ${sink} of ${name}`, ...edits]);

describe('what two plans make of an event', () => {
  test('is the same with the same rules, or under another name, or in another order', () => {
    const before = rule('a', slack('{{ event.candidateId }}'), mail('x@example.com'));
    expect(difference(before, before)).toEqual([]);
    const after = rule('b', mail('x@example.com')) + rule('c', slack('Dana'));
    expect(difference(before, after)).toEqual([]);
  });

  test('differs by what is added and removed', () => {
    const found = difference(rule('a', mail('x@example.com')), rule('a', slack('one')));
    expect(found).toEqual([['removed mail of a'], ['added slack of a']]);
  });

  test('is compared as of when it goes', () => {
    const [message] = plannedFor(
      planOf(`hours: { office: { from: '08:00', to: '18:00' } }
rules:
${rule('a', "{ sink: slack, channel: '#a', text: '{{ now }}', hours: office }")}`),
      event,
    );
    expect(message!.fields['text']).toBe('2026-11-23T08:00:00.000Z');
  });

  test('differs by the keys of a message, also deep ones', () => {
    const found = difference(
      rule('a', sheet("Who: Dana, Status: '{{ event.status }}'")),
      rule('a', sheet('Who: Dana, Status: done, New: 1')),
    );
    expect(found).toEqual([
      [
        'changed sheet of a',
        { key: 'row.Status', before: 'Completed', after: 'done' },
        { key: 'row.New', before: null, after: expect.anything() },
      ],
    ]);
  });

  test('counts equal messages: a second one to the same place is one more', () => {
    const found = difference(rule('a', slack('one')), rule('a', slack('one'), slack('one')));
    expect(found).toEqual([['added slack of a']]);
  });

  test('takes equal messages for each other first, then those of one action, then those of one rule', () => {
    const before = rule('a', slack('one'), slack('two')) + rule('b', slack('three'));
    const after = rule('a', slack('two'), slack('ONE')) + rule('b', slack('THREE'));
    const found = difference(before, after);
    expect(found).toEqual([
      ['changed slack of b', { key: 'text', before: 'three', after: 'THREE' }],
      ['changed slack of a', { key: 'text', before: 'one', after: 'ONE' }],
    ]);
  });

  test('of a sink that has become another kind of tool is not one message changed, but two', () => {
    const [before] = plannedFor(planOf(`rules:\n${rule('a', slack('one'))}`), event);
    const found = compare([before!], [{ ...before!, connector: 'webhook' }]);
    expect(inShort(found)).toEqual([['removed slack of a'], ['added slack of a']]);
  });

  test('differs by when it is due', () => {
    const [before] = plannedFor(planOf(`rules:\n${rule('a', slack('one'))}`), event);
    const found = compare([before!], [{ ...before!, dueAt: event.receivedAt + 60_000 }]);
    expect(found[0]?.edits).toEqual([
      { key: 'dueAt', before: '2026-11-21T00:00:00.000Z', after: '2026-11-21T00:01:00.000Z' },
    ]);
  });

  test('differs by a digest: it goes later, and says what it says of this one event', () => {
    const digest = `{ sink: slack, channel: '#hiring', text: '{{ events.size }} came', digest: { every: 1h } }`;
    const [[, ...edits] = []] = difference(rule('a', slack('one')), rule('a', digest));
    expect(edits).toEqual([
      { key: 'dueAt', before: '2026-11-21T00:00:00.000Z', after: '2026-11-21T01:00:00.000Z' },
      { key: 'text', before: 'one', after: '1 came' },
    ]);
  });

  describe('of events that one digest tells of', () => {
    const digest = (how: string) => mail('x@example.com').replace(' }', `, digest: { every: 1h${how} } }`);
    /** What is told of three events of an hour, two of them of one test. */
    const told = (before: string, after: string) => {
      const [was, next] = [planOf(`rules:\n${before}`), planOf(`rules:\n${after}`)];
      const summary = new Backtest(next, connectors);
      const found = [1, 1, 2].map((testId, at) =>
        inShort(summary.add(eventWith({ ...event, testId, candidateId: `c${at}` }), noFacts, was)),
      );
      return [found.map(([one]) => one?.[1] ?? null), summary.report().sentences];
    };
    const other = [
      'x@example.com gets as many events as before in digests; 1 of them comes in another digest.',
    ];
    const apart = { key: 'digest', before: 'with other events', after: 'apart from them' };
    const together = { key: 'digest', before: 'apart from other events', after: 'with them' };

    test('differs where these come in several, by another `by`, a smaller `max`, or rules of their own', () => {
      const one = rule('a', digest(''));
      expect(told(one, rule('a', digest(', by: testId')))).toEqual([[null, null, apart], other]);
      expect(told(rule('a', digest(', by: testId')), one)).toEqual([[null, null, together], other]);
      expect(told(one, rule('a', digest(', max: 2')))).toEqual([[null, null, apart], other]);
      const two = [1, 2].map((id) =>
        rule(`a${id}`, digest('')).replace('when: {}', `when: { testId: ${id} }`),
      );
      expect(told(one, two.join(''))).toEqual([[null, null, apart], other]);
    });

    test('is the same where they come in one all the same', () => {
      const one = rule('a', digest(''));
      expect(told(one, rule('b', digest(', by: status, max: 3')))).toEqual([[null, null, null], []]);
      // Of two that are alike, and one of them only of a test, in another order.
      const ofTest = rule('b', digest('')).replace('when: {}', 'when: { testId: 2 }');
      expect(told(one + ofTest, ofTest + one)).toEqual([[null, null, null], []]);
    });
  });

  test('differs where a message can no longer be made', () => {
    const found = difference(rule('a', slack('one')), rule('a', slack('{{ event.raw.gone }}')));
    expect(found).toEqual([
      expect.arrayContaining([
        'changed slack of a',
        { key: 'fault', before: null, after: expect.stringContaining('gone') },
      ]),
    ]);
  });

  test('differs by the facts that were kept; events of which the new plan has none are counted', () => {
    const lookups = `lookups:
  candidate:
    url: "https://tests.example.com/api/{{ event.candidateId }}"
    when: { status: Completed }
    fields: { score: { at: /score, type: number } }
`;
    const before = planOf(`rules:\n${rule('a', slack('one'))}`);
    const strong = `  - { name: a, when: { candidate.score: { gte: 80 } }, then: [ ${slack('{{ candidate.score }}')} ] }\n`;
    const summary = new Backtest(planOf(`${lookups}rules:\n${strong}`), connectors);
    expect(inShort(summary.add(event, factsOf({ score: 87 }), before))).toEqual([
      ['changed slack of a', { key: 'text', before: 'one', after: '87' }],
    ]);
    expect(inShort(summary.add(event, factsOf({ score: 79 }), before))).toEqual([['removed slack of a']]);
    expect(summary.missing()).toEqual([]);
    summary.add(event, noFacts, before);
    // No look-up is made for this event.
    summary.add({ ...event, status: 'Canceled' }, noFacts, before);
    expect(summary.missing()).toEqual([
      '1 event without facts of candidate: compared as if these were unknown',
    ]);
  });
});
