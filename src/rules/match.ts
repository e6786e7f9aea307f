import { noFacts, type Status, statuses } from '../model.ts';
import { firstOnes } from '../support/text.ts';
import {
  allHold,
  type Clause,
  clausesOf,
  type Condition,
  constraintOf,
  show,
  testsNamedIn,
  valuesOf,
  type When,
} from './conditions.ts';
import { type Field, fieldOf, type Subject } from './fields.ts';
import type { Cell, Possible, Rest, RuleSet, Verdict } from './plan.ts';

export interface Rule {
  readonly name: string;
  readonly when: When;
  /** If it matches, the rules after it are not tried. */
  readonly final: boolean;
}

/** Rules for other tests and statuses than the event's cost almost nothing. */
export function compileRules(rules: readonly Rule[]): RuleSet {
  return new IndexedRules(rules);
}

interface CompiledRule extends Rule {
  readonly test: Test;
}

class IndexedRules implements RuleSet {
  readonly names: readonly string[];
  readonly #rules: readonly CompiledRule[];
  /** The rules that an event can match, as indexes in ascending order: those that name its test, and those that name none. */
  readonly #byTest = new Map<Status, Map<number | null, number[]>>();
  /** For each rule: 1 if the index alone decides that it matches. */
  readonly #exact: Uint8Array;
  /** For each rule: 1 if it is final. */
  readonly #final: Uint8Array;

