import { z } from 'zod';
import { isMap, type Json, statuses } from '../model.ts';
import { compilePattern, type Condition, factWords, neverReason, type When } from './conditions.ts';
import {
  factNames,
  type Field,
  fieldOf,
  findField,
  type LookupFields,
  nestedPattern,
  noLookups,
  testField,
} from './fields.ts';
import { isImpossible } from './match.ts';

/** The schema of a fact's value, or of a word for a missing one. */
export const orWord = (value: z.ZodType<string | number | boolean>) =>
  z.union([z.enum(factWords), value], {
    error: ({ input }) => `${value.safeParse(input).error?.issues[0]?.message}, or unknown or absent`,
  });

/** The schema of a field's condition: a value, a list of possible values, or operators. */
function conditionSchema(field: Field): z.ZodType<Condition> {
  const { value, bound } = field;
  const listOf = (one: z.ZodType) =>
    z
      .array(one, { error: 'expected a list of values' })
      .min(1, { error: 'expected at least one value: an empty list matches no event' });
  const list = listOf(value);
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
  const valueOr = (shape: z.ZodRawShape, one: z.ZodType) => {
    const map = z
      .strictObject(shape, { error: (issue) => void Object.assign(issue, { known: Object.keys(shape) }) })
      .refine((written) => Object.keys(written).length > 0, {
        error: 'expected a value, a list of values, or operators such as { not: … }',
      })
      .meta({ minProperties: 1 });
    return z.union([one, listOf(one), map], {
      error: ({ input }) => one.safeParse(input).error?.issues[0]?.message,
    });
  };
  const not = valueOr(operators, value).optional().describe('What it must not be.');
  const whole = valueOr({ ...operators, not }, field.of === 'fact' ? orWord(value) : value);
  return (whole as z.ZodType<Condition>).superRefine((condition, context) => {
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

/** The schemas of event fields, made once: making one takes longer than checking by it. */
const eventFields = {
  status: fieldSchema('status', 'Completed, DidNotTake or Canceled.'),
  testId: fieldSchema('testId', "The test's id."),
  candidateId: fieldSchema('candidateId', "The candidate's id."),
  candidateNumericalId: fieldSchema(
    'candidateNumericalId',
    "The candidate's number; the service does not always send it.",
  ),
};
const testCondition = conditionSchema(testField('key'));

/** The schema of a `when`, which may use what is looked up. */
function makeWhenSchema(lookups: LookupFields): z.ZodType<When> {
  const listOfWhens = (about: string) =>
    z
      .array(schema, { error: 'expected a list of conditions' })
      .min(1, { error: 'expected at least one condition' })
      .optional()
      .describe(about);
  const shape = {
    ...eventFields,
    get all() {
      return listOfWhens('All of these must hold.');
    },
    get any() {
      return listOfWhens('One of these must hold.');
    },
    get not(): z.ZodOptional<z.ZodType<When>> {
      return schema.optional().describe('This must not hold.');
    },
  };
  const whenKeys = Object.keys(shape);
  const ofOthers = new Map<string, z.ZodType<Condition>>();
  /** Checks a key that is not an event's field: a key of the catalog, or something that is looked up. */
  const checkNested = (key: string, value: unknown, context: z.RefinementCtx): void => {
    const field = nestedPattern.test(key) ? findField(key, lookups) : undefined;
    // Without look-ups, or where all of them have faults, it is at least said that there are such keys.
    const facts = lookups.size === 0 ? ['<look-up>.<field>'] : factNames(lookups);
    const known = [...whenKeys, 'test.<key>', ...facts];
    if (!field) return context.addIssue({ code: 'unrecognized_keys', keys: [key], known });
    const condition =
      field.of === 'test' ? testCondition : ofOthers.getOrInsertComputed(key, () => conditionSchema(field));
    for (const issue of condition.safeParse(value).error?.issues ?? [])
      context.addIssue({ ...issue, path: [key, ...issue.path] });
  };
  const schema = z
    .looseObject(shape, {
      error: ({ input }) =>
        (statuses as readonly unknown[]).includes(input)
          ? `expected conditions: a map such as { status: ${String(input)} } (for any of several statuses write status: [Completed, Canceled])`
          : 'expected conditions: a map such as { status: Completed }, or {} for every event',
    })
    .superRefine(
      (when, context) => {
        for (const [key, value] of Object.entries(when))
          if (!whenKeys.includes(key)) checkNested(key, value, context);
        if (context.issues.length === 0 && isImpossible(when as When, lookups)) {
          context.addIssue('no event can match this: its conditions on status and testId exclude each other');
        }
      },
      // Checked even beside a fault in an event's field.
      { when: ({ value }) => isMap(value as Json) },
    )
    .meta({
      id: 'When',
      // Only made when the JSON Schema is written: it was a quarter of the time of a start.
      get patternProperties() {
        const { $schema: _, ...json } = z.toJSONSchema(testCondition, {
          io: 'input',
          unrepresentable: 'any',
        });
        return { [nestedPattern.source]: json };
      },
      additionalProperties: false,
    }) as unknown as z.ZodType<When>;
  return schema;
}

/** For a config without look-ups, and for editors. */
export const whenSchema = makeWhenSchema(noLookups);

const known = new WeakMap<LookupFields, z.ZodType<When>>([[noLookups, whenSchema]]);

export const whenSchemaWith = (lookups: LookupFields): z.ZodType<When> =>
  lookups.size === 0 ? whenSchema : known.getOrInsertComputed(lookups, makeWhenSchema);
