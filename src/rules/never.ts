import type { Field } from './fields.ts';
import { clausesOf, showList } from './operators.ts';
import type { Condition, Operators, Scalar } from './when.ts';

/** Why no event can meet a condition, or null as far as can be seen. */
export function neverReason(field: Field, condition: Condition): string | null {
  const { in: list, exists, ...rest } = operatorsOf(condition);
  if (exists === false) return absenceReason(field, list !== undefined || Object.keys(rest).length > 0);
  const values = list ?? field.all;
  const clauses = clausesOf(condition);
  if (values && !values.some((value) => clauses.every((clause) => clause.holds(value)))) {
    return `none of ${showList(values)} meets all of it`;
  }
  return rangeReason(rest, field.whole);
}

function operatorsOf(condition: Condition): Operators {
  if (Array.isArray(condition)) return { in: condition as Scalar[] };
  return typeof condition === 'object' ? (condition as Operators) : { in: [condition] };
}

function absenceReason({ name, optional }: Field, hasMore: boolean): string | null {
  if (!optional) return `every event has ${name}`;
  return hasMore ? 'a value that is missing cannot meet anything else' : null;
}

interface Bound {
  readonly value: number | string | undefined;
  readonly strict: boolean;
  readonly words: string;
}

/** Bounds that leave nothing between them; `whole`: only whole numbers count. */
function rangeReason({ gt, gte, lt, lte }: Operators, whole: boolean): string | null {
  const lower: Bound[] = [
    { value: gt, strict: true, words: 'more than' },
    { value: gte, strict: false, words: 'at least' },
  ];
  const upper: Bound[] = [
    { value: lt, strict: true, words: 'less than' },
    { value: lte, strict: false, words: 'at most' },
  ];
  for (const low of lower) {
    const high = upper.find((bound) => leavesNothing(low, bound, whole));
    if (high) return `nothing is ${low.words} ${low.value} and ${high.words} ${high.value}`;
  }
  return null;
}

function leavesNothing(low: Bound, high: Bound, whole: boolean): boolean {
  if (low.value === undefined || high.value === undefined) return false;
  if (typeof low.value !== typeof high.value) return true;
  const strict = low.strict || high.strict;
  const neighbours = whole && low.strict && high.strict && Number(low.value) + 1 === high.value;
  return low.value > high.value || (strict && low.value === high.value) || neighbours;
}
