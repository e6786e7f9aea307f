import { z } from 'zod';
import { maxCandidateIdLength, readCandidateId } from '../support/ids.ts';
import { statuses, type CandidateEvent, type Facts, type Json, type JsonMap } from '../model.ts';

/** What conditions test: the event, the catalog's entry for its test (see TemplateData.test), and what look-ups found out. */
export interface Subject {
  readonly event: CandidateEvent;
  readonly test: JsonMap;
  readonly facts: Facts;
}

/** Something that a condition can test. */
export interface Field {
  readonly name: string;
  /** Its name in sentences. */
  readonly label: string;
  /** The schema of one value in a condition. */
  readonly value: z.ZodType<string | number | boolean>;
  /** The schema of what `gt`, `gte`, `lt` and `lte` compare with; null if values have no order. */
  readonly bound: z.ZodType<string | number> | null;
  /** All possible values, if they can be listed. */
  readonly all: readonly string[] | null;
  /** True if all values are whole numbers. */
  readonly whole: boolean;
  /** False if every event has it. */
  readonly optional: boolean;
  /** What it says of an event. `test`: something that the catalog says. */
  readonly of: 'status' | 'test' | 'testId' | 'candidate';
  read(subject: Subject): Json;
}

const status = z.enum(statuses, {
  error: ({ input }) => {
    const several = statusesIn(String(input));
    const hint = several.length > 1 ? ` (write [${several.join(', ')}])` : '';
    return `expected a status: Completed, DidNotTake or Canceled${hint}`;
  },
});

/** The statuses of a text such as `DidNotTake or Canceled`; none where anything else is in it. */
function statusesIn(text: string): string[] {
  const words = text.split(/\s*(?:[,;/|+&]|\b(?:or|and)\b)\s*/i);
  const found = words.flatMap((word) =>
    statuses.filter((known) => known.toLowerCase() === word.trim().toLowerCase()),
  );
  return found.length === words.length ? found : [];
}

const testIdWords = 'a test id';

function wholeNumber(what: string) {
  const meant = (input: unknown): string => {
    if (typeof input !== 'string') return '';
    if (/^\s*-?\d{1,16}\s*$/.test(input)) return ` (write ${input.trim()}, without quotes)`;
    return what === testIdWords ? ' (for the name of the catalog, write test.name instead of testId)' : '';
  };
  const value = z.int({ error: ({ input }) => `expected ${what}: a whole number${meant(input)}` });
  return { value, bound: value, whole: true };
}

const candidateId = z
  .string({ error: 'expected a candidate id: text, so in quotes where it is a number' })
  .superRefine((text, context) => {
    const id = readCandidateId(text);
    if ('fault' in id) context.addIssue(`expected a candidate id: ${id.fault}`);
    else if (id.value !== text) context.addIssue(`expected the id as it is kept: ${id.value}`);
  })
  .meta({ minLength: 1, maxLength: maxCandidateIdLength });

const testValue = z.union([z.string(), z.number(), z.boolean()], {
  error: 'expected text, a number, or true or false',
});
const testBound = z.union([z.number(), z.string()], { error: 'expected a number or text' });

const ofEvent = { bound: null, all: null, whole: false, optional: false } as const;

const eventFields: readonly Field[] = [
  {
    ...ofEvent,
    name: 'status',
    label: 'status',
    value: status,
    all: statuses,
    of: 'status',
    read: ({ event }) => event.status,
  },
  {
    ...ofEvent,
    ...wholeNumber(testIdWords),
    name: 'testId',
    label: 'test',
    of: 'testId',
    read: ({ event }) => event.testId,
  },
  {
    ...ofEvent,
    name: 'candidateId',
    label: 'candidate',
    value: candidateId,
    of: 'candidate',
    read: ({ event }) => event.candidateId,
  },
  {
    ...ofEvent,
    ...wholeNumber("a candidate's number"),
    name: 'candidateNumericalId',
    label: 'candidate number',
    optional: true,
    of: 'candidate',
    read: ({ event }) => event.candidateNumericalId,
  },
];

/** A key of the catalog's entry for the event's test. */
export function testField(key: string): Field {
  return {
    ...ofEvent,
    name: `test.${key}`,
    label: `the test's ${key}`,
    value: testValue,
    bound: testBound,
    optional: true,
    of: key === 'id' ? 'testId' : 'test',
    read: ({ test }) => (Object.hasOwn(test, key) ? (test[key] ?? null) : null),
  };
}

/** The keys of catalog entries with a fixed meaning, and `id`, which every entry has. */
export const testKeys = ['id', 'name', 'owner', 'channel'] as const;

const byName: ReadonlyMap<string, Field> = new Map(eventFields.map((field) => [field.name, field]));

export const eventFieldNames: readonly string[] = [...byName.keys()];

export const testKeyPattern = /^test\.([\w-]+)$/;

/** The field with that name. The schema has made sure that it exists. */
export function fieldOf(name: string): Field {
  const [, key] = testKeyPattern.exec(name) ?? [];
  const field = key === undefined ? byName.get(name) : testField(key);
  if (!field) throw new Error(`there is no field "${name}"`);
  return field;
}
