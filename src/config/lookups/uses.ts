import type { JsonMap } from '../../model.ts';
import { conditionsIn, type When } from '../../rules/conditions.ts';
import { findField, type LookupFields } from '../../rules/fields.ts';
import { strings } from '../../support/json.ts';
import { memo, tagsIn } from '../../support/text.ts';

/** The names of the look-ups whose facts a `when` asks for. */
export const lookupsOfWhen = (when: When, lookups: LookupFields): string[] =>
  lookupsOfFields(
    Array.from(conditionsIn(when), ([field]) => field),
    lookups,
  );

/** The names of the look-ups that have these fields. Other fields are ignored. */
export const lookupsOfFields = (names: readonly string[], lookups: LookupFields): string[] =>
  names.flatMap((name) => findField(name, lookups)?.fact?.lookup ?? []);

/** The look-ups that templates name. Quoted text that looks like a name counts, too, which does no harm. */
export function lookupsOfTemplates(fields: JsonMap, lookups: LookupFields): string[] {
  if (lookups.size === 0) return [];
  const words = new Set(strings(fields).flatMap(({ text }) => wordsIn(text)));
  return [...lookups].flatMap(([name, { fields: known }]) => {
    // Most of what templates say of `test` comes from the catalog.
    const names = name === 'test' ? Array.from(known.keys(), (key) => `test.${key}`) : [name];
    return names.some((one) => words.has(one)) ? [name] : [];
  });
}

/** The names in the tags of a text: `candidate` in `event.candidate.name`, but not in `links.candidate`; `test.level`. */
const wordsIn = memo(1000, (text): readonly string[] =>
  [...tagsIn(text)].flatMap(({ part }) =>
    Array.from(part.matchAll(/(?<!\blinks\.)\b(?:test\.[\w-]+|[a-z][a-z0-9_]*)\b/g), ([word]) => word),
  ),
);
