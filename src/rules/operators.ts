import type { Json } from '../model.ts';
import { compilePattern } from './pattern.ts';
import type { Condition, Operators, Scalar } from './when.ts';

/** One demand on a field's value; null stands for a value that is missing. */
export interface Clause {
  holds(value: Json): boolean;
  /** What is demanded, after "the rule wants". */
  readonly wants: string;
  /** What is so where it holds, after the field and its value. */
  readonly says: string;
}

/** The clauses of a condition; all have to hold. */
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
  exists,
  gt: (bound) => compared('more than', bound, (value) => value > bound),
  gte: (bound) => compared('at least', bound, (value) => value >= bound),
  lt: (bound) => compared('less than', bound, (value) => value < bound),
  lte: (bound) => compared('at most', bound, (value) => value <= bound),
};

/** Where the catalog has a list, one fitting entry is enough. */
const some = (fits: (value: Json) => boolean) => (value: Json) =>
  isList(value) ? value.some((entry) => fits(entry)) : fits(value);

function equal(wanted: Scalar): Clause {
  return { holds: some((value) => value === wanted), wants: show(wanted), says: `is ${show(wanted)}` };
}

function oneOf(wanted: readonly Scalar[]): Clause {
  const [only] = wanted;
  if (only !== undefined && wanted.length === 1) return equal(only);
  const set = new Set<Json>(wanted);
  const wants = `one of ${showList(wanted)}`;
  return { holds: some((value) => set.has(value)), wants, says: `is ${wants}` };
}

function not(excluded: NonNullable<Operators['not']>): Clause {
  const clauses = clausesOf(excluded);
  const holds = (value: Json) => !clauses.every((clause) => clause.holds(value));
  const wants = clauses.map((clause) => clause.wants).join(' and ');
  return { holds, wants: `anything but ${wants}`, says: `is not ${wants}` };
}

function matches(source: string): Clause {
  const pattern = compilePattern(source);
  if ('fault' in pattern) throw new Error(`the pattern ${source} cannot be read: ${pattern.fault}`);
  const holds = some((value) => value !== null && typeof value !== 'object' && pattern.found(String(value)));
  return { holds, wants: `something that matches ${source}`, says: `matches ${source}` };
}

function exists(wanted: boolean): Clause {
  const holds = (value: Json) => (value !== null) === wanted;
  return wanted
    ? { holds, wants: 'a value', says: 'is set' }
    : { holds, wants: 'no value', says: 'is not set' };
}

function compared<T extends number | string>(words: string, bound: T, fits: (value: T) => boolean): Clause {
  const wants = `${words} ${show(bound)}`;
  const holds = some((value) => typeof value === typeof bound && fits(value as T));
  return { holds, wants, says: `is ${wants}` };
}

const mostShown = 5;

export function showList(values: readonly Json[]): string {
  const shown = values.slice(0, mostShown).map(show).join(', ');
  return values.length > mostShown ? `${shown} and ${values.length - mostShown} more` : shown;
}

export function show(value: Json): string {
  if (isList(value)) return showList(value);
  if (value === '') return 'empty';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const isList = (value: unknown): value is readonly never[] => Array.isArray(value);
