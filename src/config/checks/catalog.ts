import { isMap, type Json } from '../../model.ts';
import { testKeys } from '../../rules/fields.ts';
import { didYouMean } from '../../suggest.ts';
import type { Fault, Path } from '../fault.ts';
import { warning } from '../fault.ts';
import type { PlanSource } from '../plan-source.ts';
import { entries, ruleActions } from '../plan-source.ts';
import { strings, valueAt } from '../walk.ts';

/** Conditions that can never hold, and digests that nothing tells apart, because the catalog lacks what they ask for. */
export function checkCatalogUse(source: PlanSource): Fault[] {
  const { catalog, rules } = source;
  if (!isMap(catalog) || Object.keys(catalog).length === 0) return digestFields(source).flatMap(ofNoCatalog);
  const ids = Object.keys(catalog);
  const keys = [
    ...testKeys,
    ...Object.values(catalog).flatMap((entry) => (isMap(entry) ? Object.keys(entry) : [])),
  ];
  const ofRules = entries(rules).flatMap(([index, rule]) => {
    const conditions = isMap(rule) ? [...conditionsOf(rule['when'] ?? null, ['rules', index, 'when'])] : [];
    return conditions.flatMap(({ key, value, path }) =>
      key === 'testId' ? unknownIds(value, path, ids) : unknownKey(key, path, keys, 'key'),
    );
  });
  return [...ofRules, ...digestFields(source).flatMap(({ field, path }) => unknownKey(field, path, keys))];
}

/** A field by which digests are told apart. */
interface DigestField {
  readonly field: string;
  readonly path: Path;
}

function ofNoCatalog({ field, path }: DigestField): Fault[] {
  if (!field.startsWith('test.') || field === 'test.id') return [];
  return [warning(path, `there is no catalog, so "${field}" tells nothing apart`)];
}

function digestFields(source: PlanSource): DigestField[] {
  return ruleActions(source).flatMap(({ action, path }) => {
    const by = valueAt(action, ['digest', 'by']);
    return [...strings(by ?? null)].map((one) => ({
      field: one.text,
      path: [...path, 'digest', 'by', ...one.path],
    }));
  });
}

function unknownIds(value: Json, path: Path, ids: readonly string[]): Fault[] {
  if (isMap(value))
    return Object.entries(value).flatMap(([operator, inner]) =>
      /^(in|not)$/.test(operator) ? unknownIds(inner, [...path, operator], ids) : [],
    );
  if (Array.isArray(value))
    return entries(value).flatMap(([index, inner]) => unknownIds(inner, [...path, index], ids));
  if (typeof value !== 'number' || ids.includes(String(value))) return [];
  return [warning(path, `the catalog has no test ${value}${didYouMean(String(value), ids)}`)];
}

function unknownKey(key: string, path: Path, keys: readonly string[], at: Fault['at'] = 'value'): Fault[] {
  const name = /^test\.(.+)$/.exec(key)?.[1];
  if (name === undefined || keys.includes(name)) return [];
  return [warning(path, `no entry of the catalog has "${name}"${didYouMean(name, keys)}`, at)];
}

interface Condition {
  readonly key: string;
  readonly value: Json;
  readonly path: Path;
}

/** The conditions of a `when`, those inside of `all`, `any` and `not` included. */
function* conditionsOf(when: Json, path: Path): Generator<Condition> {
  if (Array.isArray(when))
    for (const [index, inner] of entries(when)) yield* conditionsOf(inner, [...path, index]);
  if (!isMap(when)) return;
  for (const [key, value] of Object.entries(when)) {
    if (key === 'all' || key === 'any' || key === 'not') yield* conditionsOf(value, [...path, key]);
    else yield { key, value, path: [...path, key] };
  }
}
