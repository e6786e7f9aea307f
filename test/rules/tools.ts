import * as fc from 'fast-check';
import { type CandidateEvent, type Facts, type LookupFacts, noFacts, statuses } from '../../src/model.ts';
import type { Hours } from '../../src/rules/calendar.ts';
import type { Condition, When } from '../../src/rules/conditions.ts';
import type { LookupFields, ConditionInput } from '../../src/rules/fields.ts';
import { eventWith } from '../fixtures/event.ts';

export const subject = (
  event: Partial<CandidateEvent> = {},
  test: ConditionInput['test'] = {},
): ConditionInput => ({
  event: eventWith(event),
  test: { id: event.testId ?? 1234567, ...test },
  facts: noFacts,
});

export const office: Hours = {
  name: 'office',
  timeZone: 'Europe/Zagreb',
  days: new Set([1, 2, 3, 4, 5]),
  fromMinute: 8 * 60,
  toMinute: 18 * 60,
  closed: new Set(['2026-12-25']),
};

/** Generates conditions with these values. */
export function conditionOf(values: readonly (string | number)[], ordered: boolean): fc.Arbitrary<Condition> {
  const value = fc.constantFrom(...values);
  const list = fc.array(value, { minLength: 1, maxLength: 3 });
  const bounds = [
    fc.record({ gte: value }),
    fc.record({ lt: value }),
    fc.record({ not: fc.record({ gte: value }) }),
  ];
  return fc.oneof(
    value,
    list,
    fc.record({ in: list }),
    fc.record({ not: fc.oneof(value, list) }),
    fc.record({ in: list, not: value }),
    fc.record({ exists: fc.boolean() }),
    ...(ordered ? bounds : []),
  );
}

export const testIds = [1, 2, 3, 4];
const ofTests: fc.Arbitrary<When>[] = [
  fc.record({ status: conditionOf(statuses, false) }),
  fc.record({ testId: conditionOf(testIds, true) }),
  fc.record({ 'test.team': conditionOf(['a', 'b'], false) }),
];
const leaves: fc.Arbitrary<When> = fc.oneof(
  ...ofTests,
  fc.record({ candidateNumericalId: conditionOf([1, 2], true) }),
  fc.record({ candidateId: fc.constantFrom<Condition>('abc', { matches: 'b' }, { not: { matches: '^a' } }) }),
);
/** Generates nested conditions with such leaves. */
export function whensOf(leaf: fc.Arbitrary<When>): fc.Arbitrary<When> {
  const flat = fc.array(leaf, { maxLength: 2 }).map((some) => Object.assign({}, ...some) as When);
  const nest = (inner: fc.Arbitrary<When>): fc.Arbitrary<When> =>
    fc.oneof(
      flat,
      fc.array(inner, { maxLength: 2 }).map((all) => ({ all })),
      fc.array(inner, { maxLength: 3 }).map((any) => ({ any })),
      fc.tuple(flat, inner).map(([rest, not]) => Object.assign({ not }, rest)),
    );
  return nest(nest(flat));
}

export const whens = whensOf(leaves);

/** A look-up with a field of each type. */
export const lookups: LookupFields = new Map([
  [
    'candidate',
    {
      fields: new Map(
        Object.entries({
          score: { at: '/score', type: 'number', personal: false },
          name: { at: '/name', type: 'text', personal: true },
          passed: { at: '/passed', type: 'boolean', personal: false },
          endedAt: { at: '/endedAt', type: 'time', personal: false },
          report: { at: '/report', type: 'url', personal: false },
          email: { at: '/email', type: 'text', personal: true },
        } as const),
      ),
    },
  ],
]);

/** Facts of a look-up: `null` is absent, a missing key unknown. */
export const factsOf = (fields: LookupFacts['fields'], lookup = 'candidate'): Facts => ({
  [lookup]: { state: 'answered', at: 0, reason: null, fields },
});

/** Generates conditions on tests, statuses and `candidate.score`. */
export const whensOfFacts = (withUnknown = false): fc.Arbitrary<When> => {
  const words = fc.constantFrom<Condition>(...(withUnknown ? ['unknown', ['unknown', 2]] : []), 'absent');
  const ofScore = fc.oneof(conditionOf([1, 2, 3], true), words);
  return whensOf(
    fc.oneof(
      ...ofTests,
      ofScore.map((score): When => ({ 'candidate.score': score })),
    ),
  );
};
