import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { isMap, type Json } from '../../model.ts';
import { type Path, replaceAt, valueAt } from '../../support/json.ts';
import { closest, didYouMean } from '../../support/text.ts';
import { spaceMissing, unknownKey } from '../advice/keys.ts';
import { withoutCredentials } from '../secrets/hidden.ts';
import { error, type Fault, type Report } from './problems.ts';
import {
  hasReference,
  interpolate,
  type interpolateText,
  mentionsReference,
  type Resolve,
} from './references.ts';
import { definitionOf, wording } from './wording.ts';

type Issue = z.core.$ZodIssue;

/** The parameters of all functions that read a part of the config. */
export interface Reading {
  readonly resolve: Resolve;
  readonly report: Report;
}

interface Section {
  readonly schema: z.ZodType;
  /** The part as written, with references. */
  readonly raw: Json;
  /** The part's path in the config. */
  readonly path: Path;
  /** Chooses how to interpolate the strings under a key. Default: as plain text. */
  readonly textOf?: (key: string) => typeof interpolateText;
}

/** Checks a part of the config by its schema, or reports one fault for each mistake and returns undefined. */
export function validate<S extends z.ZodType>(
  part: Section & { schema: S },
  reading: Reading,
): z.output<S> | undefined {
  const { schema, raw } = part;
  const value = interpolatePart(part, reading.resolve);
  const first = schema.safeParse(value, { error: wording });
  if (first.success) return first.data;
  const typed = withTypes(raw, value, first.error.issues.flatMap(innermost));
  const second = schema.safeParse(typed, { error: wording });
  if (second.success) return second.data;
  for (const fault of faultsOf(second.error.issues.flatMap(innermost), part)) reading.report(fault);
  return undefined;
}

function interpolatePart({ raw, textOf }: Section, resolve: Resolve): Json {
  if (!textOf || !isMap(raw) || !mentionsReference(raw)) return interpolate(raw, resolve);
  const parts = Object.entries(raw).map(([key, value]) =>
    interpolate({ [key]: value }, resolve, textOf(key)),
  );
  return Object.assign({}, ...parts) as Json;
}

/**
 * Reads text that a reference gives, and that was refused, as YAML reads numbers and true/false. So `port: ${PORT}` works,
 * and a token of digits stays text.
 */
function withTypes(raw: Json, value: Json, issues: readonly Issue[]): Json {
  let result = value;
  for (const { path } of issues) {
    const written = valueAt(raw, path as Path);
    const text = valueAt(value, path as Path);
    if (typeof written !== 'string' || typeof text !== 'string' || !hasReference(written)) continue;
    if (isBare(text)) result = replaceAt(result, path as Path, parseYaml(text) as Json);
  }
  return result;
}

/** The issues inside an issue of a union or of a key. For a union: those of the alternative that was probably meant. */
function innermost(issue: Issue): Issue[] {
  if (issue.code === 'invalid_key')
    return issue.issues.map((inner) => Object.assign({}, inner, { path: issue.path, onKey: true }));
  if (issue.code !== 'invalid_union') return [issue];
  const meant = (issue.errors as Issue[][])
    .map((errors) => errors.flatMap(innermost))
    .filter((errors) => errors.length > 0 && !errors.some(isOfAnotherType))
    .toSorted((a, b) => a.length - b.length)[0];
  return meant?.map((inner) => Object.assign({}, inner, { path: [...issue.path, ...inner.path] })) ?? [issue];
}

/** Whether the value has another type than this alternative of a union expects. */
const isOfAnotherType = ({ code, path }: Issue): boolean =>
  path.length === 0 && (code === 'invalid_type' || code === 'invalid_value' || code === 'invalid_union');

const join = (path: readonly PropertyKey[]): string => path.map(String).join('\0');

/** Makes faults of issues. A misspelt key is reported once: not also as a missing key or a failed check of the map. */
function faultsOf(issues: readonly Issue[], part: Section): Fault[] {
  const maps = new Set<string>();
  const meant = new Set<string>();
  const unknown = issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [];
    const { known = [] } = issue as { known?: string[] };
    maps.add(join(issue.path));
    return issue.keys.map((key) => {
      meant.add(join([...issue.path, closest(key, known) ?? '']));
      const path = [...part.path, ...(issue.path as Path)];
      return error([...path, key], unknownKey(key, known, path), 'key');
    });
  });
  const isMissing = (path: Issue['path']) => valueAt(part.raw, path as Path) === undefined;
  const others = issues.filter(
    ({ code, path }) =>
      code !== 'unrecognized_keys' &&
      !(meant.has(join(path)) && isMissing(path)) &&
      !(code === 'custom' && maps.has(join(path))),
  );
  return [...unknown, ...others.map((issue) => toFault(issue, part))];
}

