import { z } from 'zod';
import { isMap, type Json, type JsonMap } from '../model.ts';
import { show } from '../rules/conditions.ts';
import { type LookupFields, testKeys } from '../rules/fields.ts';
import type { Plan } from '../rules/plan.ts';
import { type Path, strings, textAt, valueAt } from '../support/json.ts';
import { didYouMean, firstListed, memo, partAlike } from '../support/text.ts';
import type { KnownValues } from '../templates/slips.ts';
import { entries, type PlanSource, ruleActions } from './plan-source.ts';
import { namedIn } from './text/named.ts';
import { type Fault, warning } from './text/problems.ts';
import { hasReference } from './text/references.ts';
import { type Reading, validate } from './text/validate.ts';

export const testIdKey = z
  .string()
  .refine((key) => /^(0|-?[1-9]\d*)$/.test(key) && Number.isSafeInteger(Number(key)), {
    error: 'expected a test id: a whole number',
  });

const json: z.ZodType = z.json();

export const catalogEntry = z
  .object(
    {
      name: z.string().min(1).optional().describe('What you call the test.'),
      owner: z
        .string({
          error: ({ input }) =>
            Array.isArray(input) ? 'expected text (write several in one, with commas between)' : undefined,
        })
        .min(1)
        .optional()
        .describe('Whose test it is; an email address, for instance, or several with commas.'),
      channel: z.string().min(1).optional().describe('Where its news goes; a channel, for instance.'),
    } satisfies { readonly [key in Exclude<(typeof testKeys)[number], 'id'>]: z.ZodType },
    {
      error: ({ input }) =>
        typeof input === 'string' ? `expected a map: write { name: ${input} }` : undefined,
    },
  )
  .catchall(json);

/** Reads the catalog. `keys`: those of any entry, and the fields of the look-up `test`. */
export function readCatalog(raw: Json | undefined, lookups: LookupFields, reading: Reading) {
  const tests = new Map<string, JsonMap>();
  const table = typeof raw === 'string' && !raw.includes('${') ? `: write { file: ${raw} } for a table` : '';
  const catalog = {
    section: 'catalog',
    is: `a map from test ids to what they mean${table}`,
    names: testIdKey,
  };
  for (const { name: id, written, path } of namedIn(raw, catalog, reading.report)) {
    const entry = validate({ schema: catalogEntry, raw: written, path }, reading);
    if (entry) tests.set(id, entry as JsonMap);
  }
  const keys: ReadonlySet<string> = new Set([
    ...testKeys,
    ...[...tests.values()].flatMap(Object.keys),
    ...(lookups.get('test')?.fields.keys() ?? []),
  ]);
  return { tests, keys };
}

/** The name of a test in a config as written, with references as they stand; empty if it has none. */
export const catalogName = (config: Json, testId: string | number): string =>
  textAt(valueAt(config, ['catalog', String(testId)]), 'name').replaceAll('$${', () => '${');

/** Looks up an entry by its test's id. An entry has every key that any entry has; null where it says nothing. */
export function testLookup({
  tests,
  keys,
}: Pick<ReturnType<typeof readCatalog>, 'tests' | 'keys'>): Plan['test'] {
  const empty = Object.fromEntries([...keys].map((key) => [key, null]));
  const known = new Map(
    [...tests].map(([id, entry]) => [Number(id), { ...empty, ...entry, id: Number(id) }]),
  );
  return (testId) => known.get(testId) ?? { ...empty, id: testId };
}

/**
 * Warns of conditions that never hold, and of digest fields without effect, as the catalog has no such test or key. `further`:
 * conditions besides those of rules. `isFaulty`: something else is told of the catalog, from which follows that it is empty.
 */
export function checkCatalogUse(
  source: PlanSource,
  further: readonly { readonly when: Json; readonly path: Path }[],
  isFaulty: boolean,
): Fault[] {
  const { catalog, rules } = source;
  const looked = lookedUp(source);
  const digestFields = ruleActions(source).flatMap(({ action, path }) =>
    strings(valueAt(action, ['digest', 'by']) ?? null, [...path, 'digest', 'by']),
  );
  const ofRules = entries(rules).map(([index, rule]) => ({
    when: valueAt(rule, ['when']) ?? null,
    path: ['rules', index, 'when'],
  }));
  const conditions = [...ofRules, ...further].flatMap((one) => Array.from(conditionsOf(one.when, one.path)));
  if (!isMap(catalog) || Object.keys(catalog).length === 0) {
    if (isFaulty) return [];
    const why = isMap(catalog) ? 'the catalog has no tests' : 'there is no catalog';
    const empty = (key: string, path: Path, at: Fault['at']): Fault[] =>
      ['id', null, ...looked].includes(testKeyOf(key))
        ? []
        : [warning(path, `${why}, so "${key}" has no values`, at)];
    return [
      ...conditions.flatMap(({ key, path }) => empty(key, path, 'key')),
      ...digestFields.flatMap(({ text, path }) => empty(text, path, 'value')),
    ];
  }
  const tests = Object.values(catalog).filter(isMap);
  const keys = [...new Set([...testKeys, ...tests.flatMap(Object.keys), ...looked])];
  const unknownKey = (key: string, path: Path, at: Fault['at']): Fault[] => {
    const name = testKeyOf(key);
    if (name === null || keys.includes(name)) return [];
    return [warning(path, `no entry of the catalog has "${name}"${didYouMean(name, keys)}`, at)];
  };
  const whyNoTest = noTestBy(source);
  const textsOf = memo(100, (name) => {
    const texts = Object.entries(catalog).flatMap(([id, test]) => {
      const text = valueAt(test, [name]);
      return typeof text === 'string' ? [{ id, text }] : [];
    });
    const first = texts.find(({ text }) => !isNumber(text));
    // As a table writes a column in which one cell is no number.
    return first && { ...first, takesAll: texts.some(({ text }) => isNumber(text)) };
  });
  const ofConditions = conditions.flatMap(({ key, value, path }) => {
    const unknown = unknownKey(key, path, 'key');
    if (unknown.length > 0) return unknown;
    const unlisted = named(value, path).flatMap((given) => {
      const why = whyNoTest({ key, value: given.value, isPart: false });
      return why === null ? [] : [warning(given.path, why)];
    });
    const name = testKeyOf(key);
    if (name === null || name === 'id' || looked.includes(name)) return unlisted;
    return unlisted.concat(notNumbers(name, value, path, textsOf(name)));
  });
  return [...ofConditions, ...digestFields.flatMap(({ text, path }) => unknownKey(text, path, 'value'))];
}

