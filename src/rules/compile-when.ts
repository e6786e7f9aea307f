import { type Json, noFacts } from '../model.ts';
import { firstOnes, lazily } from '../support/text.ts';
import {
  allHold,
  clausesOf,
  comparedIn,
  type Condition,
  isFactWord,
  isList,
  negated,
  oneHolds,
  type Scalar,
  show,
  type When,
  withWholeBounds,
} from './conditions.ts';
import { type Field, fieldOf, type LookupFields, type ConditionInput, variableOf } from './fields.ts';
import type { Ask, Cell, KnownValue, Rest, Truth } from './plan.ts';

export interface CompiledCondition {
  holds(subject: ConditionInput): Truth;
  /** Why it holds or not. `who`: the subject of "wants", which is the rule or an exception. */
  because(subject: ConditionInput, who: string): string;
  /** Whether it holds for all events of a cell, or what it depends on. */
  given(cell: Cell): Truth | Rest;
}

export const theRule = 'the rule';
const theException = 'the exception';
const maxReasons = 3;

export function compileWhen(when: When, lookups: LookupFields): CompiledCondition {
  const inner = (one: When) => compileWhen(one, lookups);
  const tests = Object.entries(when).map(([key, operand]): CompiledCondition => {
    if (key === 'all') return allOf((operand as When[]).map(inner));
    if (key === 'any') return anyOf((operand as When[]).map(inner));
    if (key === 'not') return noneOf(inner(operand as When));
    const field = fieldOf(key, lookups);
    const condition = operand as Condition;
    return field.of === 'fact' ? factTest(field, condition) : fieldTest(field, condition);
  });
  const [only] = tests;
  return only !== undefined && tests.length === 1 ? only : allOf(tests);
}

function fieldTest(field: Field, condition: Condition): CompiledCondition {
  const clauses = clausesOf(condition);
  const ask = { field, ...comparedIn(condition) };
  const says = clauses.map((clause) => clause.says).join(' and ');
  const rest = lazily(() => restOf(compiled, condition, ask, says));
  const compiled: CompiledCondition = {
    holds(subject) {
      const value = field.read(subject) ?? null;
      for (const clause of clauses) if (!clause.holds(value)) return false;
      return true;
    },
    because(subject, who) {
      const { label } = field;
      const value = field.read(subject) ?? null;
      const missed = clauses.filter((clause) => !clause.holds(value));
      const state = value === null ? `${label} is not set` : `${label} is ${show(value)}`;
      if (missed.length > 0)
        return `${state}, ${who} wants ${missed.map(({ wants }) => wants).join(' and ')}`;
      if (value === null || clauses.some((clause) => clause.says === `is ${show(value)}`)) return state;
      return `${label} ${show(value)} ${says}`;
    },
    given(cell) {
      if (!isOpen(field, cell)) return compiled.holds(sampleOf(cell)) === true;
      const known = knownOf(ask, cell);
      if (known) return clauses.every((clause) => clause.holds(known.value ?? null, known.found));
      const others =
        field.of === 'testId' ? allHold(clauses.map(({ holdsForOthers }) => holdsForOthers)) : null;
      return others ?? rest();
    },
  };
  return compiled;
}

/** What a cell does not decide of a condition on one field. `says`: the condition in words, after the field's name. */
const restOf = (compiled: CompiledCondition, condition: Condition, ask: Ask, says: string): Rest => ({
  holds: (subject) => compiled.holds(subject),
  given: (cell) => compiled.given(cell),
  words: `${ask.field.name} ${says}`,
  asks: [ask],
  id: `${ask.field.name} ${JSON.stringify(condition)}`,
});

/** Whether events of a cell differ in a field. */
function isOpen({ of }: Field, { testId, isCatalogUnknown }: Cell): boolean {
  if (of === 'testId') return testId === null;
  return of === 'test' ? isCatalogUnknown === true : of !== 'status';
}

/** What is known of a field beyond the cell, if that is enough to compare it. */
function knownOf({ field, patterns }: Ask, { known }: Cell): KnownValue | undefined {
  const found = known?.get(variableOf(field));
  return found?.found && !patterns.every((pattern) => found.found!.has(pattern)) ? undefined : found;
}

