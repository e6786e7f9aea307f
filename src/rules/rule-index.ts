import { statuses } from '../model.ts';
import type { Status } from '../model.ts';
import type { Constraint } from './constraint.ts';

/** Stands after the last rule of each list; greater than any rule. */
export const endOfList = 2 ** 31 - 1;

/**
 * Which rules an event can match at all, found without looking at the others: those that name its test, and those that
 * name none. With thousands of rules the time goes into fetching memory, so all lists stand in one array, end to end.
 */
export class RuleIndex {
  /** Lists of rules by their index, ascending, each followed by `endOfList`. */
  readonly lists: Int32Array;
  /** For each status, in the order of `statuses`, where the list for a test begins. */
  readonly #byTest: readonly ReadonlyMap<number, number>[];
  readonly #anyTest: readonly number[];

  constructor(constraints: readonly Constraint[]) {
    // At 0 an empty list, for tests that no rule names.
    const lists = [endOfList];
    const put = (list: readonly number[]) => {
      const start = lists.length;
      for (const rule of list) lists.push(rule);
      lists.push(endOfList);
      return start;
    };
    const naming = statuses.map((_, place) => namingLists(constraints, place));
    this.#byTest = naming.map((byTest) => new Map([...byTest].map(([testId, list]) => [testId, put(list)])));
    this.#anyTest = statuses.map((_, place) => put(generalList(constraints, place)));
    this.lists = Int32Array.from(lists);
  }

  /** Where the list of the rules begins that name the test. */
  naming(testId: number, status: Status): number {
    return this.#byTest[statuses.indexOf(status)]?.get(testId) ?? 0;
  }

  /** Where the list of the rules begins that name no test. */
  general(status: Status): number {
    return this.#anyTest[statuses.indexOf(status)] ?? 0;
  }
}

function namingLists(constraints: readonly Constraint[], status: number): Map<number, number[]> {
  const byTest = new Map<number, number[]>();
  for (const [rule, constraint] of constraints.entries()) {
    if (!constraint.statuses[status]) continue;
    for (const testId of constraint.testIds ?? []) byTest.getOrInsertComputed(testId, () => []).push(rule);
  }
  return byTest;
}

function generalList(constraints: readonly Constraint[], status: number): number[] {
  return constraints.flatMap(({ testIds, statuses: possible }, rule) =>
    testIds === null && possible[status] ? [rule] : [],
  );
}
