import type { Json } from '../../model.ts';
import { strings } from '../../support/json.ts';
import { error, type Fault, warning } from './problems.ts';
import { mentionsReference, partsOf, type Values } from './references.ts';

/** Faults of the references in a config or a part of it. A missing value under `lenientKeys` is only a warning. */
export function referenceFaults(value: Json, values: Values, lenientKeys: readonly string[] = []): Fault[] {
  return strings(value, [], mentionsReference).flatMap(({ text, path }) =>
    partsOf(text).flatMap((part) => {
      const resolved = part.kind === 'reference' ? values.resolve(part.reference) : part;
      const message = 'missing' in resolved ? resolved.missing : part.kind === 'fault' ? part.message : null;
      if (message === null) return [];
      const isLenient = 'missing' in resolved && lenientKeys.includes(String(path[0]));
      const fault = isLenient ? warning(path, message) : error(path, message);
      return [{ ...fault, inside: { index: part.index, length: part.length } }];
    }),
  );
}

/** Oddities in values from a file of variables that was written on Windows, or for a shell, which would remove the quotes. */
const oddities = [
  [/^\s/, 'begins with a space or a line break, which counts as a part of it'],
  [/\s$/, 'ends with a space or a line break, which counts as a part of it'],
  [/^(["']).*\1$/s, 'stands in quotes, which count as a part of it'],
] as const;

export const oddValues = (value: Json, values: Values): Fault[] =>
  strings(value, [], mentionsReference).flatMap(({ text, path }) =>
    partsOf(text).flatMap((part) => {
      if (part.kind !== 'reference' || part.reference.from === 'file') return [];
      const resolved = values.resolve(part.reference);
      const given = 'value' in resolved ? resolved.value : '';
      // Around JSON and keys, blanks are not part of the content.
      const what = /^\s*(?:\{|-----BEGIN)/.test(given)
        ? undefined
        : oddities.find(([odd]) => odd.test(given))?.[1];
      const message = `the value of ${part.reference.name} ${what}`;
      return what ? [{ ...warning(path, message), inside: { index: part.index, length: part.length } }] : [];
    }),
  );