/** A condition on a fact. Unlike other fields, a fact may be unknown; only the word `unknown` matches that. */
function factTest(field: Field, written: Condition): CompiledCondition {
  const condition = withWholeBounds(field, written);
  const listed: readonly Scalar[] | null = isList(condition)
    ? condition
    : typeof condition === 'object'
      ? null
      : [condition];
  const words = (listed ?? []).filter(isFactWord);
  const values = listed?.filter((value) => !isFactWord(value)) ?? condition;
  const clauses = isList(values) && values.length === 0 ? null : clausesOf(values);
  const isExclusion = listed === null && Object.hasOwn(condition as object, 'not');
  const inWords = (of: 'wants' | 'says', before: string) =>
    [
      ...words.map((word) => before + word),
      ...(clauses ? [clauses.map(({ [of]: text }) => text).join(' and ')] : []),
    ].join(' or ');
  const says = inWords('says', 'is ');
  const wants = inWords('wants', 'it ');
  const truth = (value: Json | undefined, found?: KnownValue['found']): Truth => {
    if (value === undefined) return words.includes('unknown') || null;
    if (value === null && (words.includes('absent') || isExclusion)) return !isExclusion;
    return clauses?.every((clause) => clause.holds(value, found)) ?? false;
  };
  const { name } = field;
  const ask = { field, ...comparedIn(values) };
  const rest = lazily(() => restOf(compiled, condition, ask, says));
  const compiled: CompiledCondition = {
    holds: (subject) => truth(field.read(subject)),
    because(subject, who) {
      const value = field.read(subject);
      const isSecret = field.fact?.personal === true && value !== null && value !== undefined;
      const shown = value === undefined ? 'unknown' : value === null ? 'absent' : show(value);
      const state = `${name} is ${isSecret ? 'known' : shown}`;
      if (truth(value) !== true) return `${state}, ${who} wants ${wants}`;
      if (value === null || value === undefined || says === `is ${shown}`) return state;
      return `${name} ${isSecret ? '' : `${shown} `}${says}`;
    },
    given(cell) {
      const byHand = cell.isCatalogUnknown ? undefined : field.read(sampleOf(cell));
      if (byHand !== undefined) return truth(byHand);
      const known = knownOf(ask, cell);
      return known ? truth(known.value, known.found) : rest();
    },
  };
  return compiled;
}

/** A sample event of a cell. Its candidate, and the test's id of a cell without a test, mean nothing. */
function sampleOf({ status, testId, test }: Cell): ConditionInput {
  const event = { status, testId: testId ?? 0, candidateId: '', candidateNumericalId: null };
  return { event, test, facts: noFacts };
}

function allOf(tests: readonly CompiledCondition[]): CompiledCondition {
  return {
    // A loop, because this runs for every event, and `every` would allocate a function.
    holds(subject) {
      let truth: Truth = true;
      for (const test of tests) {
        const one = test.holds(subject);
        if (one === false) return false;
        truth = truth && one;
      }
      return truth;
    },
    because(subject, who) {
      const missed = tests.filter((test) => test.holds(subject) !== true);
      if (missed.length > 0) return reasons(missed, subject, who).join('; ');
      return tests.length === 0 ? 'it is for every event' : reasons(tests, subject, who).join(', and ');
    },
    given: (cell) => joined(tests, cell, 'and'),
  };
}

/** What several conditions depend on together, all of which (`and`) or one of which (`or`) must hold. */
function joined(tests: readonly Pick<Rest, 'given'>[], cell: Cell, word: 'and' | 'or'): Truth | Rest {
  /** The value by which one of them alone decides. */
  const decisive = word === 'or';
  const rests: Rest[] = [];
  let isUnknown = false;
  for (const test of tests) {
    const given = test.given(cell);
    if (given === decisive) return decisive;
    if (given === null) isUnknown = true;
    else if (typeof given === 'object') rests.push(given);
  }
  const [only] = rests;
  if (only === undefined) return isUnknown ? null : !decisive;
  if (isUnknown) rests.push(nobodyKnows);
  else if (rests.length === 1) return only;
  return {
    holds: (subject) => (decisive ? oneHolds : allHold)(rests.map((one) => one.holds(subject))),
    given: (more) => joined(rests, more, word),
    get words() {
      const all = rests.map(({ words }) => words);
      const words = firstOnes(all, maxReasons).join(` ${word} `);
      return decisive ? `(${words})` : words;
    },
    get asks() {
      return rests.flatMap(({ asks }) => asks);
    },
    get id() {
      return `(${rests.map(({ id }) => id).join(` ${word} `)})`;
    },
  };
}

const nobodyKnows: Rest = {
  holds: () => null,
  given: () => null,
  words: 'something is unknown',
  asks: [],
  id: 'unknown',
};

function anyOf(tests: readonly CompiledCondition[]): CompiledCondition {
  return {
    holds(subject) {
      let truth: Truth = false;
      for (const test of tests) {
        const one = test.holds(subject);
        if (one === true) return true;
        if (one === null) truth = null;
      }
      return truth;
    },
    because(subject, who) {
      const found = tests.find((test) => test.holds(subject) === true);
      if (found) return found.because(subject, who);
      return `none of ${tests.length} alternatives applies (${reasons(tests, subject, who).join('; ')})`;
    },
    given: (cell) => joined(tests, cell, 'or'),
  };
}

function noneOf(test: CompiledCondition): CompiledCondition {
  return {
    holds: (subject) => negated(test.holds(subject)),
    because(subject) {
      const truth = test.holds(subject);
      const applies =
        truth === null
          ? 'nobody knows whether the exception applies'
          : truth
            ? 'an exception applies'
            : 'the exception does not apply';
      return `${applies} (${test.because(subject, theException)})`;
    },
    given: (cell) => opposite(test.given(cell)),
  };
}

function opposite(given: Truth | Rest): Truth | Rest {
  if (given === null || typeof given === 'boolean') return negated(given);
  return {
    holds: (subject) => negated(given.holds(subject)),
    given: (cell) => opposite(given.given(cell)),
    get words() {
      return `not (${given.words})`;
    },
    get asks() {
      return given.asks;
    },
    get id() {
      return `not (${given.id})`;
    },
  };
}

const reasons = (
  tests: readonly CompiledCondition[],
  subject: ConditionInput,
  who: string,
): readonly string[] =>
  firstOnes(
    tests.map((test) => test.because(subject, who)),
    maxReasons,
  );
