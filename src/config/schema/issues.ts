import type { z } from 'zod';
import type { Json } from '../../model.ts';
import { closest, didYouMean, didYouMeanOneOf } from '../../suggest.ts';
import type { Fault, Path } from '../fault.ts';
import { error } from '../fault.ts';
import { hasReference } from '../references/references.ts';
import { valueAt } from '../walk.ts';
import { misplaced } from './misplaced.ts';
import { isSecretAt } from './schema-walk.ts';

type Issue = z.core.$ZodIssue;

/** A part of the config as written, references unresolved, and where it stands. */
interface Written {
  readonly raw: Json;
  readonly path: Path;
  readonly schema: z.ZodType;
}

/** Zod's issues as faults of the config, one for each mistake. */
export function issueFaults(issues: readonly Issue[], written: Written): Fault[] {
  return withoutConsequences(issues).map((finding) => toFault(finding, written));
}

/** The issues that say what is wrong, not around what: those of the union's alternative that was meant, those of a key. */
export function mainIssues(result: z.ZodError): Issue[] {
  return result.issues.flatMap((issue) => innermost(issue));
}

function innermost(issue: Issue): Issue[] {
  if (issue.code === 'invalid_key')
    return issue.issues.map((inner) => ({ ...moved(inner, issue.path), onKey: true }));
  if (issue.code !== 'invalid_union') return [issue];
  const meant = (issue.errors as Issue[][])
    .map((errors) => errors.flatMap((inner) => innermost(inner)))
    .filter((errors) => errors.length > 0 && !errors.some(isOtherShape))
    .toSorted((a, b) => a.length - b.length)[0];
  return meant?.map((inner) => moved(inner, [...issue.path, ...inner.path])) ?? [issue];
}

const moved = (issue: Issue, path: PropertyKey[]): Issue => ({ ...issue, path });

/** True if the value is another kind of thing than this alternative of a union wants. */
const isOtherShape = ({ code, path }: Issue): boolean =>
  path.length === 0 && (code === 'invalid_type' || code === 'invalid_value' || code === 'invalid_union');

interface Finding {
  readonly issue: Issue;
  /** For an unknown key: its name and what it was probably meant to be. */
  readonly key?: string;
  readonly known?: readonly string[];
}

/** A misspelt key does not count again as the missing of the right one, nor as what a map lacks without it. */
function withoutConsequences(issues: readonly Issue[]): Finding[] {
  const unknown = issues.flatMap((issue): Finding[] => {
    if (issue.code !== 'unrecognized_keys') return [];
    const { known = [] } = issue as { known?: string[] };
    return issue.keys.map((key) => ({ issue, key, known }));
  });
  const maps = new Set(unknown.map(({ issue }) => join(issue.path)));
  const meant = new Set(
    unknown.map(({ issue, key = '', known = [] }) => join([...issue.path, closest(key, known) ?? ''])),
  );
  const others = issues.filter(
    ({ code, path }) =>
      code !== 'unrecognized_keys' && !meant.has(join(path)) && !(code === 'custom' && maps.has(join(path))),
  );
  return [...unknown, ...others.map((issue) => ({ issue }))];
}

const join = (path: readonly PropertyKey[]): string => path.map(String).join('\0');

function toFault({ issue, key, known = [] }: Finding, { raw, path: base, schema }: Written): Fault {
  const inner = issue.path as Path;
  const path = [...base, ...inner];
  if (key !== undefined) return error([...path, key], unknownKey(key, known, path), 'key');
  if ((issue as { onKey?: boolean }).onKey) return error(path, issue.message, 'key');
  const written = valueAt(raw, inner);
  const last = inner.at(-1);
  if (written === undefined && last !== undefined)
    return error(path.slice(0, -1), `"${last}" is missing: ${issue.message}`, 'key');
  const got = isSecretAt(schema, inner) ? '' : instead(issue, written);
  return error(path, issue.message + got + suggestion(issue, written));
}

/** Says of an unknown key where it belongs, or what was probably meant, or what there is. */
export function unknownKey(key: string, known: readonly string[], path: Path): string {
  const elsewhere = misplaced(path, key);
  const meant = elsewhere === null ? didYouMeanOneOf(key, known, 'there are no keys here') : `: ${elsewhere}`;
  return `unknown key "${key}"${meant}`;
}

/** A map or list of the right kind with something wrong in it is not shown as what is there instead. */
const isAboutInside = ({ code }: Issue, written: Json | undefined): boolean =>
  typeof written === 'object' &&
  written !== null &&
  code !== 'invalid_type' &&
  code !== 'invalid_union' &&
  code !== 'invalid_value';

/** What is there instead of what was expected; what a reference stands for is not shown. */
function instead(issue: Issue, written: Json | undefined): string {
  if (!issue.message.startsWith('expected ') || isAboutInside(issue, written)) return '';
  if (typeof written === 'string' && hasReference(written)) return `, which ${written} does not give`;
  return `, got ${show(written)}`;
}

function suggestion(issue: Issue, written: Json | undefined): string {
  if (typeof written !== 'string') return '';
  if (issue.code === 'invalid_value') return didYouMean(written, issue.values.map(String));
  if (issue.code === 'custom')
    return didYouMean(written, (issue.params?.['candidates'] as string[] | undefined) ?? []);
  if (issue.code !== 'invalid_union') return '';
  const values = (issue.errors as Issue[][])
    .flat()
    .flatMap((inner) => (inner.code === 'invalid_value' ? inner.values.map(String) : []));
  return didYouMean(written, values);
}

function show(value: Json | undefined): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}…"` : text;
}
