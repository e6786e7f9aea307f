import type { Json } from '../../model.ts';
import { readCandidateId } from '../../support/ids.ts';
import { compilePattern, type PatternResults, type Scalar, wordOf } from '../conditions.ts';
import type { Field } from '../fields.ts';
import type { Ask } from '../plan.ts';

/** Values of a field that conditions cannot tell apart, unless by a pattern. */
export interface Case {
  /** One of the values. Null if there is none, undefined if it is unknown. */
  readonly value: Json | undefined;
  /** Whether the case has other values. */
  readonly isOpen: boolean;
  /** A value that an event can have, with these results of patterns; null if none was found. */
  real(found: PatternResults): { readonly value: Json | undefined } | null;
}

/**
 * Splits all values that a field can have into cases, by what conditions ask of it: first the missing ones, then the others
 * in order. `taken`: test ids with cells of their own.
 */
export function casesOf(field: Field, asks: readonly Ask[], taken: ReadonlySet<number>): Case[] {
  const compared = {
    named: asks.flatMap(({ named }) => named),
    bounds: asks.flatMap(({ bounds }) => bounds),
  };
  const missing = [...(field.fact ? [only(undefined)] : []), ...(field.optional ? [only(null)] : [])];
  const type = field.fact?.type ?? (field.name === 'candidateId' ? 'candidate' : 'whole');
  if (type === 'boolean') return [...missing, only(true), only(false)];
  const values =
    type === 'whole' || type === 'number'
      ? numbers(compared, type === 'whole' ? wholes(field.of === 'testId' ? taken : new Set()) : reals)
      : texts(compared, kinds[type]);
  // In order, so that few conditions tell neighbours apart.
  return [...missing, ...values.toSorted((a, b) => (a.value! < b.value! ? -1 : 1))];
}

type Comparands = Pick<Ask, 'named' | 'bounds'>;

function only(value: Json | undefined, isPossible = true): Case {
  return { value, isOpen: false, real: () => (isPossible ? { value } : null) };
}

/** How to find values of a type between two others. */
interface Scale<T extends Scalar> {
  /** Values that may fit: more than `most` different ones, unless there are fewer. */
  between(low: T | undefined, high: T | undefined, most: number): Iterable<T>;
  readonly isPossible: (value: T) => boolean;
}

interface Gap<T> {
  readonly low: T | undefined;
  readonly high: T | undefined;
  readonly fits: (value: T) => boolean;
}

/** The gaps between bounds, without the values that conditions name. */
function* gapsOf<T extends string | number>(named: ReadonlySet<T>, bounds: readonly T[]): Generator<Gap<T>> {
  const sorted = [...new Set<T>(bounds)].toSorted((a, b) => (a < b ? -1 : 1));
  for (let index = 0; index <= sorted.length; index += 1) {
    const low = sorted[index - 1];
    const high = sorted[index];
    const fits = (value: T): boolean =>
      (low === undefined || value > low) && (high === undefined || value < high) && !named.has(value);
    yield { low, high, fits };
  }
}

function open<T extends Scalar>(
  value: T,
  pool: (found: PatternResults) => Iterable<T>,
  fits: (value: T) => boolean,
): Case {
  const isFound = (one: T, found: PatternResults): boolean =>
    Array.from(found).every(([source, is]) => {
      const pattern = compilePattern(source);
      return 'found' in pattern && pattern.found(String(one)) === is;
    });
  return {
    value,
    isOpen: true,
    real(found) {
      for (const one of pool(found)) if (fits(one) && isFound(one, found)) return { value: one };
      return null;
    },
  };
}

function numbers({ named, bounds }: Comparands, scale: Scale<number>): Case[] {
  const isNumber = (value: Scalar): value is number => typeof value === 'number';
  const alone = new Set(named.filter(isNumber));
  const ends = bounds.filter(isNumber);
  const cases = [...new Set([...alone, ...ends])]
    .filter((one) => scale.isPossible(one))
    .map((one) => only(one));
  for (const { low, high, fits } of gapsOf<number>(alone, ends)) {
    const isReal = (value: number): boolean => fits(value) && scale.isPossible(value);
    const value = Iterator.from(scale.between(low, high, alone.size)).find(isReal);
    if (value !== undefined) cases.push(open(value, () => scale.between(low, high, alone.size), isReal));
  }
  return cases;
}

const wholes = (taken: ReadonlySet<number>): Scale<number> => ({
  isPossible: (value) => Number.isSafeInteger(value) && !taken.has(value),
  *between(low, high, most) {
    const step = low === undefined && high !== undefined ? -1 : 1;
    let value = low === undefined ? Math.ceil(high ?? 4710) : Math.floor(low);
    for (let count = 0; count <= most + taken.size; count += 1) yield (value += step);
  },
});

