import { defaultOperators, filters as builtInFilters, toValue, toValueSync } from 'liquidjs';
import type { Context, Liquid, Template } from 'liquidjs';

/** How large a template may be. A part is a tag or an output. */
export const sizes = { characters: 500_000, parts: 2000, partCharacters: 4000, depth: 50 };

/** What one rendering may use: characters and list entries, also of values in between, and steps of its loops. */
const maxMemory = 4_000_000;
export const maxSteps = 40_000;

export const formatCount = (count: number): string => count.toLocaleString('en');

/**
 * Replaces LiquidJS's time limit, which reads the clock: on a busy machine it would fail a good template. LiquidJS
 * calls `check` once for every tag, output and text that it renders.
 */
export class StepLimit {
  #steps = 0;

  check(): void {
    this.#steps += 1;
    if (this.#steps <= maxSteps) return;
    throw new Error(`the loops take more than ${formatCount(maxSteps)} steps`);
  }
}

/**
 * Replaces LiquidJS's memory limit. LiquidJS reports what it is about to allocate; the functions below add the work
 * that takes time without allocating.
 */
export class MemoryLimit {
  #used = 0;

  get used(): number {
    return this.#used;
  }

  use(count: number): void {
    if (!(count > 0)) return;
    this.#used += count;
    if (this.#used <= maxMemory) return;
    throw new Error(
      `the template reads or makes more than ${formatCount(maxMemory)} characters or list entries`,
    );
  }
}

/** The cost of one list entry. Searching an entry takes far longer than copying it. */
const costs = { copy: 1, compare: 4, nest: 10, search: 30 };

/** Reading a character takes less time than making one. Longest takes text that is read as a number. */
const readCharacterCost = 1 / 16;

/** The cost of reading a value once as text, which lists inside a list are a part of. */
function sizeOf(value: unknown, entryCost = costs.copy): number {
  const plain: unknown = toValue(value);
  if (typeof plain === 'string') return plain.length * readCharacterCost;
  if (!Array.isArray(plain)) return 0;
  let size = plain.length * entryCost;
  for (const entry of plain) {
    // Lists that contain one list many times may take for ever to walk through.
    if (size > maxMemory) break;
    if (typeof entry === 'string') size += sizeOf(entry);
    else if (Array.isArray(entry)) size += costs.nest + sizeOf(entry, costs.compare);
  }
  return size;
}

const sizeOfAll = (values: readonly unknown[], entryCost = costs.copy): number =>
  values.reduce((sum: number, value) => sum + sizeOf(value, entryCost), 0);

export type Filter = Extract<Parameters<Liquid['registerFilter']>[1], (...args: never[]) => unknown>;

export const builtIn = (name: string): Filter => (builtInFilters as Record<string, Filter>)[name] as Filter;

/** These look a property up in each entry. */
const searchFilters = new Set(
  'where reject find find_index has group_by map sum sort sort_natural'.split(' '),
);

/** LiquidJS makes the property a text again for each entry, follows its steps, and compares with what is expected. */
function costOfSearch(list: unknown, args: readonly unknown[]): number {
  const entries = Array.isArray(list) ? list.length : 1;
  const property: unknown = toValue(args[0]);
  const steps = typeof property === 'string' ? property.split(/[.[]/).length - 1 : 0;
  return entries * (costs.search + steps * costs.compare + sizeOfAll(args, costs.compare));
}

/** These make a list that they find in an entry a text or number. Those that sort do so for each comparison. */
const comparingFilters = new Set('sort sort_natural sum'.split(' '));

function costOfComparing(call: ThisParameterType<Filter>, list: unknown, property: unknown): number {
  const found: unknown =
    property === undefined ? list : toValueSync(builtIn('map').call(call, list, property) as never);
  if (!Array.isArray(found)) return 0;
  const inside = sizeOf(found, costs.compare) - found.length * costs.compare;
  return inside * 2 * Math.log2(found.length + 1);
}

/** These look for one text in another. At worst that takes as long as both lengths multiplied. */
const textFilters = new Set(
  'split remove remove_first remove_last replace replace_first replace_last'.split(' '),
);

const costOfTextSearch = (text: unknown, wanted: unknown): number =>
  (sizeOf(text) * sizeOf(wanted)) / readCharacterCost / 4;

/** A date in words takes as long as reading hundreds of entries, and each code of its format as long as some. */
const dateCosts = { date: 300, character: 16 };

function costOfDate(name: string, format: unknown): number {
  if (!name.startsWith('date')) return 0;
  const plain: unknown = toValue(format);
  return dateCosts.date + (typeof plain === 'string' ? plain.length * dateCosts.character : 0);
}

/** A filter that counts what it reads, and the text that it makes unless LiquidJS has counted that. */
export function meteredFilter(name: string, filter: Filter): Filter {
  return function (value, ...args: unknown[]) {
    const limit = this.context.memoryLimit as unknown as MemoryLimit;
    limit.use(1 + sizeOfAll([value, ...args]) + costOfDate(name, args[0]));
    if (searchFilters.has(name)) limit.use(costOfSearch(toValue(value), args));
    if (comparingFilters.has(name)) limit.use(costOfComparing(this, toValue(value), args[0]));
    if (textFilters.has(name)) limit.use(costOfTextSearch(value, args[0]));
    const before = limit.used;
    const result: unknown = filter.call(this, value, ...args);
    if (typeof result === 'string') limit.use(result.length - (limit.used - before));
    return result;
  };
}

type Operators = typeof defaultOperators;

export const meteredOperators: Operators = Object.fromEntries(
  Object.entries(defaultOperators).map(([name, operator]): [string, Operators[string]] => [
    name,
    (...operands: [unknown, unknown, Context]) => {
      // `not` takes one operand, so its context is the second argument.
      (operands.at(-1) as Context).memoryLimit.use(costOfOperator(name, operands));
      return operator(...operands);
    },
  ]),
);

function costOfOperator(name: string, [left, right]: readonly unknown[]): number {
  const cost = 1 + sizeOfAll([left, right], costs.compare);
  const isText = name === 'contains' && typeof toValue(left) === 'string';
  return isText ? cost + costOfTextSearch(left, right) : cost;
}

/**
 * The cost of reading a variable: a tag may take a list for a text or a number, or turn a map into a list of pairs. The
 * events of a digest are read again and again, so they cost less; tags only go through them.
 */
export function costOfRead(value: unknown, isEvents = false): number {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (isMap) return Object.keys(value).length * costs.compare;
  return sizeOf(value, isEvents ? costs.copy : costs.compare);
}

const blockCosts = new WeakMap<readonly Template[], number>();

/** The cost of rendering a block once, without its values: its own text, and the conditions of its branches. */
export function costOfBlock(templates: readonly Template[]): number {
  const known = blockCosts.get(templates);
  if (known !== undefined) return known;
  const cost = templates.reduce((sum, template) => sum + costOfTemplate(template), 0);
  blockCosts.set(templates, cost);
  return cost;
}

function costOfTemplate(template: Template): number {
  const { begin, end } = template.token;
  const { branches = [] } = template as { branches?: readonly { readonly values?: readonly unknown[] }[] };
  const conditions = branches.reduce((count, { values = [] }) => count + 1 + values.length, 0);
  return (end - begin) / 4 + conditions * costs.compare;
}