  constructor(rules: readonly Rule[]) {
    const constraints = rules.map(({ when }) => constraintOf(when));
    this.names = rules.map(({ name }) => name);
    this.#rules = rules.map((rule) => ({ ...rule, test: compileWhen(rule.when) }));
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

  /** Merges two ascending lists of rules. */
  match(subject: Subject): number[] {
    const { testId, status } = subject.event;
    const forTest = this.#named(status, testId);
    const forAnyTest = this.#named(status, null);
    const matched: number[] = [];
    for (let t = 0, a = 0; t < forTest.length || a < forAnyTest.length;) {
      const next = forTest[t] ?? Infinity;
      const rule = Math.min(next, forAnyTest[a] ?? Infinity);
      if (rule === next) t += 1;
      else a += 1;
      if (this.#exact[rule] === 0 && !this.#rules[rule]?.test.holds(subject)) continue;
      matched.push(rule);
      if (this.#final[rule] === 1) break;
    }
    return matched;
  }

  get namedTests(): ReadonlySet<number> {
    return new Set(this.#rules.flatMap(({ when }) => Array.from(testsNamedIn(when))));
  }

  possible(cell: Cell): Possible[] {
    const { status, testId } = cell;
    const forTest = testId === null ? none : this.#named(status, testId);
    const rules = [...forTest, ...this.#named(status, null)].toSorted((a, b) => a - b);
    return rules.flatMap((rule) => {
      const given = this.#exact[rule] === 1 || this.#rules[rule]!.test.given(cell);
      if (given === false) return [];
      return [{ rule, final: this.#final[rule] === 1, rest: given === true ? null : given }];
    });
  }

  explain(subject: Subject): Verdict[] {
    let ended: string | null = null;
    return this.#rules.map(({ name, when, final, test }) => {
      if (ended !== null) {
        const because = `not reached: rule \`${ended}\` before it is final and matched`;
        return { rule: name, matched: false, because };
      }
      const matched = test.holds(subject);
      if (matched && final) ended = name;
      const isForAll = Object.keys(when).length === 0;
      const reason = isForAll ? 'the rule applies to every event' : test.because(subject, theRule);
      return { rule: name, matched, because: matched ? reason : `not matched: ${reason}` };
    });
  }
}

const none: readonly number[] = [];

/** True if no event can meet it, whatever the catalog says. */
export function isImpossible(when: When): boolean {
  const test = compileWhen(when);
  for (const testId of [...new Set(testsNamedIn(when)), null])
    for (const status of statuses)
      if (test.given({ status, testId, test: {}, isCatalogUnknown: true }) !== false) return false;
  return true;
}

/** A condition, compiled. */
export interface Test {
  holds(subject: Subject): boolean;
  /** Why it holds or does not. `who` is the subject of "wants": the rule or an exception. */
  because(subject: Subject, who: string): string;
  /** Whether it holds for all events of a cell, or what it depends on. */
  given(cell: Cell): boolean | Rest;
}

const theRule = 'the rule';
const theException = 'the exception';
const maxReasons = 3;

function compileWhen(when: When): Test {
  const tests = Object.entries(when).map(([key, operand]) => compileKey(key, operand));
  const [only] = tests;
  return only !== undefined && tests.length === 1 ? only : allOf(tests);
}

function compileKey(key: string, operand: unknown): Test {
  if (key === 'all') return allOf((operand as When[]).map(compileWhen));
  if (key === 'any') return anyOf((operand as When[]).map(compileWhen));
  if (key === 'not') return noneOf(compileWhen(operand as When));
  return fieldTest(fieldOf(key), operand as Condition);
}

function fieldTest(field: Field, condition: Condition): Test {
  const clauses = clausesOf(condition);
  return {
    holds(subject) {
      const value = field.read(subject);
      for (const clause of clauses) if (!clause.holds(value)) return false;
      return true;
    },
    because: (subject, who) => fieldReason(field, clauses, subject, who),
    given(cell) {
      const isUnknown = {
        status: false,
        testId: cell.testId === null,
        test: cell.isCatalogUnknown === true,
        candidate: true,
      };
      if (!isUnknown[field.of]) return this.holds(sampleOf(cell));
      const others =
        field.of === 'testId' ? allHold(clauses.map(({ holdsForOthers }) => holdsForOthers)) : null;
      if (others !== null) return others;
      const words = `${field.name} ${clauses.map(({ says }) => says).join(' and ')}`;
      const { named, others: more } = valuesOf(condition);
      const values = [...named, ...more].map((value) => ({ field, value }));
      return { holds: (subject) => this.holds(subject), words, values };
    },
  };
}

/** An event of a cell. What its candidate is, and its test's id if it has none, must not be asked. */
function sampleOf({ status, testId, test }: Cell): Subject {
  const event = { status, testId: testId ?? 0, candidateId: '', candidateNumericalId: null };
  return { event, test, facts: noFacts };
}

function fieldReason(field: Field, clauses: readonly Clause[], subject: Subject, who: string): string {
  const { label } = field;
  const value = field.read(subject);
  const missed = clauses.filter((clause) => !clause.holds(value));
  const state = value === null ? `${label} is not set` : `${label} is ${show(value)}`;
  if (missed.length > 0) return `${state}, ${who} wants ${missed.map(({ wants }) => wants).join(' and ')}`;
  if (value === null || clauses.some(({ says }) => says === `is ${show(value)}`)) return state;
  return `${label} ${show(value)} ${clauses.map(({ says }) => says).join(' and ')}`;
}

function allOf(tests: readonly Test[]): Test {
  return {
    // A loop, because this runs for every event, and `every` would allocate a function.
    holds(subject) {
      for (const test of tests) if (!test.holds(subject)) return false;
      return true;
    },
    because(subject, who) {
      const missed = tests.filter((test) => !test.holds(subject));
      if (missed.length > 0) return reasons(missed, subject, who).join('; ');
      return tests.length === 0 ? 'it is for every event' : reasons(tests, subject, who).join(', and ');
    },
    given: (cell) => joined(tests, cell, 'and'),
  };
}

/** What several conditions, all or one of which must hold, depend on together. */
function joined(tests: readonly Test[], cell: Cell, word: 'and' | 'or'): boolean | Rest {
  /** What one of them alone decides. */
  const decisive = word === 'or';
  const rests: Rest[] = [];
  for (const test of tests) {
    const given = test.given(cell);
    if (given === decisive) return decisive;
    if (typeof given === 'object') rests.push(given);
  }
  const [only] = rests;
  if (only === undefined || rests.length === 1) return only ?? !decisive;
  const all = rests.map(({ words }) => words);
  const words = firstOnes(all, maxReasons).join(` ${word} `);
  return {
    holds: (subject) =>
      decisive ? rests.some((one) => one.holds(subject)) : rests.every((one) => one.holds(subject)),
    words: decisive ? `(${words})` : words,
    values: rests.flatMap(({ values }) => values),
  };
}

function anyOf(tests: readonly Test[]): Test {
  return {
    holds: (subject) => tests.some((test) => test.holds(subject)),
    because(subject, who) {
      const found = tests.find((test) => test.holds(subject));
      if (found) return found.because(subject, who);
      return `none of ${tests.length} alternatives applies (${reasons(tests, subject, who).join('; ')})`;
    },
    given: (cell) => joined(tests, cell, 'or'),
  };
}

function noneOf(test: Test): Test {
  return {
    holds: (subject) => !test.holds(subject),
    because(subject) {
      const applies = test.holds(subject) ? 'an exception applies' : 'the exception does not apply';
      return `${applies} (${test.because(subject, theException)})`;
    },
    given(cell) {
      const given = test.given(cell);
      if (typeof given === 'boolean') return !given;
      return { ...given, holds: (subject) => !given.holds(subject), words: `not (${given.words})` };
    },
  };
}

const reasons = (tests: readonly Test[], subject: Subject, who: string): readonly string[] =>
  firstOnes(
    tests.map((test) => test.because(subject, who)),
    maxReasons,
  );
