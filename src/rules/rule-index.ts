import { statuses } from '../model.ts';
import type { Status } from '../model.ts';
import type { Constraint } from './constraint.ts';

/** Indexes of rules, ascending, by status in the order of `statuses`. */
type ByStatus = readonly number[][];

const none: readonly number[] = [];
const places = new Map<string, number>(statuses.map((status, place) => [status, place]));

/**
 * Which rules an event can match at all, found without looking at the others: those that name its test, and those
 * that name none.
 */
export class RuleIndex {
  readonly #byTest = new Map<number, ByStatus>();
  readonly #anyTest: ByStatus = newLists();

  constructor(constraints: readonly Constraint[]) {
    for (const [rule, { testIds, statuses: possible }] of constraints.entries()) {
      for (const lists of testIds ? [...testIds].map((testId) => this.#listsOf(testId)) : [this.#anyTest]) {
        for (const [place, list] of lists.entries()) if (possible[place]) list.push(rule);
      }
    }
  }

  /** The rules that name the test, ascending. */
  naming(testId: number, status: Status): readonly number[] {
    return this.#byTest.get(testId)?.[places.get(status) ?? -1] ?? none;
  }

  /** The rules that name no test, ascending. */
  general(status: Status): readonly number[] {
    return this.#anyTest[places.get(status) ?? -1] ?? none;
  }

  #listsOf(testId: number): ByStatus {
    const lists = this.#byTest.get(testId) ?? newLists();
    this.#byTest.set(testId, lists);
    return lists;
  }
}

const newLists = (): ByStatus => statuses.map(() => []);
