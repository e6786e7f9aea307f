import { z } from 'zod';
import { statuses } from '../model.ts';
import { compilePattern, type Condition, neverReason, type When } from './conditions.ts';
import { type Field, fieldOf, testField, testKeyPattern } from './fields.ts';
import { isImpossible } from './match.ts';

/** The schema of a field's condition: a value, a list of possible values, or operators. */
function conditionSchema(field: Field): z.ZodType<Condition> {
  const { value, bound } = field;
  const list = z
    .array(value, { error: 'expected a list of values' })
    .min(1, { error: 'expected at least one value: an empty list matches no event' });
  const operators = {
    in: list.optional().describe('Any of these.'),
    matches: pattern.optional().describe('A pattern (RE2) that is found in it.'),
    exists: z
      .boolean({ error: 'expected true or false' })
      .optional()
      .describe('Whether there is a value at all.'),
    ...(bound && {
      gt: bound.optional().describe('More than this.'),
      gte: bound.optional().describe('This or more.'),
      lt: bound.optional().describe('Less than this.'),
      lte: bound.optional().describe('This or less.'),
    }),
  };
  const valueOr = (shape: z.ZodRawShape) => {
    const map = z
      .strictObject(shape, { error: (issue) => void Object.assign(issue, { known: Object.keys(shape) }) })
      .refine((written) => Object.keys(written).length > 0, {
        error: 'expected a value, a list of values, or operators such as { not: … }',
      })
      .meta({ minProperties: 1 });
    return z.union([value, list, map], {
      error: ({ input }) => value.safeParse(input).error?.issues[0]?.message,
    });
  };
  const not = valueOr(operators).optional().describe('What it must not be.');
  return (valueOr({ ...operators, not }) as z.ZodType<Condition>).superRefine((condition, context) => {
    const fault = context.issues.length === 0 ? neverReason(field, condition) : null;
    if (fault !== null) context.addIssue(`no event can match this: ${fault}`);
  });
}

const pattern = z
  .string({ error: 'expected a pattern: text' })
  .min(1, { error: 'expected a pattern, not an empty text' })
  .superRefine((source, context) => {
    const compiled = compilePattern(source);
    if ('fault' in compiled) context.addIssue(`the pattern cannot be read: ${compiled.fault}`);
  });

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
    // Asked for only when the JSON Schema is written; made at each start, it was a quarter of the time.
    get patternProperties() {
      const { $schema: _, ...json } = z.toJSONSchema(testCondition, { io: 'input', unrepresentable: 'any' });
      return { [testKeyPattern.source]: json };
    },
    additionalProperties: false,
  }) as unknown as z.ZodType<When>;

/** Checks a key that is not an event's field. Only `test.` and a key of the catalog are allowed. */
function checkTestKey(key: string, value: unknown, context: z.RefinementCtx): void {
  const known = [...whenKeys, 'test.<key>'];
  if (!testKeyPattern.test(key)) return context.addIssue({ code: 'unrecognized_keys', keys: [key], known });
  for (const issue of testCondition.safeParse(value).error?.issues ?? [])
    context.addIssue({ ...issue, path: [key, ...issue.path] });
}
