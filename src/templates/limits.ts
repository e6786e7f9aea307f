import { defaultOperators } from 'liquidjs';
import type { Context, Liquid, Template } from 'liquidjs';

/** How long a template may be, how many tags and outputs it may have, how deep they may stand in each other. */
export const sizes = { characters: 500_000, pieces: 2000, ofPiece: 4000, depth: 50 };

/** How many characters a template may make or go through, those in between counted too, and how many steps its loops may take. */
const maxMemory = 4_000_000;
export const maxSteps = 100_000;

export const inWords = (count: number): string => count.toLocaleString('en');

/** Thrown where a template goes too far; the message says by what. */
class LimitError extends Error {
  override readonly name = 'LimitError';
}

/**
 * Stands in for the limiter of LiquidJS, which reads the clock: there a busy machine would make a good template fail.
 * LiquidJS asks it once for every piece of a template that it renders.
 */
export class StepLimit {
  #steps = 0;

  check(): void {
    this.#steps += 1;
    if (this.#steps <= maxSteps) return;
    throw new LimitError(`its loops take more than ${inWords(maxSteps)} steps`);
  }
}

/** Likewise for memory; LiquidJS says what it is about to use. Of much that takes time it says nothing; see below. */
export class MemoryLimit {
  #used = 0;

  get used(): number {
    return this.#used;
  }

  use(count: number): void {
    if (!(count > 0)) return;
    this.#used += count;
    if (this.#used <= maxMemory) return;
    throw new LimitError(
      `it makes or goes through more than ${inWords(maxMemory)} characters or list entries`,
    );
  }
}

/** What to count for an entry of a list, by what is done with it: to look into one takes far longer than to copy it. */
const weights = { copied: 1, compared: 4, lookedInto: 30 };

/** Characters that are gone through take so much less time than those that are made. */
const quick = 1 / 64;

/** What it takes at least to go through values; a filter reads its texts again for every entry. */
function extentOf(values: readonly unknown[], weight: number): number {
  let entries = 0;
  let characters = 0;
  for (const value of values) {
    if (Array.isArray(value)) entries += value.length;
    else if (typeof value === 'string') characters += value.length;
  }
  return 1 + (1 + entries * weight) * (1 + characters * quick);
}

export type Filter = Extract<Parameters<Liquid['registerFilter']>[1], (...args: never[]) => unknown>;

const filtersThatLookInto = new Set(
  'where reject find find_index has group_by map sum sort sort_natural'.split(' '),
);

/** A filter that counts what it goes through, and what it made as far as LiquidJS did not. */
export function chargedFilter(name: string, filter: Filter): Filter {
  const weight = filtersThatLookInto.has(name) ? weights.lookedInto : weights.copied;
  return function (value, ...args: unknown[]) {
    const limit = this.context.memoryLimit as unknown as MemoryLimit;
    limit.use(extentOf([value, ...args], weight));
    const before = limit.used;
    const made: unknown = filter.call(this, value, ...args);
    if (typeof made === 'string') limit.use(made.length - (limit.used - before));
    return made;
  };
}

type Operators = typeof defaultOperators;

export const chargedOperators: Operators = Object.fromEntries(
  Object.entries(defaultOperators).map(([name, operator]): [string, Operators[string]] => [
    name,
    (...operands: [unknown, unknown, Context]) => {
      // The one of `not` has its context in second place.
      (operands.at(-1) as Context).memoryLimit.use(extentOf(operands, weights.compared));
      return operator(...operands);
    },
  ]),
);

/** What is read may be gone through by a loop, which copies a list and takes a map apart. */
export function extentOfRead(value: unknown): number {
  if (Array.isArray(value)) return value.length * weights.copied;
  return typeof value === 'object' && value !== null ? Object.keys(value).length * weights.compared : 0;
}

const extents = new WeakMap<readonly Template[], number>();

/** What a block takes each time, besides its values: its own text, and the conditions of its branches. */
export function extentOfBlock(templates: readonly Template[]): number {
  const known = extents.get(templates);
  if (known !== undefined) return known;
  const extent = templates.reduce((sum, template) => sum + extentOfPiece(template), 0);
  extents.set(templates, extent);
  return extent;
}

function extentOfPiece(template: Template): number {
  const { begin, end } = template.token;
  const { branches = [] } = template as { branches?: readonly { readonly values?: readonly unknown[] }[] };
  const conditions = branches.reduce((count, { values = [] }) => count + 1 + values.length, 0);
  return (end - begin) / 4 + conditions * weights.compared;
}
