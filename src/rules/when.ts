import { z } from 'zod';
import { isMap, type Json, statuses } from '../model.ts';
import { didYouMean } from '../support/text.ts';
import { compilePattern, type Condition, neverReason, type When } from './conditions.ts';
import { type Field, fieldOf, testField, testKeyPattern } from './fields.ts';
import { isImpossible } from './match.ts';

/** The schema of a field's condition: a value, a list of possible values, or operators. */
function conditionSchema(field: Field): z.ZodType<Condition> {
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
 * A union that reports only the faults of the alternative that was meant: a map, a list or a value. The JSON Schema for
 * editors has all alternatives.
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
    .meta({
      // Asked for only when the JSON Schema is written; made at each start, it was a quarter of the time.
      get anyOf() {
        return [jsonOf(field.value), jsonOf(list), { ...jsonOf(map), minProperties: 1 }];
      },
    });
}

const emptyMap = 'expected a value, a list of values, or operators such as { not: … }';

type NewIssue = Parameters<z.RefinementCtx['addIssue']>[0];

/** The same issue. For unknown keys, with the known ones added. */
function forwarded(issue: z.core.$ZodIssue, known: readonly string[]): NewIssue {
  const { path, message } = issue;
  if (issue.code !== 'unrecognized_keys') return { code: 'custom', path, message };
  const { known: closer = known } = issue as { known?: readonly string[] };
  return unknownKeys(issue.keys, closer, path);
}

/** `known`: the keys to suggest. */
function unknownKeys(keys: string[], known: readonly string[], path: PropertyKey[] = []): NewIssue {
  const message = keys.map((key) => `unknown key "${key}"${didYouMean(key, known)}`).join(', ');
  return { code: 'unrecognized_keys', keys, known, path, message };
}

function jsonOf(schema: z.ZodType): object {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return json;
}

const fieldSchema = (name: string, about: string) =>
  conditionSchema(fieldOf(name)).optional().describe(about);

const testCondition = conditionSchema(testField('key'));

const listOfWhens = (about: string) =>
  z
    .array(whenSchema, { error: 'expected a list of conditions' })
    .min(1, { error: 'expected at least one condition' })
    .optional()
    .describe(about);

const shape = {
  status: fieldSchema('status', 'Completed, DidNotTake or Canceled.'),
  testId: fieldSchema('testId', "The test's id."),
  candidateId: fieldSchema('candidateId', "The candidate's id."),
  candidateNumericalId: fieldSchema(
    'candidateNumericalId',
    "The candidate's number; the service does not always send it.",
  ),
  get all() {
    return listOfWhens('All of these must hold.');
  },
  get any() {
    return listOfWhens('One of these must hold.');
  },
  get not(): z.ZodOptional<z.ZodType<When>> {
    return whenSchema.optional().describe('This must not hold.');
  },
};

const whenKeys = Object.keys(shape);

export const whenSchema: z.ZodType<When> = z
  .looseObject(shape, {
    error: ({ input }) =>
      (statuses as readonly unknown[]).includes(input)
        ? `expected conditions: a map such as { status: ${String(input)} } (for any of several statuses write status: [Completed, Canceled])`
        : 'expected conditions: a map such as { status: Completed }',
  })
  .superRefine((when, context) => {
    for (const [key, value] of Object.entries(when))
      if (!whenKeys.includes(key)) checkTestKey(key, value, context);
    if (context.issues.length === 0 && isImpossible(when as When)) {
      context.addIssue('no event can match this: its conditions on status and testId exclude each other');
    }
  })
  .meta({
    id: 'When',
    get patternProperties() {
      return { [testKeyPattern.source]: jsonOf(testCondition) };
    },
    additionalProperties: false,
  }) as unknown as z.ZodType<When>;

/** Checks a key that is not an event's field. Only `test.` and a key of the catalog are allowed. */
function checkTestKey(key: string, value: unknown, context: z.RefinementCtx): void {
  if (!testKeyPattern.test(key)) return context.addIssue(unknownKeys([key], [...whenKeys, 'test.<key>']));
  for (const issue of testCondition.safeParse(value).error?.issues ?? []) {
    context.addIssue(forwarded({ ...issue, path: [key, ...issue.path] }, []));
  }
}
