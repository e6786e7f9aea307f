import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noFacts, statuses } from '../../src/model.ts';
import { compileRules, type Rule } from '../../src/rules/match.ts';
import type { ConditionInput } from '../../src/rules/fields.ts';
import { whenSchema } from '../../src/rules/when.ts';
import type { Condition, When } from '../../src/rules/conditions.ts';
import { conditionOf, subject, testIds, whens as ofKeys, whensOf } from './tools.ts';
import { runs } from '../fixtures/runs.ts';

const named = (...all: [When, boolean?][]): Rule[] =>
  all.map(([when, final = false], index) => ({ name: `r${index}`, when, final }));

const rules = (...all: [When, boolean?][]) => compileRules(named(...all));

const matches = (when: When, candidate: ConditionInput) =>
  compileRules([{ name: 'rule', when: whenSchema.parse(when), final: false }]).match(candidate).length === 1;

describe('a condition', () => {
  const some = subject(
    { candidateNumericalId: 42 },
    { team: 'Backend', level: 3, tags: ['a', 'b'], remote: false, lead: null },
  );

  it.each<[When, boolean]>([
    [{}, true],
    [{ status: 'Completed' }, true],
    [{ status: 'Canceled' }, false],
    [{ status: ['Canceled', 'Completed'] }, true],
    [{ status: { not: 'Completed' } }, false],
    [{ status: { not: ['Canceled', 'DidNotTake'] } }, true],
    [{ status: 'Completed', testId: 7 }, false],
    [{ testId: { in: [7, 1234567] } }, true],
    [{ testId: { gt: 1234566, lte: 1234567 } }, true],
    [{ testId: { gt: 1234567 } }, false],
    [{ testId: { gte: 1234567, lt: 1234568 } }, true],
    [{ testId: { not: { gt: 5 } } }, false],
    [{ testId: { not: { gt: 5, lt: 9 } } }, true],
    [{ testId: { matches: '^12' } }, true],
    [{ candidateId: { matches: 'b' } }, true],
    [{ candidateId: { matches: '^b' } }, false],
    [{ candidateId: { matches: '(?i)^ABC$' } }, true],
    [{ candidateNumericalId: 42 }, true],
    [{ 'test.team': 'Backend' }, true],
    [{ 'test.team': 'backend' }, false],
    [{ 'test.level': { gte: 3 } }, true],
    [{ 'test.level': '3' }, false],
    [{ 'test.level': { gt: '1' } }, false],
    [{ 'test.remote': false }, true],
    [{ 'test.tags': 'b' }, true],
    [{ 'test.tags': { not: 'b' } }, false],
    [{ 'test.tags': { matches: 'c' } }, false],
    // A missing value is not equal to anything.
    [{ 'test.lead': 'Dana' }, false],
    [{ 'test.lead': { not: 'Dana' } }, true],
    [{ 'test.lead': { matches: 'null' } }, false],
    [{ 'test.lead': { exists: false } }, true],
    [{ 'test.nothing': { exists: false } }, true],
    [{ 'test.constructor': { exists: true } }, false],
    [{ 'test.team': { exists: true } }, true],
    [{ all: [{ status: 'Completed' }, { testId: 1234567 }] }, true],
    [{ all: [{ status: 'Completed' }, { testId: 7 }] }, false],
    [{ any: [{ status: 'Canceled' }, { testId: 1234567 }] }, true],
    [{ any: [{ status: 'Canceled' }, { testId: 7 }] }, false],
    [{ not: { status: 'Completed', testId: 7 } }, true],
    [{ not: { status: 'Completed' } }, false],
  ])('%j: %s', (when, expected) => {
    expect(matches(when, some)).toBe(expected);
  });

  it('takes time linear to the text for any pattern', () => {
    const long = subject({ candidateId: `${'a'.repeat(5000)}!` });
    expect(matches({ candidateId: { matches: '^(a+)+$' } }, long)).toBe(false);
    expect(matches({ candidateId: { matches: '(a|a)*b|(.*)*c' } }, long)).toBe(false);
  });
});

