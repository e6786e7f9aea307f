import { type Status, statuses } from '../model.ts';
import { constraintOf, testsNamedIn, type When } from './conditions.ts';
import { type LookupFields, noLookups, type ConditionInput } from './fields.ts';
import type { Cell, ReachableRule, RuleSet, Verdict } from './plan.ts';
import { compileWhen, type CompiledCondition, theRule } from './compile-when.ts';

export interface Rule {
  readonly name: string;
  readonly when: When;
  /** Whether the rules after it are not tried if it matches. */
  readonly final: boolean;
}

/** Compiles rules. Those for other tests and statuses than an event's cost almost nothing. */
export function compileRules(rules: readonly Rule[], lookups = noLookups): RuleSet {
  return new IndexedRules(rules, lookups);
}

interface CompiledRule extends Rule {
  readonly test: CompiledCondition;
}

class IndexedRules implements RuleSet {
  readonly names: readonly string[];
  readonly #rules: readonly CompiledRule[];
  /** Indexes of rules in ascending order, by status and by the test that they name (null: none). */
  readonly #byTest = new Map<Status, Map<number | null, number[]>>();
  /** For each rule: 1 if the index alone decides that it matches. */
  readonly #exact: Uint8Array;
  /** For each rule: 1 if it is final. */
  readonly #final: Uint8Array;

  constructor(rules: readonly Rule[], lookups: LookupFields) {
    const constraints = rules.map(({ when }) => constraintOf(when));
    this.names = rules.map(({ name }) => name);
    this.#rules = rules.map((rule) => ({ ...rule, test: compileWhen(rule.when, lookups) }));
    this.#exact = Uint8Array.from(constraints, ({ exact }) => Number(exact));
    this.#final = Uint8Array.from(rules, ({ final }) => Number(final));
    for (const [place, status] of statuses.entries()) {
      const byTest = new Map<number | null, number[]>();
      for (const [rule, { statuses: possible, testIds }] of constraints.entries())
        for (const testId of possible[place] ? (testIds ?? [null]) : [])
          byTest.getOrInsertComputed(testId, () => []).push(rule);
      this.#byTest.set(status, byTest);
    }
  }

  #named(status: Status, testId: number | null): readonly number[] {
    return this.#byTest.get(status)?.get(testId) ?? none;
  }

  /** Merges the rules that name the event's test with those that name none. */
  match(subject: ConditionInput): number[] {
    const { testId, status } = subject.event;
    const forTest = this.#named(status, testId);
    const forAnyTest = this.#named(status, null);
    const matched: number[] = [];
    for (let t = 0, a = 0; t < forTest.length || a < forAnyTest.length;) {
      const next = forTest[t] ?? Infinity;
      const rule = Math.min(next, forAnyTest[a] ?? Infinity);
      if (rule === next) t += 1;
      else a += 1;
      if (this.#exact[rule] === 0 && this.#rules[rule]?.test.holds(subject) !== true) continue;
      matched.push(rule);
      if (this.#final[rule] === 1) break;
    }
    return matched;
  }

  get namedTests(): ReadonlySet<number> {
    return new Set(this.#rules.flatMap(({ when }) => Array.from(testsNamedIn(when))));
  }

  possible(cell: Cell): ReachableRule[] {
    const { status, testId } = cell;
    const forTest = testId === null ? none : this.#named(status, testId);
    const rules = [...forTest, ...this.#named(status, null)].toSorted((a, b) => a - b);
    return rules.flatMap((rule) => {
      const given = this.#exact[rule] === 1 || this.#rules[rule]!.test.given(cell);
      if (given === false || given === null) return [];
      return [{ rule, final: this.#final[rule] === 1, rest: given === true ? null : given }];
    });
  }

  explain(subject: ConditionInput): Verdict[] {
    let ended: string | null = null;
    return this.#rules.map(({ name, when, final, test }) => {
      if (ended !== null) {
        const because = `not reached: the rule "${ended}" before it applies and is final`;
        return { rule: name, matched: false, because };
      }
      const matched = test.holds(subject) === true;
      if (matched && final) ended = name;
      const isForAll = Object.keys(when).length === 0;
      const reason = isForAll ? 'the rule applies to every event' : test.because(subject, theRule);
      return { rule: name, matched, because: matched ? reason : `not matched: ${reason}` };
    });
  }
}

const none: readonly number[] = [];

/** Whether no event can meet a `when`, whatever the catalog says. */
export function isImpossible(when: When, lookups: LookupFields): boolean {
  const test = compileWhen(when, lookups);
  for (const testId of [...new Set(testsNamedIn(when)), null])
    for (const status of statuses)
      if (test.given({ status, testId, test: {}, isCatalogUnknown: true }) !== false) return false;
  return true;
}