const testKeyOf = (field: string): string | null => /^test\.(.+)$/.exec(field)?.[1] ?? null;

interface ConditionValue {
  readonly value: Json;
  readonly path: Path;
}

/** The conditions of a `when`, including those inside `all`, `any` and `not`. */
function* conditionsOf(when: Json, path: Path): Generator<ConditionValue & { readonly key: string }> {
  for (const [index, inner] of entries(when)) yield* conditionsOf(inner, [...path, index]);
  if (!isMap(when)) return;
  for (const [key, value] of Object.entries(when)) {
    if (key === 'all' || key === 'any' || key === 'not') yield* conditionsOf(value, [...path, key]);
    else yield { key, value, path: [...path, key] };
  }
}

/** The values that a condition names, each with its path. */
function named(value: Json, path: Path): ConditionValue[] {
  if (Array.isArray(value)) return entries(value).flatMap(([index, inner]) => named(inner, [...path, index]));
  if (!isMap(value)) return [{ value, path }];
  return ['in', 'not'].flatMap((key) => (key in value ? named(value[key] ?? null, [...path, key]) : []));
}

/** The fields that the look-up `test` adds to the catalog. */
function lookedUp({ lookups }: PlanSource): string[] {
  const fields = valueAt(lookups ?? null, ['test', 'fields']);
  return isMap(fields) ? Object.keys(fields) : [];
}

export function noTestBy(source: PlanSource): KnownValues['whyNoTest'] {
  const catalog = isMap(source.catalog) ? source.catalog : {};
  const ids = new Set(Object.keys(catalog));
  const ofLookup = new Set(lookedUp(source));
  const tests = Object.values(catalog).filter(isMap);
  const valuesOf = memo(100, (name) => new Set(tests.flatMap((test) => [test[name] ?? []].flat())));
  return ({ key, value, isPart }) => {
    const wanted = show(value);
    const name = testKeyOf(key);
    if (ids.size === 0 || hasReference(wanted)) return null;
    if (['testId', 'test.id'].includes(key) && typeof value === 'number' && !ids.has(wanted))
      return `the catalog has no test ${wanted}${didYouMean(wanted, ids)}`;
    if (name === null || name === 'id' || ofLookup.has(name)) return null;
    const all = valuesOf(name);
    const hasPart = (one: Json) => typeof one === 'string' && one.includes(wanted);
    if (all.has(value) || (isPart && all.values().some(hasPart))) return null;
    // Only made where needed: a large catalog has many.
    const words = Array.from(all, String);
    if (words.some(hasReference)) return null;
    const same = [...all].find((listed) => show(listed) === wanted);
    if (same !== undefined)
      return `no test has ${name} "${wanted}" as ${kindOf(value)}; in the catalog it is ${kindOf(same)}`;
    const meant = isPart ? partAlike(wanted, words) : longer(wanted, words);
    const hint = meant === null ? didYouMean(wanted, words) : `; did you mean "${meant}"?`;
    const others =
      words.length === 0 ? '' : `; there ${words.length === 1 ? 'is' : 'are'} ${firstListed(words, 5)}`;
    const what = isPart ? `"${wanted}" in its ${name}` : `${name} "${wanted}"`;
    return `no test has ${what}${hint || others}`;
  };
}

const longer = (start: string, words: readonly string[]): string | null =>
  words.find((word) => word.toLowerCase().startsWith(start.toLowerCase())) ?? null;

/** The first text of a catalog's key that is no number, and whether it makes texts of numbers beside it. */
interface TextOfKey {
  readonly id: string;
  readonly text: string;
  readonly takesAll: boolean;
}

const isNumber = (text: string): boolean => text.trim() !== '' && Number.isFinite(Number(text));

/** Warns of a comparison with a number under a key that has a text, as "62,5" is. */
function notNumbers(name: string, value: Json, path: Path, found: TextOfKey | undefined): Fault[] {
  const compares = ['gt', 'gte', 'lt', 'lte'].some((key) => typeof valueAt(value, [key]) === 'number');
  if (!compares || !found || hasReference(found.text)) return [];
  const { id, text, takesAll } = found;
  const column = takesAll ? ', and in a table that makes text of all its column' : '';
  const number = text.trim().replace(',', '.');
  const hint = isNumber(number) ? `; write ${number}` : '';
  const never = takesAll ? 'this never holds' : 'this never holds for it';
  return [warning(path, `${name} of test ${id} is "${text}", which is no number${column}: ${never}${hint}`)];
}

/** The type of a value: with quotes, YAML makes a text of a number. */
const kindOf = (value: Json): string => (typeof value === 'string' ? 'text' : `a ${typeof value}`);
