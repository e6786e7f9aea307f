import type { z } from 'zod';
import { orList } from '../../support/text.ts';

type RawIssue = z.core.$ZodRawIssue;

/** Words Zod's issues. To messages that start with "expected", validate.ts adds what was there instead. */
export function wording(issue: RawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${issue.expected === 'int' ? 'a whole number' : expectedOf(issue)}`;
    case 'invalid_value':
      return `expected ${values(issue.values)}`;
    case 'invalid_union':
      return `expected ${expectedOf(issue)}`;
    case 'too_small':
      return limit(issue, issue.minimum, 'at least', 'above');
    case 'too_big':
      return limit(issue, issue.maximum, 'at most', 'below');
    case 'invalid_format':
      return `expected ${formats[issue.format] ?? `text that matches ${issue.pattern ?? issue.format}`}`;
    case 'unrecognized_keys':
      // Zod keeps what is added to the issue. validate.ts reads it.
      (issue as { known?: string[] }).known = Object.keys(definitionOf(issue.inst)?.shape ?? {});
      return undefined;
    default:
      return undefined;
  }
}

/** What a schema accepts, as a noun: "text", "a list". */
function expectedOf(issue: RawIssue): string {
  const schema = issue.schema ?? issue.inst;
  return schema
    ? orList([...new Set(alternatives(schema as z.core.$ZodType, 0))])
    : String(issue['expected']);
}

function alternatives(schema: z.core.$ZodType, depth: number): string[] {
  const def = definitionOf(schema);
  if (!def || depth > 6) return ['a value'];
  if (def.type === 'union') return (def.options ?? []).flatMap((option) => alternatives(option, depth + 1));
  if (def.type === 'enum') return Object.values(def.entries ?? {}).map(String);
  if (def.type === 'literal') return (def.values ?? []).map(String);
  if (def.type === 'lazy' && def.getter) return alternatives(def.getter(), depth + 1);
  const isAfterTransform = def.type === 'pipe' && definitionOf(def.in)?.type === 'transform';
  const inner = def.innerType ?? (isAfterTransform ? def.out : def.in);
  if (inner) return alternatives(inner, depth + 1);
  return [def.type === 'number' && def.format ? 'a whole number' : (nouns[def.type] ?? 'a value')];
}

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
  datetime: 'a time such as 2026-11-21T22:00:00Z',
};

const values = (list: readonly unknown[]): string => orList(list.map(String));

const units: Record<string, string> = { string: 'character', array: 'entry', set: 'entry' };

/** `closed` and `open`: how to name the limit of a number that may, or may not, be reached. */
function limit(
  { origin, inclusive }: { readonly origin: string; readonly inclusive?: boolean | undefined },
  bound: number | bigint,
  closed: 'at least' | 'at most',
  open: 'above' | 'below',
): string {
  const unit = units[origin];
  if (!unit) return `expected a number ${inclusive === false ? open : `of ${closed}`} ${bound}`;
  const isOne = Number(bound) === 1;
  if (isOne && closed === 'at least' && unit === 'character') return 'expected text that is not empty';
  const many = unit === 'entry' ? 'entries' : `${unit}s`;
  return `expected ${closed} ${isOne ? `one ${unit}` : `${bound} ${many}`}`;
}

/** The parts of a schema's definition that are used here. Zod's types do not say which kinds have which. */
interface Definition {
  readonly type: string;
  readonly format?: string;
  readonly innerType?: z.core.$ZodType;
  readonly in?: z.core.$ZodType;
  readonly out?: z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
  readonly element?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly entries?: Record<string, string>;
  readonly values?: readonly unknown[];
  readonly getter?: () => z.core.$ZodType;
  readonly shape?: Record<string, z.core.$ZodType>;
}

export const definitionOf = (schema: unknown): Definition | undefined =>
  (schema as { def?: Definition } | undefined)?.def;
