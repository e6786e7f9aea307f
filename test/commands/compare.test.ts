import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/config/load.ts';
import { connectors } from '../../connectors/index.ts';
import { compare, isSame, plannedFor } from '../../src/commands/backtest.ts';
import { eventWith } from '../fixtures/event.ts';

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

/** What changes from one list of rules to another, in short. */
function difference(before: string, after: string) {
  const found = compare(
    plannedFor(planOf(`rules:\n${before}`), event),
    plannedFor(planOf(`rules:\n${after}`), event),
  );
  const short = ({ sink, rule: name }: { sink: string; rule: string }) => `${sink} of ${name}`;
  return {
    added: found.added.map(short),
    removed: found.removed.map(short),
    changed: found.changed.map(({ after: one, edits }) => [short(one), edits]),
    same: isSame(found),
  };
}

const nothing = { added: [], removed: [], changed: [], same: true };

describe('what two plans make of an event', () => {
  test('is the same with the same rules, or under another name, or in another order', () => {
    const before = rule('a', slack('{{ event.candidateId }}'), mail('x@example.com'));
    expect(difference(before, before)).toEqual(nothing);
    const after = rule('b', mail('x@example.com')) + rule('c', slack('Dana'));
    expect(difference(before, after)).toEqual(nothing);
  });

  test('differs by what is added and removed', () => {
    const found = difference(rule('a', mail('x@example.com')), rule('a', slack('one')));
    expect(found).toEqual({ added: ['slack of a'], removed: ['mail of a'], changed: [], same: false });
  });

  test('differs by the keys of a message, also deep ones', () => {
    const found = difference(
      rule('a', sheet("Who: Dana, Status: '{{ event.status }}'")),
      rule('a', sheet('Who: Dana, Status: done, New: 1')),
    );
    expect(found.changed).toEqual([
      [
        'sheet of a',
        [
          { key: 'row.Status', before: 'Completed', after: 'done' },
          { key: 'row.New', before: null, after: expect.anything() },
        ],
      ],
    ]);
  });

  test('counts equal messages: a second one to the same place is one more', () => {
    const found = difference(rule('a', slack('one')), rule('a', slack('one'), slack('one')));
    expect(found).toEqual({ ...nothing, added: ['slack of a'], same: false });
  });

  test('takes equal messages for each other first, then those of one action, then those of one rule', () => {
    const before = rule('a', slack('one'), slack('two')) + rule('b', slack('three'));
    const after = rule('a', slack('two'), slack('ONE')) + rule('b', slack('THREE'));
    const found = difference(before, after);
    expect(found.changed).toEqual([
      ['slack of b', [{ key: 'text', before: 'three', after: 'THREE' }]],
      ['slack of a', [{ key: 'text', before: 'one', after: 'ONE' }]],
    ]);
    expect(found).toMatchObject({ added: [], removed: [] });
  });

  test('of a sink that has become another kind of tool is not one message changed, but two', () => {
    const [before] = plannedFor(planOf(`rules:\n${rule('a', slack('one'))}`), event);
    const found = compare([before!], [{ ...before!, connector: 'webhook' }]);
    expect([found.added.length, found.removed.length, found.changed.length]).toEqual([1, 1, 0]);
  });

  test('differs by when it is due', () => {
    const [before] = plannedFor(planOf(`rules:\n${rule('a', slack('one'))}`), event);
    const found = compare([before!], [{ ...before!, dueAt: event.receivedAt + 60_000 }]);
    expect(found.changed[0]?.edits).toEqual([
      { key: 'dueAt', before: '2026-11-21T00:00:00.000Z', after: '2026-11-21T00:01:00.000Z' },
    ]);
  });

  test('differs by a digest: it goes later, and says what it says of this one event', () => {
    const digest = `{ sink: slack, channel: '#hiring', text: '{{ events.size }} came', digest: { every: 1h } }`;
    const [[, edits] = []] = difference(rule('a', slack('one')), rule('a', digest)).changed;
    expect(edits).toEqual([
      { key: 'dueAt', before: '2026-11-21T00:00:00.000Z', after: '2026-11-21T01:00:00.000Z' },
      { key: 'text', before: 'one', after: '1 came' },
    ]);
  });

  test('differs where a message can no longer be made', () => {
    const found = difference(rule('a', slack('one')), rule('a', slack('{{ event.raw.gone }}')));
    expect(found.changed).toEqual([
      [
        'slack of a',
        expect.arrayContaining([{ key: 'fault', before: null, after: expect.stringContaining('gone') }]),
      ],
    ]);
  });
});
