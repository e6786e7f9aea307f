import type { Json } from '../../model.ts';
import { oddInReferred } from './odd-characters.ts';
import { error, type Fault, warning } from './problems.ts';
import { referencesIn, shellVariable, type Values } from './references.ts';
import { oddName } from './yaml-faults.ts';

/** Faults of the references in a config or a part of it. A missing value under `lenientKeys` is only a warning. */
export function* referenceFaults(
  value: Json,
  values: Values,
  lenientKeys: readonly string[] = [],
): Generator<Fault> {
  for (const { part, path } of referencesIn(value)) {
    const inside = { index: part.index, length: part.length };
    if (part.kind === 'fault') {
      yield { ...error(path, part.message), inside };
      continue;
    }
    const resolved = values.resolve(part.reference);
    if (!('missing' in resolved)) continue;
    const severity = lenientKeys.includes(String(path[0])) ? warning : error;
    yield { ...severity(path, resolved.missing), inside };
  }
}

/** Oddities in values from a file that was written on Windows, or for a shell, which would remove the quotes and the comment, and fill in the variables. */
const oddities = [
  [/[\0\uFFFD]/, 'is not UTF-8 text; save it as UTF-8'],
  [/^\s/, 'begins with a space or a line break, which counts as a part of it'],
  [/\s$/, 'ends with a space or a line break, which counts as a part of it'],
  [/^(?:(["']).*\1|[“”„‘’‚].*[“”‘’])$/s, 'stands in quotes, which count as a part of it'],
  [/^\S+[ \t]+#[ \t].*$/, 'has a comment behind it, which counts as a part of it'],
  [
    new RegExp(String.raw`\$\{\w+\}|${shellVariable.source}`),
    'names another variable, which nothing replaces: write its value',
  ],
] as const;

/** Warns of variables and files with such values. */
export function* oddValues(value: Json, values: Values): Generator<Fault> {
  for (const { part, path } of referencesIn(value)) {
    if (part.kind === 'fault') continue;
    const { from, name } = part.reference;
    const resolved = values.resolve(part.reference);
    // Around JSON and keys, blanks are not part of the content.
    if ('missing' in resolved || /^\s*\{|^-----BEGIN/m.test(resolved.value)) continue;
    const [unseen] = oddInReferred(resolved.value, path) ?? [];
    const what =
      oddities.find(([odd]) => odd.test(resolved.value))?.[1] ??
      (unseen === undefined ? null : `has ${oddName(unseen)} in it`);
    const inside = { index: part.index, length: part.length };
    const source = from === 'file' ? `the file ${name}` : name;
    if (what) yield { ...warning(path, `the value of ${source} ${what}`), inside };
  }
}
