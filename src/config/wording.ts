import { z } from 'zod';
import { orList } from '../support/text.ts';

type Issue = z.core.$ZodRawIssue;

/** Zod's issues in the words of this project. Text that begins with "expected" is later told what was there instead. */
export function wording(issue: Issue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${issue.expected === 'int' ? 'a whole number' : expectedOf(issue)}`;
    case 'invalid_value':
      return `expected ${values(issue.values)}`;
    case 'invalid_union':
      return `expected ${expectedOf(issue)}`;
    case 'too_small':
      return atLeast(issue);
    case 'too_big':
      return atMost(issue);
    case 'invalid_format':
      return `expected ${formats[issue.format] ?? `text that matches ${issue.pattern ?? issue.format}`}`;
    case 'unrecognized_keys':
      // Zod keeps what is put on the issue; the converter suggests from it.
      (issue as { known?: string[] }).known = Object.keys(definitionOf(issue.inst)?.shape ?? {});
      return undefined;
    default:
      return undefined;
  }
}

function expectedOf(issue: Issue): string {
  const schema = issue.schema ?? issue.inst;
  return schema ? describe(schema as z.core.$ZodType) : String(issue['expected']);
}

/** What a schema accepts, as a noun: "text", "a list of whole numbers". */
function describe(schema: z.core.$ZodType): string {
  return orList([...new Set(alternatives(schema, 0))]);
}

function alternatives(schema: z.core.$ZodType, depth: number): string[] {
  const def = definitionOf(schema);
  if (!def || depth > 6) return ['a value'];
  if (def.type === 'union') return (def.options ?? []).flatMap((option) => alternatives(option, depth + 1));
  if (def.type === 'enum') return Object.values(def.entries ?? {}).map(String);
  if (def.type === 'literal') return (def.values ?? []).map(String);
  if (def.type === 'lazy' && def.getter) return alternatives(def.getter(), depth + 1);
  const inner = def.innerType ?? (def.type === 'pipe' && isTransform(def.in) ? def.out : def.in);
  if (inner) return alternatives(inner, depth + 1);
  return [def.type === 'number' && def.format ? 'a whole number' : (nouns[def.type] ?? 'a value')];
}

const isTransform = (schema: z.core.$ZodType | undefined): boolean =>
  definitionOf(schema)?.type === 'transform';

const nouns: Record<string, string> = {
  string: 'text',
  template_literal: 'text',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  object: 'a map',
  record: 'a map',
  null: 'nothing',
};

const formats: Record<string, string> = {
  email: 'an email address',
  url: 'a URL',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  uuid: 'a UUID',
  safeint: 'a whole number',
};

const values = (list: readonly unknown[]): string => orList(list.map(String));

const units: Record<string, string> = { string: 'character', array: 'entry', set: 'entry' };

interface Limit {
  readonly origin: string;
  readonly inclusive?: boolean | undefined;
}

function atLeast({ origin, minimum, inclusive }: Limit & { readonly minimum: number | bigint }): string {
  const unit = units[origin];
  if (unit && Number(minimum) === 1)
    return origin === 'string' ? 'expected text that is not empty' : 'expected at least one entry';
  if (unit) return `expected at least ${amount(Number(minimum), unit)}`;
  return `expected a number ${inclusive === false ? 'above' : 'of at least'} ${minimum}`;
}

function atMost({ origin, maximum, inclusive }: Limit & { readonly maximum: number | bigint }): string {
  const unit = units[origin];
  if (unit) return `expected at most ${amount(Number(maximum), unit)}`;
  return `expected a number ${inclusive === false ? 'below' : 'of at most'} ${maximum}`;
}

function amount(count: number, unit: string): string {
  if (count === 1) return `one ${unit}`;
  return `${count} ${unit === 'entry' ? 'entries' : `${unit}s`}`;
}

/** What is looked at of a schema; zod's own types do not say which kinds have which of these. */
export interface Definition {
  readonly type: string;
  readonly format?: string;
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly out?: z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
  readonly element?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly catchall?: z.core.$ZodType;
  readonly entries?: Record<string, string>;
  readonly values?: readonly unknown[];
  readonly getter?: () => z.core.$ZodType;
  readonly shape?: Record<string, z.core.$ZodType>;
}

const definitionOf = (schema: unknown): Definition | undefined =>
  (schema as { def?: Definition } | undefined)?.def;

/** True if a credential belongs at this path of what the schema describes; its value must not be shown. */
export function isSecretAt(schema: z.core.$ZodType | undefined, path: readonly PropertyKey[]): boolean {
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
