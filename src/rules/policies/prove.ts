import type { Place } from '../../connector.ts';
import { Audiences } from '../audiences.ts';
import { type Cells, cellsOf, reachedIn } from '../cells.ts';
import type { Action, Cell, Plan, Possible, Truth } from '../plan.ts';
import { Goal, type Hit, isOpen } from './goal.ts';
import { type Example, isAmong, placesOf, type Policy } from './policy.ts';

export interface Proof {
  /** Null: neither is it proven, nor is there an event that breaks it. */
  readonly holds: boolean | null;
  readonly example: Example | null;
  /** Why it could not be proven. */
  readonly why: string | null;
  /** No event meets its `when`. */
  readonly isIdle: boolean;
}

/** Whether policies hold, in their order. Pure, and the same in every run: what is too much is counted, not timed. */
export function prove(plan: Plan, policies: readonly Policy[]): Proof[] {
  const cells = cellsOf(
    plan,
    policies.flatMap(({ tests }) => tests),
  );
  const audiences = new Audiences(plan);
  const searches = policies.map((policy) => new Search(plan, policy, cells, audiences));
  for (const cell of cells.cells) {
    const concerned = searches.filter((search) => search.isConcerned(cell));
    if (concerned.length === 0) continue;
    const { reached } = reachedIn(plan, cell);
    for (const search of concerned) search.look(cell, reached);
  }
  return searches.map((search) => search.proof);
}

/** So many conditions are looked at for one policy. */
const mostSteps = 300_000;
class Search {
  readonly #plan: Plan;
  readonly #policy: Policy;
  readonly #cells: Cells;
  readonly #audiences: Audiences;
  #steps = 0;
  #isIdle = true;
  #example: Example | null = null;
  #why: string | null = null;

  constructor(plan: Plan, policy: Policy, cells: Cells, audiences: Audiences) {
    this.#plan = plan;
    this.#policy = policy;
    this.#cells = cells;
    this.#audiences = audiences;
    this.#why = policy.unset;
  }

  get proof(): Proof {
    const isIdle = this.#isIdle && this.#why === null;
    if (this.#example) return { holds: false, example: this.#example, why: null, isIdle };
    return { holds: this.#why === null ? true : null, example: null, why: this.#why, isIdle };
  }

  /** Whether events of a cell may break it. */
  isConcerned(cell: Cell): boolean {
    if (this.#isOver) return false;
    const given = this.#policy.when.given(cell);
    return given === true || isOpen(given);
  }

  look(cell: Cell, reached: readonly Possible[]): void {
    this.#isIdle = false;
    for (const hits of this.#goals(cell, reached)) {
      if (this.#isOver) return;
      new Goal(this.#plan, this.#policy, cell, reached, hits, this.#cells).search({
        step: (count) => {
          this.#steps += count;
          if (this.#steps > mostSteps) this.#why = 'there are too many cases to look at';
          return !this.#isOver;
        },
        broken: (example) => (this.#example = example),
        unclear: (why) => (this.#why ??= why),
      });
    }
  }

  get #isOver(): boolean {
    return this.#example !== null || this.#steps > mostSteps || this.#policy.unset !== null;
  }

  /** What has to be looked at in a cell: messages that could break the policy together, or that could keep it. */
  #goals(cell: Cell, reached: readonly Possible[]): Hit[][] {
    const { wants, target } = this.#policy;
    const all = this.#messages(reached);
    if (target) {
      const hits = all
        .filter(({ action }) => action.sink === target.sink)
        .flatMap((one) => hitOf(one, target.place === null || this.#isAt(one.action, target.place, cell)));
      return wants === 'always' || hits.length > 0 ? [hits] : [];
    }
    const bySink = Map.groupBy(all, ({ action }) => action.sink);
    return [...bySink.values()].flatMap((same) => this.#crowds(same, cell));
  }

  #messages(reached: readonly Possible[]): Omit<Hit, 'is'>[] {
    const { then, unmatched } = this.#plan;
    const sink = this.#policy.target?.sink;
    const of = (actions: readonly Action[], at: number) =>
      actions.flatMap((action) => (sink === undefined || action.sink === sink ? [{ action, at }] : []));
    const ofRules = reached.flatMap(({ rule }, at) => of(then[rule] ?? [], at));
    if (reached.some(({ rest }) => rest === null)) return ofRules;
    return [...ofRules, ...of(unmatched, Infinity)];
  }

  /** Messages of one sink that may go to the same place, where there are too many of them. */
  #crowds(all: readonly Omit<Hit, 'is'>[], cell: Cell): Hit[][] {
    const { most } = this.#policy;
    if (all.length <= most) return [];
    const places = new Map<string, Place>();
    for (const { action } of all)
      for (const place of this.#placesOf(action, cell) ?? []) places.set(JSON.stringify(place), place);
    const unsure = all.filter(({ action }) => this.#placesOf(action, cell) === null);
    const crowds = Array.from(places.values(), (place) =>
      all.flatMap((one) => hitOf(one, this.#isAt(one.action, place, cell))),
    );
    return [...crowds, unsure.flatMap((one) => hitOf(one, null))].filter(({ length }) => length > most);
  }

  #isAt(action: Action, place: Place, cell: Cell): Truth {
    const places = this.#placesOf(action, cell);
    return places && isAmong(place, places);
  }

  /** Null where the cell does not decide it. */
  #placesOf(action: Action, cell: Cell): readonly Place[] | null {
    const { audience, isSure } = this.#audiences.of(action, cell);
    return isSure ? placesOf(audience) : null;
  }
}

const hitOf = ({ action, at }: Omit<Hit, 'is'>, is: Truth): Hit[] =>
  is === false ? [] : [{ action, at, is }];
