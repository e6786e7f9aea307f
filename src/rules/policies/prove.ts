import { Audiences } from '../audiences.ts';
import { type Cells, cellsOf, reachedIn } from '../cells.ts';
import type { Cell, Plan } from '../plan.ts';
import { type Crowd, Crowds } from './crowds.ts';
import { Goal, isOpen } from './goal.ts';
import type { Example, Policy } from './policy.ts';

export interface Proof {
  /** Null if it could neither be proven nor disproven. */
  readonly holds: boolean | null;
  readonly example: Example | null;
  /** Why it could not be proven. */
  readonly why: string | null;
  /** Whether no event meets its `when`. */
  readonly isIdle: boolean;
}

/** Proves or disproves policies. Pure, and the same in every run: its limit is a count of steps, not a time. */
export function prove(plan: Plan, policies: readonly Policy[]): Proof[] {
  const cells = cellsOf(
    plan,
    policies.flatMap(({ tests }) => tests),
  );
  const audiences = new Audiences(plan);
  const searches = policies.map((policy) => new Search(plan, policy, cells));
  /** Shared by cells that no rule and no message tells apart. */
  const made = new Map<string, Crowds>();
  for (const cell of cells.cells) {
    const concerned = searches.filter((search) => search.isConcerned(cell));
    if (concerned.length === 0) continue;
    const { reached } = reachedIn(plan, cell);
    const rules = reached.map(({ rule, rest }) => `${rule} ${rest?.id}`).join('\n');
    const idNow = () => audiences.idOf(cell) + rules;
    const crowds = made.get(idNow()) ?? new Crowds(plan, cell, reached, audiences);
    made.set(idNow(), crowds);
    for (const search of concerned) search.look(cell, crowds);
  }
  return searches.map((search) => search.proof);
}

/** How many steps a proof of one policy may take. */
const mostSteps = 300_000;

class Search {
  readonly #plan: Plan;
  readonly #policy: Policy;
  readonly #cells: Cells;
  /** The crowds that keep the policy, by the state of what else decides. */
  readonly #kept = new Map<string, Set<Crowd['id']>>();
  #steps = 0;
  #isIdle = true;
  #example: Example | null = null;
  #why: string | null = null;

  constructor(plan: Plan, policy: Policy, cells: Cells) {
    this.#plan = plan;
    this.#policy = policy;
    this.#cells = cells;
    this.#why = policy.unset;
  }

  get proof(): Proof {
    const isIdle = this.#isIdle && this.#why === null;
    if (this.#example) return { holds: false, example: this.#example, why: null, isIdle };
    return { holds: this.#why === null ? true : null, example: null, why: this.#why, isIdle };
  }

  /** Whether events of a cell may break the policy. */
  isConcerned(cell: Cell): boolean {
    if (this.#isOver) return false;
    const given = this.#policy.when.given(cell);
    return given === true || isOpen(given);
  }

  look(cell: Cell, crowds: Crowds): void {
    this.#isIdle = false;
    const around = [this.#policy.when, ...this.#plan.lookups.values()].map((one) => {
      const given = one.given(cell);
      return isOpen(given) ? given.id : `${given}`;
    });
    const kept = this.#kept.getOrInsertComputed(around.join('\n'), () => new Set());
    for (const crowd of crowds.of(this.#policy)) {
      if (this.#isOver) return;
      if (kept.has(crowd.id)) continue;
      let isClear = true;
      new Goal(this.#policy, crowd, { plan: this.#plan, cell, cells: this.#cells }).search({
        step: (count) => {
          this.#steps += count;
          if (this.#steps > mostSteps) this.#why = 'there are too many cases to look at';
          return !this.#isOver;
        },
        broken: (example) => (this.#example = example),
        unclear: (why) => {
          isClear = false;
          this.#why ??= why;
        },
      });
      if (isClear) kept.add(crowd.id);
    }
  }

  get #isOver(): boolean {
    return this.#example !== null || this.#steps > mostSteps || this.#policy.unset !== null;
  }
}
