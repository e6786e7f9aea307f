import { z } from 'zod';
import { isImpossible } from './constraint.ts';
import { conditionSchema, forwarded, jsonOf, unknownKeys } from './condition-schema.ts';
import { fieldOf, testField, testKeyPattern } from './fields.ts';

export type Scalar = string | number | boolean;

/** All that are given have to hold. */
export interface Operators {
  readonly in?: readonly Scalar[];
  readonly not?: Scalar | readonly Scalar[] | Omit<Operators, 'not'>;
  /** RE2 syntax, found anywhere in the text. */
  readonly matches?: string;
  readonly exists?: boolean;
  readonly gt?: number | string;
  readonly gte?: number | string;
  readonly lt?: number | string;
  readonly lte?: number | string;
}

/** A value, a list of which any may be, or operators. */
export type Condition = Scalar | readonly Scalar[] | Operators;

/** Which events a rule is for: all of its keys have to hold; without any it is for every event. */
export interface When {
  readonly status?: Condition;
  readonly testId?: Condition;
  readonly candidateId?: Condition;
  readonly candidateNumericalId?: Condition;
  readonly [testKey: `test.${string}`]: Condition;
  readonly all?: readonly When[];
  readonly any?: readonly When[];
  readonly not?: When;
}

const condition = (name: string, about: string) => conditionSchema(fieldOf(name)).optional().describe(about);

const testCondition = conditionSchema(testField('key'));

const several = (about: string) =>
  z
    .array(whenSchema, { error: 'expected a list of conditions' })
    .min(1, { error: 'expected at least one condition' })
    .optional()
    .describe(about);

const shape = {
  status: condition('status', 'Completed, DidNotTake or Canceled.'),
  testId: condition('testId', "The test's id."),
  candidateId: condition('candidateId', "The candidate's id."),
  candidateNumericalId: condition(
    'candidateNumericalId',
    "The candidate's number; the service does not always send it.",
  ),
  get all() {
    return several('All of these have to hold.');
  },
  get any() {
    return several('One of these has to hold.');
  },
  get not(): z.ZodOptional<z.ZodType<When>> {
    return whenSchema.optional().describe('This must not hold.');
  },
};

const known = Object.keys(shape);

export const whenSchema: z.ZodType<When> = z
  .looseObject(shape, { error: 'expected conditions: a map such as { status: Completed }' })
  .superRefine((when, context) => {
    for (const [key, value] of Object.entries(when))
      if (!known.includes(key)) checkOther(key, value, context);
    if (context.issues.length === 0 && isImpossible(when as When)) {
      context.addIssue('no event can match this: its conditions on status and testId exclude each other');
    }
  })
  .meta({
    id: 'When',
    patternProperties: { [testKeyPattern.source]: jsonOf(testCondition) },
    additionalProperties: false,
  }) as unknown as z.ZodType<When>;

/** Keys of the catalog are anybody's; any other key that is no field is a mistake. */
function checkOther(key: string, value: unknown, context: z.RefinementCtx): void {
  if (!testKeyPattern.test(key)) return context.addIssue(unknownKeys([key], [...known, 'test.<key>']));
  for (const issue of testCondition.safeParse(value).error?.issues ?? []) {
    context.addIssue(forwarded({ ...issue, path: [key, ...issue.path] }, []));
  }
}
