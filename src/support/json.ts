import { isMap, type Json, type JsonMap } from '../model.ts';

export type Path = readonly (string | number)[];

const isTree = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Whether maps and lists are nested more than `levels` deep. Runs for every request. */
export function nestsDeeper(value: Json, levels: number): boolean {
  if (!isTree(value)) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((inner: Json) => nestsDeeper(inner, levels - 1));
  const map = value as JsonMap;
  for (const key in map) if (nestsDeeper(map[key]!, levels - 1)) return true;
  return false;
}

/**
 * Copies a value, with `change` for everything but maps and lists. Throws RangeError for a value that contains itself.
 */
export function mapLeaves(
  value: unknown,
  change: (leaf: unknown, path: () => Path) => Json,
  path: () => Path = () => [],
): Json {
  const inside = (inner: unknown, key: string | number) => mapLeaves(inner, change, () => [...path(), key]);
  if (Array.isArray(value)) return value.map(inside);
  if (!isTree(value)) return change(value, path);
  // Unlike an assignment, this also copies a key `__proto__`.
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inside(inner, key)]));
}

/** Copies a map, with `change` for each text in it. `key`: the map's own under which the text stands. */
export const mapTexts = (map: JsonMap, change: (text: string, key: string) => string): JsonMap =>
  mapLeaves(map, (leaf, path) =>
    typeof leaf === 'string' ? change(leaf, String(path()[0])) : (leaf as Json),
  ) as JsonMap;

/** A path as text, such as `rules[0].then[1].text`. */
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

/** A map's value if it is text; empty otherwise. */
export function textAt(value: Json | undefined, key: string): string {
  const found = isMap(value) ? value[key] : undefined;
  return typeof found === 'string' ? found : '';
}

/** A map's value if it is a list; empty otherwise. */
export function listAt(value: Json | undefined, key: string): readonly Json[] {
  const found = isMap(value) ? value[key] : undefined;
  return Array.isArray(found) ? (found as readonly Json[]) : [];
}

/** A copy of the value with another one at the path. */
export function replaceAt(value: Json, path: Path, replacement: Json): Json {
  const [first, ...rest] = path;
  if (first === undefined) return replacement;
  const inner = replaceAt(valueAt(value, [first]) ?? null, rest, replacement);
  if (isMap(value)) return { ...value, [first]: inner };
  return (value as readonly Json[]).map((entry, index) => (index === first ? inner : entry));
}

export interface PlacedText {
  readonly text: string;
  readonly path: Path;
}

/** Lists every string in a value with its path, or those that are wanted. */
export function strings(value: Json, path: Path = [], wanted?: (text: string) => boolean): PlacedText[] {
  const found: PlacedText[] = [];
  const steps = [...path];
  const visitAt = (step: string | number, inner: Json): void => {
    steps.push(step);
    visit(inner);
    steps.pop();
  };
  const visit = (inner: Json): void => {
    if (typeof inner === 'string') {
      if (!wanted || wanted(inner)) found.push({ text: inner, path: [...steps] });
    } else if (Array.isArray(inner)) {
      for (let index = 0; index < inner.length; index += 1) visitAt(index, inner[index] as Json);
    } else if (isMap(inner)) {
      for (const key of Object.keys(inner)) visitAt(key, inner[key] ?? null);
    }
  };
  visit(value);
  return found;
}

/** The JSON object in a text; empty where there is none. */
export function jsonMap(text: string): { readonly [key: string]: unknown } {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}

/** What an error of JSON.parse says, in words after "is not JSON: ". The error quotes a part of the text, which may be secret. */
export function whyNoJson(error: unknown): string {
  const position = /at position (\d+)/.exec((error as Error).message)?.[1];
  return position === undefined
    ? 'it ends too early or has a wrong character'
    : `wrong at character ${position}`;
}
