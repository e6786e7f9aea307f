import { defaultOperators } from 'liquidjs';
import type { Context, Liquid, Template } from 'liquidjs';

/** How large a template may be. A part is a tag or an output. */
export const sizes = { characters: 500_000, parts: 2000, partCharacters: 4000, depth: 50 };

/** What one rendering may use: characters and list entries, also of values in between, and steps of its loops. */
const maxMemory = 4_000_000;
export const maxSteps = 100_000;

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
const costs = { copy: 1, compare: 4, search: 30 };

/** Reading a character takes much less time than making one. */
const readCharacterCost = 1 / 64;

/** The least that reading some values costs. A filter reads its arguments again for every entry. */
function costOf(values: readonly unknown[], entryCost: number): number {
  let entries = 0;
  let characters = 0;
  for (const value of values) {
    if (Array.isArray(value)) entries += value.length;
    else if (typeof value === 'string') characters += value.length;
  }
  return 1 + (1 + entries * entryCost) * (1 + characters * readCharacterCost);
}

export type Filter = Extract<Parameters<Liquid['registerFilter']>[1], (...args: never[]) => unknown>;

const searchFilters = new Set(
  'where reject find find_index has group_by map sum sort sort_natural'.split(' '),
);

/** A filter that counts what it reads, and the text that it makes unless LiquidJS has counted that. */
export function meteredFilter(name: string, filter: Filter): Filter {
  const entryCost = searchFilters.has(name) ? costs.search : costs.copy;
  return function (value, ...args: unknown[]) {
    const limit = this.context.memoryLimit as unknown as MemoryLimit;
    limit.use(costOf([value, ...args], entryCost));
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
      (operands.at(-1) as Context).memoryLimit.use(costOf(operands, costs.compare));
      return operator(...operands);
    },
  ]),
);

/** The cost of reading a variable: a loop may copy a list, or turn a map into a list of pairs. */
export function costOfRead(value: unknown): number {
  if (Array.isArray(value)) return value.length * costs.copy;
  return typeof value === 'object' && value !== null ? Object.keys(value).length * costs.compare : 0;
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
