import { fieldOf } from './fields.ts';
import type { Field } from './fields.ts';
import { clausesOf, show } from './operators.ts';
import type { Clause } from './operators.ts';
import type { Subject } from './plan.ts';
import type { Condition, When } from './when.ts';

/** A condition, compiled. */
export interface Test {
  holds(subject: Subject): boolean;
  /** Why it holds, or why it does not; `who` wants what it wants. */
  because(subject: Subject, who: string): string;
}

const theRule = 'the rule';
const theException = 'the exception';
/** More reasons than this are not read. */
const mostReasons = 3;

export function compileWhen(when: When): Test {
  const tests = Object.entries(when).map(([key, operand]) => compileKey(key, operand));
  const [only] = tests;
  return only !== undefined && tests.length === 1 ? only : allOf(tests);
}

function compileKey(key: string, operand: unknown): Test {
  if (key === 'all') return allOf((operand as When[]).map(compileWhen));
  if (key === 'any') return anyOf((operand as When[]).map(compileWhen));
  if (key === 'not') return noneOf(compileWhen(operand as When));
  return fieldTest(fieldOf(key), clausesOf(operand as Condition));
}

function fieldTest(field: Field, clauses: readonly Clause[]): Test {
  return {
    holds(subject) {
      const value = field.read(subject);
      for (const clause of clauses) if (!clause.holds(value)) return false;
      return true;
    },
    because: (subject, who) => fieldReason(field, clauses, subject, who),
  };
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
    // Every event comes through here: a loop makes no function for each.
    holds(subject) {
      for (const test of tests) if (!test.holds(subject)) return false;
      return true;
    },
    because(subject, who) {
      const missed = tests.filter((test) => !test.holds(subject));
      if (missed.length > 0) return reasons(missed, subject, who).join('; ');
      return tests.length === 0 ? 'it is for every event' : reasons(tests, subject, who).join(', and ');
    },
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
  };
}

function noneOf(test: Test): Test {
  return {
    holds: (subject) => !test.holds(subject),
    because(subject) {
      const applies = test.holds(subject) ? 'an exception applies' : 'the exception does not apply';
      return `${applies} (${test.because(subject, theException)})`;
    },
  };
}

function reasons(tests: readonly Test[], subject: Subject, who: string): string[] {
  const shown = tests.slice(0, mostReasons).map((test) => test.because(subject, who));
  return tests.length > mostReasons ? [...shown, `${tests.length - mostReasons} more`] : shown;
}

/** Why a rule matches an event, or why it does not. */
export function verdictOf(test: Test, when: When, subject: Subject): { matched: boolean; because: string } {
  if (Object.keys(when).length === 0) return { matched: true, because: 'the rule applies to every event' };
  const matched = test.holds(subject);
  const reason = test.because(subject, theRule);
  return { matched, because: matched ? reason : `not matched: ${reason}` };
}