const reals: Scale<number> = {
  isPossible: Number.isFinite,
  *between(low, high, most) {
    for (let count = 1; count <= most + 1; count += 1) {
      if (low === undefined) yield (high ?? 1) - count;
      else yield Math.floor(low) + count;
    }
    const [from, to] = [low ?? -Number.MAX_VALUE, high ?? Number.MAX_VALUE];
    for (let part = 1; part <= most + 2; part += 1)
      yield from * (1 - part / (most + 2)) + to * (part / (most + 2));
  },
};

/** A type of text: which texts are possible, and some of them. */
interface TextKind {
  readonly isPossible: (text: string) => boolean;
  readonly samples: readonly string[];
  /** Texts that come right after a bound. */
  readonly after: (low: string) => readonly string[];
}

const longest = 10_000;
const isText = (text: string): boolean =>
  text.length <= longest && text.isWellFormed() && !text.includes('\0');
const endings = ['~', '0', '!', ' ', '\u0001'];
const byEndings = (low: string): readonly string[] => endings.map((ending) => low + ending);
const earliest = '0001-01-01T00:00:00.000Z';
const isoTime = (timeMs: number): string => new Date(timeMs).toISOString();
const isTime = (text: string): boolean =>
  !Number.isNaN(Date.parse(text)) && isoTime(Date.parse(text)) === text;

const kinds: { readonly [type in 'text' | 'time' | 'url' | 'candidate']: TextKind } = {
  text: { isPossible: isText, samples: ['-', 'Ana', '', ' ', 'a', '1'], after: byEndings },
  candidate: {
    isPossible(text) {
      const read = readCandidateId(text);
      return 'value' in read && read.value === text;
    },
    samples: ['0123456789abcdef0123456789abcdef', '-', 'a'],
    after: byEndings,
  },
  time: {
    isPossible: isTime,
    samples: ['2026-01-05T10:00:00.000Z', earliest, '-000001-01-01T00:00:00.000Z'],
    // The first time that begins so, or the one after it.
    after: (low) => [isTime(low) ? isoTime(Date.parse(low) + 1) : low + earliest.slice(low.length)],
  },
  url: {
    isPossible: (text) => isText(text) && /^https?:/.test(text) && URL.parse(text)?.href === text,
    samples: ['https://example.com/', 'http://example.com/'],
    after: byEndings,
  },
};

function texts({ named, bounds }: Comparands, kind: TextKind): Case[] {
  const isString = (value: Scalar): value is string => typeof value === 'string';
  const alone = new Set(named.filter(isString));
  const ends = bounds.filter(isString);
  const cases = [...new Set([...alone, ...ends])].map((one) => only(one, kind.isPossible(one)));
  for (const { low, high, fits } of gapsOf<string>(alone, ends)) {
    const isReal = (text: string): boolean => fits(text) && kind.isPossible(text);
    const pool = (found: PatternResults) => poolOf(kind, low, alone.size, found);
    const value = pool(new Map()).find(isReal);
    const standIn = value ?? nextAfter(low, high, fits);
    // The first time after `low` is already beyond the gap.
    const isOver =
      value === undefined &&
      kind === kinds.time &&
      low !== undefined &&
      kind.after(low).every((one) => kind.isPossible(one));
    if (standIn !== null && !isOver) cases.push(open(standIn, pool, isReal));
  }
  return cases;
}

/** The first text after `low` that fits, which stands for others of the gap; null if there is none. */
function nextAfter(
  low: string | undefined,
  high: string | undefined,
  fits: (text: string) => boolean,
): string | null {
  let text = low === undefined ? '' : `${low}\0`;
  while (!fits(text)) {
    if (high !== undefined && text >= high) return null;
    text += '\0';
  }
  return text;
}

function* poolOf(
  kind: TextKind,
  low: string | undefined,
  most: number,
  found: PatternResults,
): Generator<string> {
  if (low !== undefined) yield* kind.after(low);
  const wanted = Array.from(found).flatMap(([source, is]) => (is ? [wordOf(source)] : []));
  const words = [wanted.join(''), wanted.toReversed().join(''), ...wanted].filter((word) => word !== '');
  for (const word of words) yield* [word, `-${word}`, `${word}-`, `${word}0`, `${word}a`];
  yield* kind.samples;
  for (let count = 0; count <= most; count += 1)
    for (const text of [...words, ...kind.samples]) yield text + String(count);
}
