import { RE2JS } from 're2js';
import { firstListed, memo } from '../support/text.ts';
import { type Json, statuses } from '../model.ts';
import type { Field } from './fields.ts';

export type Scalar = string | number | boolean;

/** The operators of a condition. All that are given must hold. */
export interface Operators {
  readonly in?: readonly Scalar[];
  readonly not?: Scalar | readonly Scalar[] | Omit<Operators, 'not'>;
  /** A pattern in RE2 syntax, found anywhere in the text. */
  readonly matches?: string;
  readonly exists?: boolean;
  readonly gt?: number | string;
  readonly gte?: number | string;
  readonly lt?: number | string;
  readonly lte?: number | string;
}

/** A value, a list of possible values, or operators. */
export type Condition = Scalar | readonly Scalar[] | Operators;

/** Which events a rule is for. All keys must hold; without keys, it is for every event. */
export interface When {
  readonly status?: Condition;
  readonly testId?: Condition;
  readonly candidateId?: Condition;
  readonly candidateNumericalId?: Condition;
  /** Keys of the catalog, and facts. */
  readonly [nested: `${string}.${string}`]: Condition;
  readonly all?: readonly When[];
  readonly any?: readonly When[];
  readonly not?: When;
}

/** Which patterns are taken as found in a text that is not known itself. */
export type PatternResults = ReadonlyMap<string, boolean>;

/** One requirement on a field's value. A missing value is null. */
export interface Clause {
  /** Whether it holds for a value. `found`: results of patterns, in place of matching them. */
  holds(value: Json, found?: PatternResults): boolean;
  /** What is required. Continues "the rule wants". */
  readonly wants: string;
  /** What is true if it holds. Continues a sentence that begins with the field and its value. */
  readonly says: string;
  /** Whether it holds for a value that no condition names; null if that depends on the value. */
  readonly holdsForOthers: boolean | null;
}

/** What a condition compares a value with: values, bounds and patterns. */
export interface Comparands {
  readonly named: readonly Scalar[];
  readonly bounds: readonly (number | string)[];
  readonly patterns: readonly string[];
}

export function comparedIn(condition: Condition): Comparands {
  if (typeof condition !== 'object') return { named: [condition], bounds: [], patterns: [] };
  if (isList(condition)) return { named: condition, bounds: [], patterns: [] };
  const {
    in: list = [],
    not: excluded = [],
    matches: pattern,
    exists: _,
    ...bounds
  } = condition as Operators;
  const inner = comparedIn(excluded);
  return {
    named: [...list, ...inner.named],
    bounds: [...Object.values(bounds), ...inner.bounds],
    patterns: [...(pattern === undefined ? [] : [pattern]), ...inner.patterns],
  };
}

/** The conditions of a `when` with the names of their fields, those inside `all`, `any` and `not` included. */
export function* conditionsIn(when: When): Generator<readonly [field: string, condition: Condition]> {
  for (const [key, operand] of Object.entries(when))
    if (key === 'all' || key === 'any') for (const one of operand as When[]) yield* conditionsIn(one);
    else if (key === 'not') yield* conditionsIn(operand as When);
    else yield [key, operand as Condition];
}

export function* testsNamedIn(when: When): Generator<number> {
  for (const [field, condition] of conditionsIn(when))
    if (field === 'testId' || field === 'test.id')
      for (const value of comparedIn(condition).named) if (typeof value === 'number') yield value;
}

/** The fields that have a value wherever a `when` holds, facts and others. */
export function* factsKnownTo(when: When): Generator<string> {
  for (const [key, operand] of Object.entries(when)) {
    if (key === 'all') for (const one of operand as When[]) yield* factsKnownTo(one);
    if (key === 'all' || key === 'any' || key === 'not') continue;
    const { in: listed, exists } = operatorsOf(operand as Condition);
    const mayBeMissing =
      typeof operand === 'object' && !isList(operand) ? exists === false : listed?.some(isFactWord);
    if (!mayBeMissing) yield key;
  }
}

/** The clauses of a condition. All must hold. */
export function clausesOf(condition: Condition): Clause[] {
  if (isList(condition)) return [oneOf(condition)];
  if (typeof condition !== 'object') return [equal(condition)];
  return Object.entries(condition).map(([operator, operand]) =>
    builders[operator as keyof Operators](operand as never),
  );
}

