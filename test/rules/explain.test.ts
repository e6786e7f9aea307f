import { describe, expect, it } from 'vitest';
import { compileRules } from '../../src/rules/match.ts';
import type { When } from '../../src/rules/conditions.ts';
import { subject } from './tools.ts';

const some = subject({}, { team: 'Backend', lead: null, tags: ['a', 'b'] });
const many = Array.from({ length: 100 }, (_, index) => index);

describe('why a rule matched', () => {
  it.each<[When, string]>([
    [{}, 'the rule applies to every event'],
    [{ status: 'Completed' }, 'status is Completed'],
    [{ status: ['Completed'] }, 'status is Completed'],
    [
      { status: 'Completed', testId: [1234567, 7654321] },
      'status is Completed, and test 1234567 is one of 1234567, 7654321',
    ],
    [{ testId: { in: [...many, 1234567] } }, 'test 1234567 is one of 0, 1, 2, 3, 4 and 96 more'],
    [{ testId: { not: [5, 6] } }, 'test 1234567 is not one of 5, 6'],
    [{ testId: { gt: 5, lte: 1234567 } }, 'test 1234567 > 5 and ≤ 1234567'],
    [{ candidateId: { matches: '^a' } }, 'candidate abc matches ^a'],
    [{ candidateId: { not: { matches: '^b' } } }, 'candidate abc is not something that matches ^b'],
    [{ candidateNumericalId: { exists: false } }, 'candidate number is not set'],
    [{ 'test.team': { exists: true } }, "the test's team Backend is set"],
    [{ 'test.lead': { not: 'Dana' } }, "the test's lead is not set"],
    [{ 'test.tags': 'b' }, "the test's tags a, b is b"],
    [{ all: [{ status: 'Completed' }, { testId: 1234567 }] }, 'status is Completed, and test is 1234567'],
    [{ any: [{ status: 'Canceled' }, { testId: 1234567 }] }, 'test is 1234567'],
    [
      { not: { status: 'Canceled' } },
      'the exception does not apply (status is Completed, the exception wants Canceled)',
    ],
  ])('%j', (when, because) => {
    const set = compileRules([{ name: 'rule', when, final: false }]);
    expect(set.explain(some)).toEqual([{ rule: 'rule', matched: true, because }]);
  });
});

describe('why a rule did not match', () => {
  it.each<[When, string]>([
    [{ status: 'Canceled' }, 'status is Completed, the rule wants Canceled'],
    [
      { status: ['Canceled', 'DidNotTake'] },
      'status is Completed, the rule wants one of Canceled, DidNotTake',
    ],
    [{ status: { not: 'Completed' } }, 'status is Completed, the rule wants anything but Completed'],
    [{ status: 'Completed', testId: 5 }, 'test is 1234567, the rule wants 5'],
    [
      { status: 'Canceled', testId: 5 },
      'status is Completed, the rule wants Canceled; test is 1234567, the rule wants 5',
    ],
    [{ testId: { gt: 1, lt: 9 } }, 'test is 1234567, the rule wants less than 9'],
    [{ testId: { gte: 2000000 } }, 'test is 1234567, the rule wants at least 2000000'],
    [{ candidateId: { matches: '^b' } }, 'candidate is abc, the rule wants something that matches ^b'],
    [{ candidateNumericalId: 5 }, 'candidate number is not set, the rule wants 5'],
    [{ candidateNumericalId: { exists: true } }, 'candidate number is not set, the rule wants a value'],
    [{ 'test.team': { exists: false } }, "the test's team is Backend, the rule wants no value"],
    [
      { any: [{ status: 'Canceled' }, { testId: 5 }] },
      'none of 2 alternatives applies (status is Completed, the rule wants Canceled; test is 1234567, the rule wants 5)',
    ],
    [
      { any: many.map((testId) => ({ testId })) },
      'none of 100 alternatives applies (test is 1234567, the rule wants 0; test is 1234567, the rule wants 1; test is 1234567, the rule wants 2; 97 more)',
    ],
    [{ not: { status: 'Completed' } }, 'an exception applies (status is Completed)'],
    [{ not: {} }, 'an exception applies (it is for every event)'],
  ])('%j', (when, because) => {
    const set = compileRules([{ name: 'rule', when, final: false }]);
    expect(set.explain(some)).toEqual([{ rule: 'rule', matched: false, because: `not matched: ${because}` }]);
  });
});

it('says of a rule after a final one that it was not reached', () => {
  const set = compileRules([
    { name: 'no', when: { status: 'Canceled' }, final: true },
    { name: 'first', when: { status: 'Completed' }, final: true },
    { name: 'second', when: {}, final: false },
  ]);
  expect(set.explain(some).map(({ because }) => because)).toEqual([
    'not matched: status is Completed, the rule wants Canceled',
    'status is Completed',
    'not reached: the rule "first" before it applies and is final',
  ]);
});
