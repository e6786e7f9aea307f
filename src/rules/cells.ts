import { statuses } from '../model.ts';
import { factNames } from './fields.ts';
import type { Action, Cell, KnownValue, Plan, ReachableRule } from './plan.ts';

/** The cells of a plan: each test of the catalog, each that a condition names, and any other test, with each status. */
export interface Cells {
  readonly cells: readonly Cell[];
  readonly known: ReadonlySet<number>;
  /** Ids of tests that are in no cell of their own. */
  readonly others: readonly number[];
}

/** Makes the cells of a plan. `named`: further tests with cells of their own. */
export function cellsOf(plan: Plan, named: Iterable<number> = []): Cells {
  const known = new Set([...plan.testIds, ...plan.rules.namedTests, ...named]);
  let [highest, lowest] = [0, 0];
  for (const id of known) {
    highest = Math.max(highest, id);
    lowest = Math.min(lowest, id);
  }
  const others = [highest + 1, lowest - 1].filter(Number.isSafeInteger);
  const cells = [...known, null].flatMap((testId) => {
    const test = plan.test(testId ?? others[0]!);
    return statuses.map((status) => withUnasked(plan, { status, testId, test }));
  });
  return { cells, known, others };
}

/** A cell in which the facts of look-ups that are made for none of its events are unknown. */
function withUnasked({ lookups }: Plan, cell: Cell): Cell {
  const unasked = new Map([...lookups].filter(([, lookup]) => lookup.given(cell) === false));
  if (unasked.size === 0) return cell;
  return {
    ...cell,
    known: new Map(factNames(unasked).map((name): [string, KnownValue] => [name, { value: undefined }])),
  };
}

/** The rules that events of a cell can match, and those that they reach: up to a final one that all match, at `end` (or -1). */
export function reachedIn(plan: Plan, cell: Cell) {
  const possible = plan.rules.possible(cell);
  const end = possible.findIndex(({ final, rest }) => final && rest === null);
  return { possible, reached: end === -1 ? possible : possible.slice(0, end + 1), end };
}

/**
 * The actions that can follow from events whose rules these are, with the place of the rule among them: Infinity for the actions
 * of `unmatched`, which follow unless one of the rules always applies.
 */
export function actionsOf(
  { then, unmatched }: Plan,
  reached: readonly ReachableRule[],
): { readonly action: Action; readonly at: number }[] {
  const ofRules = reached.flatMap(({ rule }, at) => (then[rule] ?? []).map((action) => ({ action, at })));
  if (reached.some(({ rest }) => rest === null)) return ofRules;
  return [...ofRules, ...unmatched.map((action) => ({ action, at: Infinity }))];
}
