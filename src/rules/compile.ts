import { statuses } from '../model.ts';
import { compileWhen, verdictOf } from './conditions.ts';
import type { Test } from './conditions.ts';
import { constraintOf } from './constraint.ts';
import type { RuleSet, Subject, Verdict } from './plan.ts';
import { RuleIndex, endOfList } from './rule-index.ts';
import type { When } from './when.ts';

export interface Rule {
  readonly name: string;
  readonly when: When;
  /** Ends the matching where it matches. */
  readonly final: boolean;
}

/** Deciding costs about the same however many rules name other tests and statuses than the event has. */
export function compileRules(rules: readonly Rule[]): RuleSet {
  return new IndexedRules(rules);
}

interface CompiledRule extends Rule {
  readonly test: Test;
}

class IndexedRules implements RuleSet {
  readonly #rules: readonly CompiledRule[];
  readonly #index: RuleIndex;
  /** By the rule's index: 1 where the index alone tells that it matches. */
  readonly #exact: Uint8Array;
  /** Likewise: 1 where it ends the matching. */
  readonly #final: Uint8Array;

  constructor(rules: readonly Rule[]) {
    const constraints = rules.map(({ when }) => constraintOf(when));
    this.#rules = rules.map((rule) => ({ ...rule, test: compileWhen(rule.when) }));
    this.#index = new RuleIndex(constraints);
    this.#exact = Uint8Array.from(constraints, ({ exact }) => Number(exact));
    this.#final = Uint8Array.from(rules, ({ final }) => Number(final));
  }

  /** Goes through two ascending lists as if they were one. */
  match(subject: Subject): number[] {
    const { testId, status } = subject.event;
    const { lists } = this.#index;
    const matched: number[] = [];
    let naming = this.#index.naming(testId, status);
    let general = this.#index.general(status);
    for (;;) {
      const named = lists[naming] ?? endOfList;
      const rule = Math.min(named, lists[general] ?? endOfList);
      if (rule === endOfList) return matched;
      if (rule === named) naming += 1;
      else general += 1;
      if (this.#exact[rule] === 0 && !this.#rules[rule]?.test.holds(subject)) continue;
      matched.push(rule);
      if (this.#final[rule] === 1) return matched;
    }
  }

  explain(subject: Subject): Verdict[] {
    let ended: string | null = null;
    return this.#rules.map(({ name, when, final, test }) => {
      if (ended !== null) return notReached(name, ended);
      const verdict = verdictOf(test, when, subject);
      if (verdict.matched && final) ended = name;
      return { rule: name, ...verdict };
    });
  }
}

function notReached(rule: string, ended: string): Verdict {
  return { rule, matched: false, because: `not reached: rule \`${ended}\` before it is final and matched` };
}

/** Indexes of the rules that no event reaches: final rules before them match every event with a status of theirs. */
export function unreachable(rules: readonly Rule[]): number[] {
  const ended = statuses.map(() => false);
  return rules.flatMap(({ when, final }, index) => {
    const { statuses: possible } = constraintOf(when);
    if (possible.every((isPossible, place) => !isPossible || ended[place])) return [index];
    const testsOnlyStatus = Object.keys(when).every((key) => key === 'status');
    if (final && testsOnlyStatus)
      for (const [place, isPossible] of possible.entries()) ended[place] ||= isPossible;
    return [];
  });
}
