import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fault } from '../../src/config/text/problems.ts';
import { validate } from '../../src/config/text/validate.ts';
import { type Facts, type Json, noFacts } from '../../src/model.ts';
import type { When } from '../../src/rules/conditions.ts';
import { compileRules } from '../../src/rules/match.ts';
import { whenSchemaWith } from '../../src/rules/when.ts';
import { runs } from '../fixtures/runs.ts';
import { factsOf, lookups, subject, whensOfFacts } from './tools.ts';

const rulesOf = (when: When) => compileRules([{ name: 'rule', when, final: false }], lookups);
const matches = (when: When, facts: Facts): boolean =>
  rulesOf(when).match({ ...subject(), facts }).length === 1;

function faults(when: object): string[] {
  const found: string[] = [];
  const report = ({ path, message }: Fault) => void found.push(`${path.join('.')}: ${message}`);
  const resolve = () => {
    throw new Error('there are no references');
  };
  validate({ schema: whenSchemaWith(lookups), raw: when as Json, path: [] }, { report, resolve });
  return found;
}

/** Whether each matches, and whether each `not` around it does: t, f, or u where that is not known. */
const truthOf = (when: When, facts: Facts) =>
  matches(when, facts) ? 't' : matches({ not: when }, facts) ? 'f' : 'u';

const known = factsOf({ score: 80 });
const absent = factsOf({ score: null });

describe('a condition on a fact', () => {
  it.each<[condition: When[`${string}.${string}`], of80: string, ofAbsent: string, ofUnknown: string]>([
    [80, 't', 'f', 'u'],
    [{ gte: 80 }, 't', 'f', 'u'],
    [{ lt: 80 }, 'f', 'f', 'u'],
    [[79, 80], 't', 'f', 'u'],
    [{ in: [79] }, 'f', 'f', 'u'],
    [{ matches: '^8' }, 't', 'f', 'u'],
    [{ not: 79 }, 't', 'f', 'u'],
    [{ not: { gte: 80 } }, 'f', 'f', 'u'],
    [{ exists: true }, 't', 'f', 'u'],
    [{ exists: false }, 'f', 't', 'u'],
    ['absent', 'f', 't', 'u'],
    ['unknown', 'f', 'f', 't'],
    [['unknown', 80], 't', 'f', 't'],
    [['unknown', 'absent'], 'f', 't', 't'],
  ])('%j', (condition, of80, ofAbsent, ofUnknown) => {
    const when: When = { 'candidate.score': condition };
    expect(faults(when)).toEqual([]);
    expect([known, absent, noFacts].map((facts) => truthOf(when, facts))).toEqual([
      of80,
      ofAbsent,
      ofUnknown,
    ]);
  });

  it('takes the words literally in a list after `in`', () => {
    const when: When = { 'candidate.name': { in: ['unknown'] } };
    expect([factsOf({ name: 'unknown' }), noFacts].map((facts) => truthOf(when, facts))).toEqual(['t', 'u']);
  });

  it('compares times in UTC by as much of them as is written', () => {
    const bounds = [
      '2026-01-30',
      '2026-01-31',
      '2026-01-31T10:00',
      '2026-01-31T10:00:59',
      '2026-01-31T10:01',
    ];
    const ofOperators = {
      gt: (time: string, bound: string) => time > bound,
      gte: (time: string, bound: string) => time >= bound,
      lt: (time: string, bound: string) => time < bound,
      lte: (time: string, bound: string) => time <= bound,
    };
    for (const endedAt of [
      '2026-01-30T23:59:59.999Z',
      '2026-01-31T00:00:00.000Z',
      '2026-01-31T10:00:59.999Z',
    ])
      for (const bound of bounds)
        for (const [operator, holds] of Object.entries(ofOperators)) {
          const condition = { [operator]: bound };
          const truth = holds(endedAt.slice(0, bound.length), bound) ? 't' : 'f';
          expect({ endedAt, condition, truth }).toEqual({
            endedAt,
            condition,
            truth: truthOf({ 'candidate.endedAt': condition }, factsOf({ endedAt })),
          });
        }
  });

  it('takes a day in which a time is', () => {
    const when: When = { 'candidate.endedAt': { gte: '2026-01-31T10:00', lte: '2026-01-31' } };
    expect(faults(when)).toEqual([]);
    expect(faults({ 'candidate.endedAt': { gt: '2026-01-31', lt: '2026-01-31T10:00' } })).toEqual([
      'candidate.endedAt: no event can match this: nothing is more than 2026-01-31T23:59:59.999Z and less than 2026-01-31T10:00',
    ]);
    expect(
      ['09:59', '10:00', '23:59'].map((time) =>
        truthOf(when, factsOf({ endedAt: `2026-01-31T${time}:59.999Z` })),
      ),
    ).toEqual(['f', 't', 't']);
  });

  it('knows nothing of a look-up that was not made, and that all is absent where the API has nothing', () => {
    const of = (state: 'absent' | 'unknown') => ({ candidate: { state, at: 0, reason: 'why', fields: {} } });
    expect(truthOf({ 'candidate.score': 'absent' }, of('absent'))).toBe('t');
    expect(truthOf({ 'candidate.score': 'unknown' }, of('unknown'))).toBe('t');
  });
});

