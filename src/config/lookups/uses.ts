import type { JsonMap } from '../../model.ts';
import type { When } from '../../rules/conditions.ts';
import { findField, type LookupFields } from '../../rules/fields.ts';
import { strings } from '../../support/json.ts';
import { memo, tagsIn } from '../../support/text.ts';

/** The look-ups whose facts a `when` asks for, by name. */
export function* lookupsOfWhen(when: When, lookups: LookupFields): Generator<string> {
  for (const [key, operand] of Object.entries(when)) {
    if (key === 'all' || key === 'any')
      for (const one of operand as When[]) yield* lookupsOfWhen(one, lookups);
    else if (key === 'not') yield* lookupsOfWhen(operand as When, lookups);
    else yield* lookupsOfFields([key], lookups);
  }
}

export const lookupsOfFields = (names: readonly string[], lookups: LookupFields): string[] =>
  names.flatMap((name) => findField(name, lookups)?.fact?.lookup ?? []);

/** The look-ups that templates name. A word in a text of theirs may be taken for a name, which does no harm. */
export function lookupsOfTemplates(fields: JsonMap, lookups: LookupFields): string[] {
  if (lookups.size === 0) return [];
  const words = new Set(strings(fields).flatMap(({ text }) => wordsIn(text)));
  return [...lookups].flatMap(([name, { fields: known }]) => {
    // Of a test, most is the catalog's.
    const names = name === 'test' ? Array.from(known.keys(), (key) => `test.${key}`) : [name];
    return names.some((one) => words.has(one)) ? [name] : [];
  });
}

/** What the tags of a text name: `candidate` of `event.candidate.name`, but not of `links.candidate`; `test.level`. */
const wordsIn = memo(1000, (text): readonly string[] =>
  [...tagsIn(text)].flatMap(({ part }) =>
    Array.from(part.matchAll(/(?<!\blinks\.)\b(?:test\.[\w-]+|[a-z][a-z0-9_]*)\b/g), ([word]) => word),
  ),
);
