import { statuses } from '../model.ts';
import { clausesOf } from './operators.ts';
import type { Condition, When } from './when.ts';

/** Which events a `when` can match at all: those with one of these statuses and one of these tests. */
export interface Constraint {
  /** Whether each of `statuses` is possible, in their order. */
  readonly statuses: readonly boolean[];
  /** null: any. */
  readonly testIds: ReadonlySet<number> | null;
}

const nothingKnown: Constraint = { statuses: statuses.map(() => true), testIds: null };
const impossible: Constraint = { statuses: statuses.map(() => false), testIds: new Set() };

/** What `status` and `testId` say of a `when`; never narrower than the `when` itself. */
export function constraintOf(when: When): Constraint {
  return Object.entries(when)
    .map(([key, operand]) => constraintOfKey(key, operand))
    .reduce(both, nothingKnown);
}

function constraintOfKey(key: string, operand: unknown): Constraint {
  if (key === 'all') return (operand as When[]).map(constraintOf).reduce(both, nothingKnown);
  if (key === 'any') return (operand as When[]).map(constraintOf).reduce(either, impossible);
  if (key === 'status') return { ...nothingKnown, statuses: possibleStatuses(operand as Condition) };
  if (key === 'testId') return { ...nothingKnown, testIds: possibleTests(operand as Condition) };
  return nothingKnown;
}

function possibleStatuses(condition: Condition): boolean[] {
  const clauses = clausesOf(condition);
  return statuses.map((status) => clauses.every((clause) => clause.holds(status)));
}

function possibleTests(condition: Condition): Set<number> | null {
  if (typeof condition !== 'object') return new Set([condition as number]);
  const list = Array.isArray(condition) ? condition : (condition as { in?: readonly number[] }).in;
  return list ? new Set(list as readonly number[]) : null;
}

function both(a: Constraint, b: Constraint): Constraint {
  const testIds = a.testIds && b.testIds ? a.testIds.intersection(b.testIds) : (a.testIds ?? b.testIds);
  return { statuses: a.statuses.map((possible, index) => possible && b.statuses[index] === true), testIds };
}

function either(a: Constraint, b: Constraint): Constraint {
  const testIds = a.testIds && b.testIds ? a.testIds.union(b.testIds) : null;
  return { statuses: a.statuses.map((possible, index) => possible || b.statuses[index] === true), testIds };
}