it('whatever matches while a fact is unknown matches with each value that it may have', () => {
  let matched = 0;
  fc.assert(
    fc.property(whensOfFacts(), (when) => {
      if (!matches(when, noFacts)) return;
      matched += 1;
      for (const score of [null, 0, 1, 2, 3, 4]) expect(matches(when, factsOf({ score }))).toBe(true);
    }),
    runs(1000),
  );
  expect(matched).toBeGreaterThan(50);
});

describe('a condition on a fact that is refused', () => {
  it.each([
    [
      { 'candidate.scor': 5 },
      'candidate.scor: unknown key "candidate.scor"; did you mean "candidate.score"?',
    ],
    [
      { 'candidat.score': 5 },
      'candidat.score: unknown key "candidat.score"; did you mean "candidate.score"?',
    ],
    [
      { any: [{ 'candidate.score': '80' }] },
      'any.0.candidate.score: expected a number, or unknown or absent, got "80"',
    ],
    [{ 'candidate.score': { in: ['unknown'] } }, 'candidate.score.in.0: expected a number, got "unknown"'],
    [
      { 'candidate.passed': 'yes' },
      'candidate.passed: expected true or false, or unknown or absent, got "yes"',
    ],
    [
      { 'candidate.passed': { gt: 1 } },
      'candidate.passed.gt: unknown key "gt"; expected in, matches, exists or not',
    ],
    [
      { 'candidate.endedAt': { gte: '2026-01-31T10:00Z' } },
      'candidate.endedAt.gte: expected a time in UTC such as "2026-01-31" or "2026-01-31T10:00", got "2026-01-31T10:00Z"',
    ],
    [
      { 'candidate.score': { gt: 5, lt: 5 } },
      'candidate.score: no event can match this: nothing is more than 5 and less than 5',
    ],
  ])('%j', (when, fault) => {
    expect(faults(when)).toEqual([fault]);
  });
});

it.each<[when: When, facts: Facts, because: string]>([
  [{ 'candidate.score': { gte: 80 } }, factsOf({ score: 87 }), 'candidate.score 87 ≥ 80'],
  [
    { 'candidate.score': { gte: 90 } },
    factsOf({ score: 87 }),
    'not matched: candidate.score is 87, the rule wants at least 90',
  ],
  [
    { 'candidate.score': { gte: 90 } },
    noFacts,
    'not matched: candidate.score is unknown, the rule wants at least 90',
  ],
  [{ 'candidate.score': 'unknown' }, noFacts, 'candidate.score is unknown'],
  [
    { 'candidate.score': 'unknown' },
    absent,
    'not matched: candidate.score is absent, the rule wants it unknown',
  ],
  [
    { not: { 'candidate.score': { gte: 90 } } },
    noFacts,
    'not matched: nobody knows whether the exception applies (candidate.score is unknown, the exception wants at least 90)',
  ],
  [{ 'candidate.name': { matches: '^A' } }, factsOf({ name: 'Ana' }), 'candidate.name matches ^A'],
  [
    { 'candidate.name': { matches: '^B' } },
    factsOf({ name: 'Ana' }),
    'not matched: candidate.name is known, the rule wants something that matches ^B',
  ],
])('says of %j why', (when, facts, because) => {
  expect(rulesOf(when).explain({ ...subject(), facts })[0]?.because).toBe(because);
});
