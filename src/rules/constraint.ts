import { statuses } from '../model.ts';
import { clausesOf } from './operators.ts';
import type { Condition, Scalar, When } from './when.ts';

/** What `status` and `testId` say of a `when`: it matches no events but those with one of these statuses and tests. */
export interface Constraint {
  /** Whether each of `statuses` is possible, in their order. */
  readonly statuses: readonly boolean[];
  /** null: any. */
  readonly testIds: ReadonlySet<number> | null;
  /** True where it matches all of those events, so that nothing else has to be looked at. */
  readonly exact: boolean;
}

const all = statuses.map(() => true);
const everything: Constraint = { statuses: all, testIds: null, exact: true };
const anything: Constraint = { ...everything, exact: false };

export function constraintOf(when: When): Constraint {
  return Object.entries(when)
    .map(([key, operand]) => constraintOfKey(key, operand))
    .reduce(both, everything);
}

/** True where no status or no test is left. */
export function isImpossible(when: When): boolean {
  const { statuses: possible, testIds } = constraintOf(when);
  return !possible.includes(true) || testIds?.size === 0;
}

function constraintOfKey(key: string, operand: unknown): Constraint {
  if (key === 'all') return (operand as When[]).map(constraintOf).reduce(both, everything);
  if (key === 'any') return oneOf((operand as When[]).map(constraintOf));
  if (key === 'status') return { ...everything, statuses: possibleStatuses(operand as Condition) };
  return key === 'testId' ? testConstraint(operand as Condition) : anything;
}

function possibleStatuses(condition: Condition): boolean[] {
  const clauses = clausesOf(condition);
  return statuses.map((status) => clauses.every((clause) => clause.holds(status)));
}

function testConstraint(condition: Condition): Constraint {
  const list = listed(condition);
  if (!list) return anything;
  const clauses = clausesOf(condition);
  const testIds = list.filter((testId) => clauses.every((clause) => clause.holds(testId)));
  return { ...everything, testIds: new Set(testIds as number[]) };
}

function listed(condition: Condition): readonly Scalar[] | undefined {
  if (typeof condition !== 'object') return [condition];
  return 'in' in condition
    ? condition.in
    : Array.isArray(condition)
      ? (condition as readonly Scalar[])
      : undefined;
}

function both(a: Constraint, b: Constraint): Constraint {
  const testIds = a.testIds && b.testIds ? a.testIds.intersection(b.testIds) : (a.testIds ?? b.testIds);
  const possible = a.statuses.map((isPossible, place) => isPossible && b.statuses[place] === true);
  return { statuses: possible, testIds, exact: a.exact && b.exact };
}

/** What one or another allows; seldom exact, since a status of the one may come with a test of the other. */
function oneOf(constraints: readonly Constraint[]): Constraint {
  const possible = statuses.map((_, place) => constraints.some((constraint) => constraint.statuses[place]));
  const sets = constraints.map(({ testIds }) => testIds);
  const testIds = sets.includes(null) ? null : new Set(sets.flatMap((set) => Array.from(set ?? [])));
  return { statuses: possible, testIds, exact: false };
}
