import { isMap, type Json } from '../model.ts';

/** Keys and indexes from the top of the config to a value. */
export type Path = readonly (string | number)[];

/** Something wrong at a path of the config. Where that is in the file is found out later, by Source. */
export interface Fault {
  readonly severity: 'error' | 'warning';
  readonly path: Path;
  /** What to point at: the value, or the key that it stands under. */
  readonly at: 'value' | 'key';
  readonly message: string;
  /** Points into the string at the path: the index of its first wrong character, and how many are wrong. */
  readonly inside?: { readonly index: number; readonly length: number };
}

export type Report = (fault: Fault) => void;

export const error = (path: Path, message: string, at: Fault['at'] = 'value'): Fault => ({
  severity: 'error',
  path,
  at,
  message,
});

export const warning = (path: Path, message: string, at: Fault['at'] = 'value'): Fault => ({
  severity: 'warning',
  path,
  at,
  message,
});

/** `rules[0].then[1].text`, for where there is no file to point into. */
export function pathText(path: Path): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('');
}

/** The value at a path, undefined where there is none. */
export function valueAt(value: Json, path: Path): Json | undefined {
  let current: Json | undefined = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = (current as Record<string | number, Json>)[part];
  }
  return current;
}

/** A copy of the value with another one at the path. */
export function replaceAt(value: Json, path: Path, replacement: Json): Json {
  const [first, ...rest] = path;
  if (first === undefined) return replacement;
  const inner = replaceAt(valueAt(value, [first]) ?? null, rest, replacement);
  if (isMap(value)) return { ...value, [first]: inner };
  return (value as readonly Json[]).map((entry, index) => (index === first ? inner : entry));
}

/** Every string in a value, with its path. */
export function* strings(value: Json, path: Path = []): Generator<{ text: string; path: Path }> {
  if (typeof value === 'string') yield { text: value, path };
  if (typeof value !== 'object' || value === null) return;
  const keyed = Array.isArray(value) ? [...(value as Json[]).entries()] : Object.entries(value);
  for (const [key, inner] of keyed) yield* strings(inner, [...path, key]);
}