const builders: {
  readonly [key in keyof Required<Operators>]: (operand: NonNullable<Operators[key]>) => Clause;
} = {
  in: oneOf,
  not,
  matches,
  exists: (wanted) => ({
    holds: (value) => (value !== null) === wanted,
    wants: wanted ? 'a value' : 'no value',
    says: wanted ? 'is set' : 'is not set',
    holdsForOthers: wanted,
  }),
  gt: (bound) => compared('more than', '>', bound, (value) => value > bound),
  gte: (bound) => compared('at least', '≥', bound, (value) => value >= bound),
  lt: (bound) => compared('less than', '<', bound, (value) => value < bound),
  lte: (bound) => compared('at most', '≤', bound, (value) => value <= bound),
};

/** Makes a test that a list from the catalog passes if one of its entries does. */
const some = (fits: (value: Json) => boolean) => (value: Json) =>
  isList(value) ? value.some((entry) => fits(entry)) : fits(value);

function equal(wanted: Scalar): Clause {
  const holds = some((value) => value === wanted);
  return { holds, wants: show(wanted), says: `is ${show(wanted)}`, holdsForOthers: false };
}

function oneOf(wanted: readonly Scalar[]): Clause {
  const [only] = wanted;
  if (only !== undefined && wanted.length === 1) return equal(only);
  const set = new Set<Json>(wanted);
  const wants = `one of ${showList(wanted)}`;
  return { holds: some((value) => set.has(value)), wants, says: `is ${wants}`, holdsForOthers: false };
}

function not(excluded: NonNullable<Operators['not']>): Clause {
  const clauses = clausesOf(excluded);
  const holds: Clause['holds'] = (value, found) => !clauses.every((clause) => clause.holds(value, found));
  const wants = clauses.map((clause) => clause.wants).join(' and ');
  const others = allHold(clauses.map(({ holdsForOthers }) => holdsForOthers));
  const holdsForOthers = others === null ? null : !others;
  return { holds, wants: `anything but ${wants}`, says: `is not ${wants}`, holdsForOthers };
}

function matches(source: string): Clause {
  const pattern = compilePattern(source);
  if ('fault' in pattern) throw new Error(`the pattern ${source} cannot be read: ${pattern.fault}`);
  const isIn = some((value) => value !== null && typeof value !== 'object' && pattern.found(String(value)));
  const holds: Clause['holds'] = (value, found) => found?.get(source) ?? isIn(value);
  const wants = `something that matches ${source}`;
  return { holds, wants, says: `matches ${source}`, holdsForOthers: null };
}

function compared<T extends number | string>(
  words: string,
  sign: string,
  bound: T,
  fits: (value: T) => boolean,
): Clause {
  const wants = `${words} ${show(bound)}`;
  const holds = some((value) => typeof value === typeof bound && fits(value as T));
  return { holds, wants, says: `${sign} ${show(bound)}`, holdsForOthers: null };
}

/** Whether all hold; null if that depends on undecided ones (null). */
export function allHold(verdicts: readonly (boolean | null)[]): boolean | null {
  if (verdicts.includes(false)) return false;
  return verdicts.includes(null) ? null : true;
}

/** Whether one of them holds; null if that depends on undecided ones (null). */
export function oneHolds(verdicts: readonly (boolean | null)[]): boolean | null {
  if (verdicts.includes(true)) return true;
  return verdicts.includes(null) ? null : false;
}

export const negated = (verdict: boolean | null): boolean | null => (verdict === null ? null : !verdict);

/** Words that stand for a missing value in a condition on a fact. */
export const factWords = ['unknown', 'absent'] as const;
type FactWord = (typeof factWords)[number];

export const isFactWord = (value: Scalar): value is FactWord => factWords.includes(value as FactWord);

const maxShown = 5;

const showList = (values: readonly Json[]): string => firstListed(values.map(show), maxShown);

