import { isMap, type Json } from '../model.ts';
import type { Path } from './fault.ts';

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