describe('matching', () => {
  it('gives every rule that applies, in order', () => {
    const set = rules(
      [{}],
      [{ testId: 7 }],
      [{ testId: 1234567 }],
      [{ status: 'Completed' }],
      [{ status: 'Canceled' }],
    );
    expect(set.match(subject())).toEqual([0, 2, 3]);
    expect(set.match(subject({ testId: 7, status: 'Canceled' }))).toEqual([0, 1, 4]);
  });

  it('ends at a final rule that matches, and only there', () => {
    const set = rules([{ testId: 7 }, true], [{}], [{ testId: 1234567 }, true], [{}]);
    expect(set.match(subject())).toEqual([1, 2]);
    expect(set.match(subject({ testId: 7 }))).toEqual([0]);
    expect(set.match(subject({ testId: 8 }))).toEqual([1, 3]);
  });

  it('gives nothing where there are no rules', () => {
    expect(rules().match(subject())).toEqual([]);
  });
});

/** The plainest reading of a rule, without an index; lists and operators only as the generator below makes them. */
function plainly(when: When, { event, test, facts }: ConditionInput): boolean {
  return Object.entries(when).every(([key, operand]) => {
    if (key === 'all') return (operand as When[]).every((one) => plainly(one, { event, test, facts }));
    if (key === 'any') return (operand as When[]).some((one) => plainly(one, { event, test, facts }));
    if (key === 'not') return !plainly(operand as When, { event, test, facts });
    const ofEvent = event[(key === 'test.id' ? 'testId' : key) as keyof typeof event];
    const value = key === 'test.team' ? test['team'] : ofEvent;
    return fits(operand as Condition, value ?? null);
  });
}

function fits(condition: Condition, value: unknown): boolean {
  if (typeof condition !== 'object') return value === condition;
  if (Array.isArray(condition)) return condition.includes(value);
  return Object.entries(condition).every(([operator, operand]) => {
    if (operator === 'in') return (operand as unknown[]).includes(value);
    if (operator === 'not') return !fits(operand as Condition, value);
    if (operator === 'matches') return new RegExp(operand as string).test(String(value));
    if (operator === 'exists') return (value !== null) === operand;
    return (
      value !== null &&
      (operator === 'gte' ? Number(value) >= Number(operand) : Number(value) < Number(operand))
    );
  });
}

const whens = whensOf(fc.oneof(ofKeys, fc.record({ 'test.id': conditionOf(testIds, true) })));
const subjects = fc.record({
  event: fc.record({
    candidateId: fc.constant('abc'),
    candidateNumericalId: fc.constantFrom(null, 1, 2),
    testId: fc.constantFrom(...testIds, 99),
    status: fc.constantFrom(...statuses),
  }),
  test: fc.record({ team: fc.constantFrom('a', 'b', null) }),
  facts: fc.constant(noFacts),
});

it('refuses only conditions that no event meets', () => {
  let refused = 0;
  const many = fc.sample(subjects, { numRuns: 300, seed: 7 });
  fc.assert(
    fc.property(whens, (when) => {
      // Without faults of other kinds, as that of an empty list.
      const { error } = whenSchema.safeParse(when);
      if (!error || !error.issues.every(({ message }) => message.startsWith('no event can match'))) return;
      refused += 1;
      const parts = error.issues.map(({ path }) => partAt(when, path));
      expect(parts.map((part) => many.find((one) => plainly(part, one)))).toEqual(parts.map(() => undefined));
    }),
    runs(1000),
  );
  expect(refused).toBeGreaterThan(50);
});

/** The `when` at a path, or of the condition there. */
function partAt(when: When, path: readonly PropertyKey[]): When {
  const at = (depth: number) =>
    path.slice(0, depth).reduce<unknown>((part, key) => part?.[key as never], when);
  const isNamed = typeof path.at(-1) === 'string' && !['all', 'any', 'not'].includes(String(path.at(-1)));
  return (isNamed ? { [path.at(-1) as string]: at(path.length) } : at(path.length)) as When;
}

it('finds by its index what reading every rule finds, and explains the same', () => {
  let matched = 0;
  const generated = fc.array(fc.record({ name: fc.constant('r'), when: whens, final: fc.boolean() }), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(generated, fc.array(subjects, { minLength: 1, maxLength: 5 }), (all, several) => {
      const set = compileRules(all);
      for (const one of several) {
        const applying = all.flatMap(({ when }, index) => (plainly(when, one) ? [index] : []));
        const end = applying.findIndex((index) => all[index]?.final);
        const expected = end === -1 ? applying : applying.slice(0, end + 1);
        matched += expected.length;
        expect(set.match(one)).toEqual(expected);
        expect(set.explain(one).flatMap((verdict, index) => (verdict.matched ? [index] : []))).toEqual(
          expected,
        );
      }
    }),
    runs(300),
  );
  expect(matched).toBeGreaterThan(1000);
});