export function show(value: Json): string {
  if (isList(value)) return showList(value);
  if (value === '') return 'empty';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export const isList = (value: unknown): value is readonly never[] => Array.isArray(value);

/** A pattern from the config, found anywhere in a text. RE2's time is linear in the text's length. */
export interface Pattern {
  found(text: string): boolean;
}

const maxPatternLength = 1000;
const maxRepeats = 1000;

/** The letters and digits of a pattern, in which it is probably found. */
export const wordOf = (pattern: string): string => pattern.replaceAll(/\\[a-z]|\W/gi, '');

/** Rules share compiled patterns, because a pattern's cache of states is large. */
export const compilePattern = memo(1000, (source): Pattern | { readonly fault: string } => {
  if (source.length > maxPatternLength) return { fault: `it is longer than ${maxPatternLength} characters` };
  // RE2 copies what `{…}` repeats, so its time is also linear in the number of repeats.
  const counts = source.matchAll(/\{(\d+)(?:,(\d*))?\}/g);
  const repeats = Array.from(counts, ([, least, most]) => Number(most || least)).reduce((a, b) => a + b, 0);
  if (repeats > maxRepeats) return { fault: `its {…} ask for more than ${maxRepeats} repeats` };
  try {
    const pattern = RE2JS.compile(source);
    return { found: (text) => pattern.test(text) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { fault: message.replace(/^error parsing regexp: /, '') };
  }
});

/** The statuses and tests that a `when` can match. */
export interface Constraint {
  /** Whether each status is possible, in the order of the model's `statuses`. */
  readonly statuses: readonly boolean[];
  /** The possible tests; null: any. */
  readonly testIds: ReadonlySet<number> | null;
  /** Whether it matches all events with these, so that the `when` need not be evaluated. */
  readonly exact: boolean;
}

const all = statuses.map(() => true);
const everything: Constraint = { statuses: all, testIds: null, exact: true };
const anything: Constraint = { ...everything, exact: false };

export function constraintOf(when: When): Constraint {
  const constraints = Object.entries(when).map(([key, operand]): Constraint => {
    if (key === 'all') return (operand as When[]).map(constraintOf).reduce(both, everything);
    if (key === 'any') return either((operand as When[]).map(constraintOf));
    if (key !== 'status' && key !== 'testId') return anything;
    const clauses = clausesOf(operand as Condition);
    const fits = (value: Json) => clauses.every((clause) => clause.holds(value));
    if (key === 'status') return { statuses: statuses.map(fits), testIds: null, exact: true };
    const { in: listed } = operatorsOf(operand as Condition);
    if (!listed) return anything;
    return { statuses: all, testIds: new Set(listed.filter(fits) as number[]), exact: true };
  });
  return constraints.reduce(both, everything);
}

function both(a: Constraint, b: Constraint): Constraint {
  const testIds = a.testIds && b.testIds ? a.testIds.intersection(b.testIds) : (a.testIds ?? b.testIds);
  const possible = a.statuses.map((isPossible, place) => isPossible && b.statuses[place] === true);
  return { statuses: possible, testIds, exact: a.exact && b.exact };
}

/** The union of constraints. Not exact, because an event may have the status of one and the test of another. */
function either(constraints: readonly Constraint[]): Constraint {
  const possible = statuses.map((_, place) => constraints.some((constraint) => constraint.statuses[place]));
  const sets = constraints.map(({ testIds }) => testIds);
  const testIds = sets.includes(null) ? null : new Set(sets.flatMap((set) => Array.from(set ?? [])));
  return { statuses: possible, testIds, exact: false };
}

/** A condition whose bounds are whole values: what is more than a day is more than all of it. */
export function withWholeBounds({ lastOf }: Pick<Field, 'lastOf'>, condition: Condition): Condition {
  if (!lastOf || typeof condition !== 'object' || isList(condition)) return condition;
  const operators = condition as Operators;
  const { gt, lte, not: excluded } = operators;
  return {
    ...operators,
    ...(gt !== undefined && { gt: lastOf(gt) }),
    ...(lte !== undefined && { lte: lastOf(lte) }),
    ...(excluded !== undefined && { not: withWholeBounds({ lastOf }, excluded) as Operators }),
  };
}

/** Why no event can meet a condition, or null if no reason is found. */
export function neverReason(field: Field, written: Condition): string | null {
  const condition = withWholeBounds(field, written);
  const { in: list, exists, ...rest } = operatorsOf(condition);
  if (exists === false) {
    if (!field.optional) return `every event has ${field.name}`;
    const hasMore = list !== undefined || Object.keys(rest).length > 0;
    return hasMore ? 'a value that is missing cannot meet anything else' : null;
  }
  const values = list ?? field.all;
  const clauses = clausesOf(condition);
  if (values && !values.some((value) => clauses.every((clause) => clause.holds(value))))
    return `none of ${showList(values)} meets all of it`;
  const { gt, gte, lt, lte } = rest;
  for (const [low, isAbove, more] of [
    [gt, true, 'more than'],
    [gte, false, 'at least'],
  ] as const)
    for (const [high, isBelow, less] of [
      [lt, true, 'less than'],
      [lte, false, 'at most'],
    ] as const) {
      if (low === undefined || high === undefined) continue;
      const areAdjacent = field.whole && isAbove && isBelow && Number(low) + 1 === high;
      const isEmpty = low > high || ((isAbove || isBelow) && low === high) || areAdjacent;
      if (isEmpty || typeof low !== typeof high) return `nothing is ${more} ${low} and ${less} ${high}`;
    }
  return null;
}

function operatorsOf(condition: Condition): Operators {
  if (Array.isArray(condition)) return { in: condition as Scalar[] };
  return typeof condition === 'object' ? (condition as Operators) : { in: [condition] };
}
