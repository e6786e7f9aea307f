import type { FactField, Mask } from '../../../src/connector.ts';
import { isMap, type Json, type LookupFacts } from '../../../src/model.ts';

/** What is wanted of an answer. */
export interface Wanted {
  readonly fields: { readonly [field: string]: FactField };
  readonly until: readonly string[];
}

type Fact = string | number | boolean;

export interface ReadAnswer {
  readonly facts: LookupFacts;
  /** Fields of `until` that are not there. */
  readonly missing: readonly string[];
}

/**
 * The facts of an answer. `now`: when it came (ms). `hide`: masks a text of them. Says which types were wrong, and nothing of
 * the values.
 */
export function readAnswer(
  { fields: wanted, until }: Wanted,
  answer: Json,
  { now, hide }: { readonly now: number; readonly hide: Mask },
): ReadAnswer {
  const fields: Record<string, Fact | null> = {};
  const faults: string[] = [];
  const missing: string[] = [];
  for (const [field, { at: places, type }] of Object.entries(wanted)) {
    const value = joined([places].flat().map((pointer) => valueAt(answer, pointer) ?? null));
    // APIs that have no null write a number or an address that is not there yet as an empty text.
    const found = type !== 'text' && typeof value === 'string' && value.trim() === '' ? null : value;
    const fact = found === null ? null : readers[type].read(found);
    if (fact !== undefined) fields[field] = typeof fact === 'string' ? hide(fact) : fact;
    else faults.push(`${field}: expected ${readers[type].expected}, got ${kindOf(found)}`);
    if (found === null && until.includes(field)) missing.push(field);
  }
  const reason = faults.length === 0 ? null : `${faults.join('; ')}.`;
  return { facts: { state: 'answered', at: now, reason, fields }, missing };
}

/** What stands at a field's places; null where nothing does. Several texts, as a first and a last name, are one. Blanks leave no gap. */
function joined(values: readonly Json[]): Json {
  const found = values.filter((value) => value !== null);
  const texts = found.filter((value) => typeof value === 'string');
  const other = found.find((value) => typeof value !== 'string');
  if (other !== undefined || texts.length === 0) return other ?? null;
  const filled = texts.filter((text) => text.trim() !== '');
  return filled.length === 1 && texts.length === 1 ? filled[0]! : filled.map((text) => text.trim()).join(' ');
}

/** The facts where the API says that there is nothing. */
export function nothingFound({ fields }: Wanted, reason: string, at: number): LookupFacts {
  const none = Object.fromEntries(Object.keys(fields).map((field) => [field, null]));
  return { state: 'absent', at, reason, fields: none };
}

/** The value at a JSON Pointer (RFC 6901). */
function valueAt(answer: Json, pointer: string): Json | undefined {
  let value: Json | undefined = answer;
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(value)) value = /^(?:0|[1-9]\d*)$/.test(key) ? (value[Number(key)] as Json) : undefined;
    else value = isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}

const longestText = 10_000;

/** Reads a value of each type; undefined where it has another one. */
const readers: {
  readonly [type in FactField['type']]: {
    readonly expected: string;
    readonly read: (value: Json) => Fact | undefined;
  };
} = {
  text: { expected: `text of at most ${longestText} characters`, read: readText },
  number: { expected: 'a number', read: readNumber },
  boolean: { expected: 'true or false', read: (value) => (typeof value === 'boolean' ? value : undefined) },
  time: { expected: 'a time with its zone, as in 2026-11-23T10:00:00Z', read: readTime },
  url: { expected: 'an address that begins with https:// or http://', read: readUrl },
};

function readText(value: Json): string | undefined {
  if (typeof value !== 'string' || value.length > longestText) return undefined;
  // PostgreSQL stores no NUL.
  return value.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** Frameworks write decimals as text, so that nobody rounds them. Zeros in front show that it is a code. */
function readNumber(value: Json): number | undefined {
  const isWritten =
    typeof value === 'string' &&
    /^-?(0|[1-9]\d*)(\.\d+)?$/.test(value) &&
    value.replace(/\D/g, '').length <= 15;
  return isWritten || (typeof value === 'number' && Number.isFinite(value)) ? Number(value) : undefined;
}

function readTime(value: Json): string | undefined {
  try {
    return new Date(Temporal.Instant.from(readText(value) ?? '').epochMilliseconds).toISOString();
  } catch {
    return undefined;
  }
}

function readUrl(value: Json): string | undefined {
  const url = URL.parse(readText(value)?.trim() ?? '');
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

function kindOf(value: Json): string {
  if (Array.isArray(value)) return 'a list';
  if (isMap(value)) return 'a map';
  if (typeof value === 'string') return value.length > longestText ? 'a longer text' : 'text';
  if (typeof value === 'boolean') return 'true or false';
  // As 1e999, which is too large for JavaScript.
  return Number.isFinite(value) ? 'a number' : 'a number that is too large';
}
