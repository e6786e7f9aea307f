import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Fault } from '../../src/config/text/problems.ts';
import { validate } from '../../src/config/text/validate.ts';
import type { Json } from '../../src/model.ts';
import { whenSchema } from '../../src/rules/when.ts';

/** The faults of a `when`, as people read them. */
function faults(when: object | number): string[] {
  const found: string[] = [];
  const report = ({ path, message }: Fault) => void found.push(`${path.join('.')}: ${message}`);
  const resolve = () => {
    throw new Error('there are no references');
  };
  validate({ schema: whenSchema, raw: when as Json, path: [] }, { report, resolve });
  return found;
}

const isValid = new Ajv2020({ allowUnionTypes: true }).compile(
  z.toJSONSchema(whenSchema, { io: 'input', unrepresentable: 'any' }),
);

const good: object[] = [
  {},
  { status: 'Completed' },
  { status: ['DidNotTake', 'Canceled'], testId: { not: [7654321] } },
  { testId: 5, candidateNumericalId: { exists: true } },
  { candidateNumericalId: { gt: 1, gte: 2, lt: 9, lte: 8 } },
  { candidateId: { matches: '^[a-f]{2}', not: { matches: 'f$' } } },
  {
    'test.team': 'Backend',
    'test.level': { gte: 3 },
    'test.opened': { lt: '2026-06-01' },
    'test.remote': true,
  },
  { 'test.team': { exists: false } },
  { testId: [5, 6], 'test.id': 5 },
  { 'test.team': { in: ['a', 'b'], not: 'a' } },
  { all: [{ status: 'Completed' }, { any: [{ testId: 1 }, { not: { testId: { in: [2, 3] } } }] }] },
  { testId: { gt: 1, lt: 3 } },
  { candidateId: ['{0123456789abcdef0123456789abcdef)'] },
];

describe('conditions that are understood', () => {
  it.each(good.map((when) => [JSON.stringify(when), when]))('%s', (_, when) => {
    expect(faults(when)).toEqual([]);
    expect(isValid(when)).toBe(true);
  });

  it('a candidate id of as many characters as the receiver takes', () => {
    const when = { candidateId: '😀'.repeat(256) };
    expect(faults(when)).toEqual([]);
    expect(isValid(when)).toBe(true);
  });
});

const statusExpected = 'expected a status: Completed, DidNotTake or Canceled';

/** Faults that editors see, too, by the JSON Schema. */
const bad: [when: object | number, ...faults: string[]][] = [
  [5, ': expected conditions: a map such as { status: Completed }, or {} for every event, got 5'],
  [{ status: 'Complted' }, `status: ${statusExpected}, got "Complted"; did you mean "Completed"?`],
  [{ status: 'completed' }, `status: ${statusExpected}, got "completed"; did you mean "Completed"?`],
  [{ status: 'Started' }, `status: ${statusExpected}, got "Started"`],
  [{ status: null }, `status: ${statusExpected}, got nothing`],
  [
    { status: ['Completed', 'canceled'] },
    `status.1: ${statusExpected}, got "canceled"; did you mean "Canceled"?`,
  ],
  [
    { status: { not: { in: ['Cancelled'] } } },
    `status.not.in.0: ${statusExpected}, got "Cancelled"; did you mean "Canceled"?`,
  ],
  [{ statsu: 'Completed' }, 'statsu: unknown key "statsu"; did you mean "status"?'],
  [
    { testID: 5, candidateid: 'x' },
    'testID: unknown key "testID"; did you mean "testId"?',
    'candidateid: unknown key "candidateid"; did you mean "candidateId"?',
  ],
  [
    { 'test.': 1 },
    'test.: unknown key "test."; expected status, testId, candidateId, candidateNumericalId, all, any, not, test.<key> or <look-up>.<field>',
  ],
  [{ status: { mathces: 'x' } }, 'status.mathces: unknown key "mathces"; did you mean "matches"?'],
  [{ status: { gt: 'Completed' } }, 'status.gt: unknown key "gt"; expected in, matches, exists or not'],
  [
    { testId: { not: { not: 5 } } },
    'testId.not.not: unknown key "not"; expected in, matches, exists, gt, gte, lt or lte',
  ],
  [
    { testId: '1234567' },
    'testId: expected a test id: a whole number (write 1234567, without quotes), got "1234567"',
  ],
  [{ testId: [1, 2.5] }, 'testId.1: expected a test id: a whole number, got 2.5'],
  [
    { testId: { gt: '5' } },
    'testId.gt: expected a test id: a whole number (write 5, without quotes), got "5"',
  ],
  [
    { candidateNumericalId: true },
    "candidateNumericalId: expected a candidate's number: a whole number, got true",
  ],
  [
    { candidateId: 12345 },
    'candidateId: expected a candidate id: text, so in quotes where it is a number, got 12345',
  ],
  [
    { candidateId: '' },
    'candidateId: expected a candidate id: at least one character that is not a space, got ""',
  ],
  [
    { candidateId: '😀'.repeat(257) },
    'candidateId: expected a candidate id: at most 256 characters, got "😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀…"',
  ],
  [{ 'test.team': null }, 'test.team: expected text, a number, or true or false, got nothing'],
  [{ 'test.team': { exists: 'yes' } }, 'test.team.exists: expected true or false, got "yes"'],
  [{ 'test.team': [] }, 'test.team: expected at least one value: an empty list matches no event'],
  [{ status: { in: [] } }, 'status.in: expected at least one value: an empty list matches no event'],
  [{ status: { in: 'Completed' } }, 'status.in: expected a list of values, got "Completed"'],
  [{ status: {} }, 'status: expected a value, a list of values, or operators such as { not: … }'],
  [{ all: [] }, 'all: expected at least one condition'],
  [{ any: { status: 'Completed' } }, 'any: expected a list of conditions, got a map'],
  [{ not: { testId: 1.5 } }, 'not.testId: expected a test id: a whole number, got 1.5'],
  [{ any: [{}, { status: 'x' }] }, `any.1.status: ${statusExpected}, got "x"`],
];

