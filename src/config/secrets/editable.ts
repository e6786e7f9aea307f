import { isMap, type Json } from '../../model.ts';
import type { Mask } from '../../support/secret.ts';
import { starRuns } from './hidden.ts';
import { Source } from '../text/problems.ts';

/**
 * A config's text that somebody may edit without seeing its secrets: a mark stands for each. Secrets are never put back, as
 * the editor could write what shows them. Instead, what the text is compared with gets the same marks.
 */
export interface EditableText {
  readonly text: string;
  /** The marks of hidden values, by key and value. */
  readonly marked: ReadonlyMap<string, Json>;
}

export const hiddenMark = '••hidden••';

/** Makes a text editable. Null if the marks would change more than values, as where a part of its syntax looks like a secret. */
export function editableText(source: Source, mask: Mask): EditableText | null {
  const written = source.text.split('\n');
  const lines = source.shown(mask).map((line, at) => withMarks(line, written[at]!, mask));
  const { tree, isParsed } = source.parsed;
  const edited = new Source(lines.join('\n'));
  if (!tree || !isParsed || !edited.parsed.tree || !edited.parsed.isParsed) return null;
  const marked = new Map<string, Json>();
  return collect(tree.value, edited.parsed.tree.value, '', marked) ? { text: edited.text, marked } : null;
}

/** A line with a mark for each run of stars that hides a secret. Written stars stay, and so does what begins a comment. */
export function withMarks(line: string, written: string, mask: Mask): string {
  const marked = line.replaceAll(starRuns, (stars, at: number) =>
    written.startsWith(stars, at)
      ? stars
      : `${/\s#/.test(written.slice(at - 1, at + 1)) ? '# ' : ''}${hiddenMark}`,
  );
  const masked = mask(marked);
  return masked === marked ? marked : masked.replaceAll('***', hiddenMark);
}

/** Collects the marks of two values. False if they differ in more than hidden values. */
function collect(value: Json, shown: Json, key: string, marked: Map<string, Json>): boolean {
  if (typeof shown === 'string' && shown !== value) {
    marked.set(placed(key, value), shown);
    return shown.includes(hiddenMark);
  }
  if (Array.isArray(value))
    return (
      Array.isArray(shown) &&
      value.length === shown.length &&
      value.every((one: Json, at) => collect(one, (shown as readonly Json[])[at]!, key, marked))
    );
  if (isMap(value)) {
    if (!isMap(shown)) return false;
    const keys = Object.keys(value);
    return (
      keys.join('\n') === Object.keys(shown).join('\n') &&
      keys.every((one) => collect(value[one]!, shown[one]!, one, marked))
    );
  }
  return value === shown;
}

const placed = (key: string, value: unknown): string => JSON.stringify([key, value]);

/** A plan's source with the marks of an editable text in place of its hidden values. */
export function withMarksOf({ marked }: Pick<EditableText, 'marked'>, source: Json, key = ''): Json {
  const mark = marked.get(placed(key, source));
  if (mark !== undefined) return mark;
  if (Array.isArray(source)) return source.map((one: Json) => withMarksOf({ marked }, one, key));
  if (!isMap(source)) return source;
  return Object.fromEntries(
    Object.entries(source).map(([name, one]) => [name, withMarksOf({ marked }, one, name)]),
  );
}
