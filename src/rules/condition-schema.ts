import { z } from 'zod';
import { isMap, type Json } from '../model.ts';
import { didYouMean } from '../suggest.ts';
import type { Field } from './fields.ts';
import { neverReason } from './never.ts';
import { compilePattern } from './pattern.ts';
import type { Condition } from './when.ts';

/** What may stand under a field: a value, a list of which any may be, or operators. */
export function conditionSchema(field: Field): z.ZodType<Condition> {
  const not = anyOf(field, operators(field)).optional().describe('What it must not be.');
  return anyOf(field, operators(field).extend({ not })).superRefine((condition, context) => {
    const fault = context.issues.length === 0 ? neverReason(field, condition) : null;
    if (fault !== null) context.addIssue(`no event can match this: ${fault}`);
  });
}

function operators({ value, bound }: Field) {
  const base = z.strictObject({
    in: listOf(value).optional().describe('Any of these.'),
    matches: pattern.optional().describe('A pattern (RE2) that is found in it.'),
    exists: z
      .boolean({ error: 'expected true or false' })
      .optional()
      .describe('Whether there is a value at all.'),
  });
  if (bound === null) return base;
  return base.extend({
    gt: bound.optional().describe('More than this.'),
    gte: bound.optional().describe('This or more.'),
    lt: bound.optional().describe('Less than this.'),
    lte: bound.optional().describe('This or less.'),
  });
}

const listOf = <T extends z.ZodType>(value: T) =>
  z
    .array(value, { error: 'expected a list of values' })
    .min(1, { error: 'expected at least one value: an empty list matches no event' });

const pattern = z
  .string({ error: 'expected a pattern: text' })
  .min(1, { error: 'expected a pattern, not an empty text' })
  .superRefine((source, context) => {
    const compiled = compilePattern(source);
    if ('fault' in compiled) context.addIssue(`the pattern cannot be read: ${compiled.fault}`);
  });

/**
 * A union that reports the faults of the one alternative that was meant, told by the kind of what is there. Editors see
 * all alternatives.
 */
function anyOf(field: Field, map: z.ZodObject): z.ZodType<Condition> {
  const list = listOf(field.value);
  const meant = (value: Json) => (Array.isArray(value) ? list : isMap(value) ? map : field.value);
  return z
    .custom<Condition>()
    .superRefine((condition, context) => {
      const value = condition as Json;
      const issues = meant(value).safeParse(value).error?.issues ?? [];
      for (const issue of issues) context.addIssue(forwarded(issue, Object.keys(map.shape)));
      if (isMap(value) && Object.keys(value).length === 0) context.addIssue(emptyMap);
    })
    .meta({ anyOf: [jsonOf(field.value), jsonOf(list), { ...jsonOf(map), minProperties: 1 }] });
}

const emptyMap = 'expected a value, a list of values, or operators such as { not: … }';

type NewIssue = Parameters<z.RefinementCtx['addIssue']>[0];

/** An issue as it was found; an unknown key goes with the known ones, which suggestions are taken from. */
export function forwarded(issue: z.core.$ZodIssue, known: readonly string[]): NewIssue {
  const { path, message } = issue;
  if (issue.code !== 'unrecognized_keys') return { code: 'custom', path, message };
  const { known: closer = known } = issue as { known?: readonly string[] };
  return unknownKeys(issue.keys, closer, path);
}

/** `known` is for whoever words the issue: suggestions are taken from it. */
export function unknownKeys(keys: string[], known: readonly string[], path: PropertyKey[] = []): NewIssue {
  const message = keys.map((key) => `unknown key "${key}"${didYouMean(key, known)}`).join(', ');
  return { code: 'unrecognized_keys', keys, known, path, message };
}

export function jsonOf(schema: z.ZodType): object {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return json;
}