describe('conditions that are not', () => {
  it.each(bad.map(([when, ...expected]) => ({ when, expected })))('$when', ({ when, expected }) => {
    expect(faults(when)).toEqual(expected);
    expect(isValid(when)).toBe(false);
  });
});

/** Faults that only the check can know. */
describe('conditions that no event can meet, or that cannot be tested', () => {
  it.each([
    [
      { status: { not: ['Completed', 'DidNotTake', 'Canceled'] } },
      'status: no event can match this: none of Completed, DidNotTake, Canceled meets all of it',
    ],
    [
      { status: { in: ['Completed'], not: 'Completed' } },
      'status: no event can match this: none of Completed meets all of it',
    ],
    [{ testId: { in: [1, 2], gt: 5 } }, 'testId: no event can match this: none of 1, 2 meets all of it'],
    [{ testId: { gt: 5, lt: 6 } }, 'testId: no event can match this: nothing is more than 5 and less than 6'],
    [{ testId: { gte: 5, lt: 5 } }, 'testId: no event can match this: nothing is at least 5 and less than 5'],
    [
      { 'test.level': { gt: 3, lte: 2 } },
      'test.level: no event can match this: nothing is more than 3 and at most 2',
    ],
    [
      { 'test.level': { gt: 3, lt: 'x' } },
      'test.level: no event can match this: nothing is more than 3 and less than x',
    ],
    [{ status: { exists: false } }, 'status: no event can match this: every event has status'],
    [
      { candidateNumericalId: { exists: false, gt: 3 } },
      'candidateNumericalId: no event can match this: a value that is missing cannot meet anything else',
    ],
    [
      { any: [{ testId: { gt: 2, lt: 1 } }] },
      'any.0.testId: no event can match this: nothing is more than 2 and less than 1',
    ],
    [
      { status: 'Completed', any: [{ status: 'Canceled' }, { status: 'DidNotTake', testId: 1 }] },
      ': no event can match this: its conditions on status and testId exclude each other',
    ],
    [
      { testId: 5, 'test.id': 6 },
      ': no event can match this: its conditions on status and testId exclude each other',
    ],
    [
      { 'test.id': { not: '5' } },
      'test.id.not: expected a test id: a whole number (write 5, without quotes), got "5"',
    ],
    [
      { 'test.id': [5, 'Backend'] },
      'test.id.1: expected a test id: a whole number (for the name of the catalog, write test.name), got "Backend"',
    ],
    [{ 'test.id': { exists: false } }, 'test.id: no event can match this: every event has test.id'],
    [
      { any: [{ all: [{ testId: [1, 2] }, { testId: { in: [2, 3], not: 2 } }] }] },
      'any.0: no event can match this: its conditions on status and testId exclude each other',
    ],
    [
      { candidateId: '{0A12CD34-AB12-CD34-AB12-CD34AB12CD34}' },
      'candidateId: expected the id as it is kept: 0a12cd34ab12cd34ab12cd34ab12cd34, got "{0A12CD34-AB12-CD34-AB12-CD34AB12CD34}"',
    ],
    [
      { candidateId: { not: 'urn:uuid:0a12cd34-ab12-cd34-ab12-cd34ab12cd34' } },
      'candidateId.not: expected the id as it is kept: 0a12cd34ab12cd34ab12cd34ab12cd34, got "urn:uuid:0a12cd34-ab12-cd34-ab12-cd34ab12cd34"',
    ],
    [{ candidateId: ' abc' }, 'candidateId: expected the id as it is kept: abc, got " abc"'],
    [{ candidateId: 'a\tb' }, 'candidateId: expected a candidate id: no control characters, got "a\\tb"'],
    [
      { candidateId: { matches: '(a' } },
      'candidateId.matches: the pattern cannot be read: missing closing ): `(a`',
    ],
    [
      { candidateId: { matches: '(?=a)' } },
      'candidateId.matches: the pattern cannot be read: invalid or unsupported Perl syntax: `(?=`',
    ],
  ])('%j', (when, fault) => {
    expect(faults(when)).toEqual([fault]);
  });
});

it('a pattern has a length and repeats that its events do not have to wait for', () => {
  const excess = (matches: string) => faults({ candidateId: { matches } });
  expect(excess('a'.repeat(1000))).toEqual([]);
  expect(excess('a'.repeat(1001))).toEqual([
    'candidateId.matches: the pattern cannot be read: it is longer than 1000 characters',
  ]);
  expect(excess('^(a{500}|b{2,500}|c{,9999})$')).toEqual([]);
  expect(excess('^x{1000}y{1,}$')).toEqual([
    'candidateId.matches: the pattern cannot be read: its {…} ask for more than 1000 repeats',
  ]);
});