function toFault(issue: Issue, { raw, path: base, schema }: Section): Fault {
  const inner = issue.path as Path;
  const path = [...base, ...inner];
  if ((issue as { onKey?: boolean }).onKey) return error(path, issue.message, 'key');
  const written = valueAt(raw, inner);
  const last = inner.at(-1);
  if (written === undefined && last !== undefined)
    return error(path.slice(0, -1), `"${last}" is missing: ${issue.message}`, 'key');
  const got = isSecretAt(schema, inner) ? '' : instead(issue, written);
  return error(path, issue.message + got + suggestion(issue, written));
}

/** What the config has instead, as the end of a sentence. The value of a reference is not shown. */
function instead({ code, message }: Issue, written: Json | undefined): string {
  if (!message.startsWith('expected ')) return '';
  if (typeof written === 'string' && hasReference(written)) return `, which ${written} does not give`;
  // Where something in a map or list of the right type is wrong, "got a map" would not help.
  const isOfType = !['invalid_type', 'invalid_union', 'invalid_value'].includes(code);
  return isOfType && typeof written === 'object' && written !== null ? '' : `, got ${show(written)}`;
}

function suggestion(issue: Issue, written: Json | undefined): string {
  if (/\btext$/.test(issue.message) && (typeof written === 'number' || typeof written === 'boolean'))
    return '; put it in quotes';
  // Where the message says what to write, the nearest word may be the opposite of what was meant.
  if (typeof written !== 'string' || issue.message.includes('(write ')) return '';
  if (issue.code === 'invalid_type' && issue.expected === 'object' && spaceMissing(written) !== null)
    return `; ${spaceMissing(written)}`;
  if (issue.code === 'invalid_type' && ['boolean', 'number'].includes(issue.expected) && isBare(written))
    return '; leave the quotes out';
  if (issue.code === 'invalid_value') return didYouMean(written, issue.values.map(String));
  if (issue.code === 'custom')
    return didYouMean(written, (issue.params?.['candidates'] as string[] | undefined) ?? []);
  if (issue.code !== 'invalid_union') return '';
  const values = (issue.errors as Issue[][])
    .flat()
    .flatMap((inner) => (inner.code === 'invalid_value' ? inner.values.map(String) : []));
  return didYouMean(written, values);
}

/** Whether YAML reads this text, without quotes, as a number or as true or false. */
const isBare = (text: string): boolean => /^(-?\d+(\.\d+)?|true|false)$/.test(text);

function show(value: Json | undefined): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  const text = withoutCredentials(JSON.stringify(value));
  return text.length > 60 ? `${text.slice(0, 57)}…"` : text;
}

/**
 * The schema of a sink or action whose connector is unknown: it checks the common keys, and whether another key is a
 * misspelling of `naming`, the one that leads to the connector.
 */
export function withoutOwnKeys(common: z.ZodRawShape, naming: string, written: Json): z.ZodType {
  const keys = isMap(written) ? Object.keys(written) : [];
  const others = keys.filter((key) => !Object.hasOwn(common, key));
  const misspelt = keys.includes(naming) ? null : closest(naming, others);
  if (misspelt === null) return z.looseObject(common);
  const own = others.filter((key) => key !== misspelt).map((key) => [key, z.unknown()] as const);
  return z.strictObject({ ...common, ...Object.fromEntries(own) });
}

/** Whether the schema has a credential at this path. Its value must not be shown. */
function isSecretAt(schema: z.core.$ZodType | undefined, path: readonly PropertyKey[]): boolean {
  const def = definitionOf(schema);
  if (!schema || !def) return false;
  if (z.globalRegistry.get(schema)?.['secret'] === true) return true;
  const sameLevel = [def.innerType, def.in, def.out, def.getter?.(), ...(def.options ?? [])];
  if (sameLevel.some((inner) => inner && isSecretAt(inner, path))) return true;
  const [key, ...rest] = path;
  if (key === undefined) return false;
  const below = [def.shape?.[String(key)], def.element, def.valueType];
  return below.some((inner) => inner && isSecretAt(inner, rest));
}
