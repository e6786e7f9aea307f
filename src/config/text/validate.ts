import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { isMap, type Json } from '../../model.ts';
import { eventFieldNames } from '../../rules/fields.ts';
import { type Path, replaceAt, valueAt } from '../../support/json.ts';
import { closest, didYouMean, didYouMeanOneOf } from '../../support/text.ts';
import { withoutPasswords } from '../secrets/hidden.ts';
import { error, type Fault, type Report } from './problems.ts';
import {
  hasReference,
  interpolate,
  type interpolateText,
  mentionsReference,
  type Resolve,
} from './references.ts';
import { definitionOf, wording } from './wording.ts';
import { lacksSpace } from './yaml-faults.ts';

type Issue = z.core.$ZodIssue;

/** The parameters of all functions that read a part of the config. */
export interface Reading {
  readonly resolve: Resolve;
  readonly report: Report;
}

/**
 * The entries of a top section that is a map, such as `sinks`, each with its path. Reports a section that is none, and
 * names that the schema `names` refuses.
 */
export function* namedIn(
  section: string,
  raw: Json | undefined,
  expected: string,
  report: Report,
  names: z.ZodType = z.string(),
): Generator<{ readonly name: string; readonly written: Json; readonly path: Path }> {
  if (raw !== undefined && !isMap(raw)) report(error([section], expected));
  for (const [name, written] of Object.entries(isMap(raw) ? raw : {})) {
    const path = [section, name];
    const { error: fault } = names.safeParse(name);
    if (fault) report(error(path, `${fault.issues[0]?.message}, got "${name}"`, 'key'));
    yield { name, written, path };
  }
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

/** The message for an unknown key: where it belongs, or what was probably meant, or which keys there are. */
export function unknownKey(key: string, known: readonly string[], path: Path): string {
  const place = path.join('/');
  const name = key.includes('.') ? dotted : key;
  const moved = misplacedKeys.find(({ in: where, keys }) => where.test(place) && keys.includes(name));
  const elsewhere = moved?.belongs ?? spaceMissing(key) ?? ofTest(key, known) ?? ofLookup(key, known);
  const meant = elsewhere === null ? didYouMeanOneOf(key, known, 'there are no keys here') : `: ${elsewhere}`;
  return `unknown key "${key}"${meant}`;
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
  const text = withoutPasswords(JSON.stringify(value));
  return text.length > 60 ? `${text.slice(0, 57)}…"` : text;
}

/** The advice for a text such as `status:Completed`; null for other texts. */
const spaceMissing = (text: string): string | null =>
  lacksSpace.test(text) ? 'a space is missing after its ":"' : null;

/** The advice for `test_name` or `testName` among conditions, which mean a key of the catalog; null for other keys. */
function ofTest(key: string, known: readonly string[]): string | null {
  const [, name] = /^test(?:[_-]|(?=[A-Z]))(\w+)$/.exec(key) ?? [];
  if (name === undefined || !known.includes('test.<key>') || closest(key, known) !== null) return null;
  return `a key of the catalog is written with a dot, as test.${name.toLowerCase()}`;
}

/** The advice for `candidate: { score: … }` among conditions, where that is a look-up; null for other keys. */
function ofLookup(key: string, known: readonly string[]): string | null {
  const fact = known.find((one) => one.startsWith(`${key}.`));
  return fact === undefined ? null : `what is looked up is written with a dot, as ${fact}`;
}

/** Stands for any key such as `test.team` or `candidate.score`. */
const dotted = '*.*';
const ofDigest = ['every', 'at', 'by', 'max'];
const ofActions = ['sink', 'text', 'channel', 'to', 'subject', 'tab', 'row', 'body'];

const ofConditions = /(^|\/)when(\/|$)/;

/** Keys at places where they do not belong, and where they do, as the end of a sentence. */
const misplacedKeys = [
  { in: ofConditions, keys: ['and', '&&'], belongs: 'write "all" for conditions that must all hold' },
  { in: ofConditions, keys: ['or', '||'], belongs: 'write "any" for conditions of which one must hold' },
  { in: ofConditions, keys: ['min', 'max', 'between'], belongs: 'write gte for at least, lte for at most' },
  {
    in: ofConditions,
    keys: ['above', 'over', 'greaterThan', 'below', 'under', 'lessThan'],
    belongs: 'write gt for more than, lt for less than',
  },
  {
    in: ofConditions,
    keys: ['contains', 'includes', 'startsWith', 'endsWith'],
    belongs: "write matches, as in matches: Design, or matches: '^Design' for how it begins",
  },
  { in: ofConditions, keys: ['eq', 'equals', 'is'], belongs: 'write the value alone, as status: Completed' },
  {
    in: ofConditions,
    keys: ['ne', 'isNot', 'notIn'],
    belongs: 'write not, as in not: [Completed, Canceled]',
  },
  {
    in: ofConditions,
    keys: ['test'],
    belongs:
      'name the test by its id, as testId: 1234567, or by a key of its catalog entry, as test.name: Backend',
  },
  {
    in: /^rules\/\d+$/,
    keys: [...eventFieldNames, 'all', 'any', 'not', dotted],
    belongs: 'it is a condition: indent it below "when"',
  },
  {
    in: /^(alerts|summary)\//,
    keys: ['digest', ...ofDigest],
    belongs: 'alerts are not collected',
  },
  {
    in: /^(rules\/\d+|alerts\/\w+|summary)$/,
    keys: ofActions,
    belongs: 'it belongs to an action: write "then:" above it, and "- " before the first key of the action',
  },
  {
    in: /^(rules\/\d+|sinks\/[^/]+)$/,
    keys: ['hours', 'digest', ...ofActions],
    belongs: 'it belongs to an action under "then"',
  },
  {
    in: /^rules\/\d+\/then\/\d+$/,
    keys: ['final', 'silent', 'when'],
    belongs: 'it belongs to the rule, beside "then"',
  },
  {
    in: /^(rules\/\d+\/then|unmatched)\/\d+$/,
    keys: ofDigest,
    belongs: 'it belongs under "digest"',
  },
  {
    in: /\/then\/\d+$|^unmatched\/\d+$/,
    keys: ['retry', 'rate', 'concurrency', 'timeout', 'onUnknown'],
    belongs: 'it belongs to the sink',
  },
];

/**
 * The schema of a sink or action whose connector is unknown: it checks the common keys, and whether another key is a
 * misspelling of `naming`, the one that leads to the connector.
 */
export function withoutOwnKeys(common: z.ZodRawShape, naming: string, written: Json): z.ZodType {
  const keys = isMap(written) ? Object.keys(written) : [];
  const misspelt = keys.includes(naming)
    ? null
    : closest(
        naming,
        keys.filter((key) => !Object.hasOwn(common, key)),
      );
  if (misspelt === null) return z.looseObject(common);
  const others = keys.filter((key) => key !== misspelt && !Object.hasOwn(common, key));
  return z.strictObject({ ...common, ...Object.fromEntries(others.map((key) => [key, z.unknown()])) });
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
