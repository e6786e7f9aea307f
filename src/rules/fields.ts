import { z } from 'zod';
import type { FactField } from '../connector.ts';
import { maxCandidateIdLength, readCandidateId } from '../support/ids.ts';
import { statuses, type CandidateEvent, type Facts, type Json, type JsonMap } from '../model.ts';

/** What conditions test: the event, the catalog's entry for its test (see TemplateData.test), and what look-ups found out. */
export interface ConditionInput {
  readonly event: CandidateEvent;
  readonly test: JsonMap;
  readonly facts: Facts;
}

/** The fields of look-ups, by the look-ups' names. */
export type LookupFields = ReadonlyMap<string, { readonly fields: ReadonlyMap<string, FactField> }>;

export const noLookups: LookupFields = new Map();

/** Something that a condition can test. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly value: z.ZodType<string | number | boolean>;
  /** The schema of what `gt`, `gte`, `lt` and `lte` compare with; null if values have no order. */
  readonly bound: z.ZodType<string | number> | null;
  /** Where a bound may be the beginning of values, as a day is of times: the last of those that begin so. */
  readonly lastOf?: (bound: string | number) => string;
  /** All possible values, if they can be listed. */
  readonly all: readonly string[] | null;
  readonly whole: boolean;
  /** Whether an event may lack it. */
  readonly optional: boolean;
  /** What the field is about. `test`: a key of the catalog. `fact`: a field of a look-up. */
  readonly of: 'status' | 'test' | 'testId' | 'candidate' | 'fact';
  /** The look-up's field, if it is a fact. */
  readonly fact?: FactField & { readonly lookup: string; readonly key: string };
  /** The field's value; null if there is none, undefined if it is not known. */
  read(subject: ConditionInput): Json | undefined;
}

const status = z.enum(statuses, {
  error: ({ input }) => {
    const several = statusesIn(String(input));
    const [, excluded] = /^\s*(?:not\b|!=?|<>)\s*(\w+)\s*$/i.exec(String(input)) ?? [];
    const [other] = excluded === undefined ? [] : statusesIn(excluded);
    const meant = several.length > 1 ? `[${several.join(', ')}]` : other && `{ not: ${other} }`;
    const hint = meant ? ` (write ${meant})` : '';
    return `expected a status: Completed, DidNotTake or Canceled${hint}`;
  },
});

/** What people write between several values. */
const separators = /\s*(?:[,;/|+&\s]|\b(?:or|and)\b)\s*/i;

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
    if (/^\s*(?:\*|all|any|every)\s*$/i.test(input)) return ' (for any, leave this key out)';
    const instead = wholeNumbersMeant(input);
    if (instead !== null) return ` (write ${instead})`;
    return what === testIdWords ? ' (for the name of the catalog, write test.name)' : '';
  };
  const value = z.int({ error: ({ input }) => `expected ${what}: a whole number${meant(input)}` });
  return { value, bound: value, whole: true };
}

/** What is meant by a text in place of whole numbers, such as `7, 8`, `7-9`, `>= 7` or `1.234.567`; null for others. */
function wholeNumbersMeant(text: string): string | null {
  const [, from, to] = /^\s*(\d+)\s*[-–]\s*(\d+)\s*$/.exec(text) ?? [];
  if (to !== undefined) return `{ gte: ${from}, lte: ${to} }`;
  if (/^\s*\d{1,3}([.,' ])\d{3}(?:\1\d{3})+\s*$/.test(text)) return text.replaceAll(/\D/g, '');
  const parts = text.trim().split(separators);
  if (parts.every((part) => /^\d+$/.test(part))) return `[${parts.join(', ')}]`;
  return /\d\s*$/.test(text) ? conditionMeant(text) : null;
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

const testId: Field = {
  ...ofEvent,
  ...wholeNumber(testIdWords),
  name: 'testId',
  label: 'test',
  of: 'testId',
  read: ({ event }) => event.testId,
};

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
  testId,
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

/** A key of the catalog's entry for the event's test. `id` is there without an entry, and is the event's own. */
export function testField(key: string): Field {
  const named = { name: `test.${key}`, label: `the test's ${key}` };
  if (key === 'id') return { ...testId, ...named };
  return {
    ...ofEvent,
    ...named,
    value: testValue,
    bound: testBound,
    optional: true,
    of: 'test',
    read: ({ test }) => (Object.hasOwn(test, key) ? (test[key] ?? null) : null),
  };
}

const factText = z.string({
  error: ({ input }) => {
    const hint =
      typeof input === 'number'
        ? ' (for numbers write type: number where the look-up names the field)'
        : typeof input === 'boolean'
          ? ' (for true and false write type: boolean where the look-up names the field)'
          : '';
    return `expected text${hint}`;
  },
});

const operators: { readonly [sign: string]: string } = {
  '>': 'gt',
  '>=': 'gte',
  '≥': 'gte',
  '<': 'lt',
  '<=': 'lte',
  '≤': 'lte',
  '!': 'not',
  '!=': 'not',
  '<>': 'not',
};

/** The condition that is meant by a text such as `>= 80` or `Hired*`; null where the text may be a value. */
export function conditionMeant(text: string): string | null {
  const [, sign = '', operand = ''] = /^\s*(<>|[<>!]=?|[≥≤])\s*(\w[^>]*?)\s*%?\s*$/.exec(text) ?? [];
  if (sign !== '') return `{ ${operators[sign]}: ${operand} }`;
  if (text === '*') return '{ exists: true }';
  // A* is a grade.
  if (!/^\*\w|\w{3}\*$/.test(text)) return null;
  const part = text.replace(/^\*|\*$/g, '');
  return `{ matches: '${text.startsWith('*') ? '' : '^'}${part}${text.endsWith('*') ? '' : '$'}' }`;
}

/** What is meant by a text in place of a number, as the end of a sentence. A number in quotes needs no such hint. */
function numberMeant(input: unknown): string {
  if (typeof input !== 'string') return '';
  const [, from, to] = /^\s*(\d+)\s*(?:[-–]\s*(\d+)\s*%?|%)\s*$/.exec(input) ?? [];
  const meant = to === undefined ? (from ?? conditionMeant(input)) : `{ gte: ${from}, lte: ${to} }`;
  return meant === null ? '' : ` (write ${meant})`;
}

const endOfDay = '0000-00-00T23:59:59.999Z';

/** The schemas of facts by type. Times are compared as text, of which the beginning is enough. */
const factValues: { readonly [type in FactField['type']]: Pick<Field, 'value' | 'bound' | 'lastOf'> } = {
  text: ordered(factText),
  number: ordered(z.number({ error: ({ input }) => `expected a number${numberMeant(input)}` })),
  boolean: { value: z.boolean({ error: 'expected true or false' }), bound: null },
  time: {
    value: z.never({ error: 'expected a comparison such as { gte: "2026-01-31" }' }),
    bound: z.string().regex(/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?$/, {
      error: 'expected a time in UTC such as "2026-01-31" or "2026-01-31T10:00"',
    }),
    lastOf: (bound) => `${bound}${endOfDay.slice(String(bound).length)}`,
  },
  url: ordered(factText),
};

function ordered<Schema extends z.ZodType<string | number>>(value: Schema) {
  return { value, bound: value };
}

function factField(lookup: string, key: string, of: FactField): Field {
  const name = `${lookup}.${key}`;
  return {
    ...ofEvent,
    ...factValues[of.type],
    name,
    label: name,
    optional: true,
    of: 'fact',
    fact: { ...of, lookup, key },
    read({ test, facts: { [lookup]: found } }) {
      const byHand = lookup === 'test' ? (test[key] ?? null) : null;
      if (byHand !== null) return byHand;
      if (found && Object.hasOwn(found.fields, key)) return found.fields[key];
      return found?.state === 'absent' ? null : undefined;
    },
  };
}

/** The keys of catalog entries with a fixed meaning, and `id`, which every entry has. */
export const testKeys = ['id', 'name', 'owner', 'channel'] as const;

const byName: ReadonlyMap<string, Field> = new Map(eventFields.map((field) => [field.name, field]));

export const eventFieldNames: readonly string[] = [...byName.keys()];

/** A key of the catalog, or a field of a look-up. */
export const nestedPattern = /^([a-z][a-z0-9_]*)\.([\w-]+)$/;

/** The field with that name; undefined if there is none. */
export function findField(name: string, lookups: LookupFields): Field | undefined {
  const [, owner = '', key = ''] = nestedPattern.exec(name) ?? [];
  const looked = name === 'test.id' ? undefined : lookups.get(owner)?.fields.get(key);
  if (looked) return factField(owner, key, looked);
  return owner === 'test' ? testField(key) : byName.get(name);
}

/** The field with that name. The schema has made sure that it exists. */
export function fieldOf(name: string, lookups = noLookups): Field {
  const field = findField(name, lookups);
  if (!field) throw new Error(`there is no field "${name}"`);
  return field;
}

/** Fields of the same variable have the same value: a test's id is that of its entry. */
export const variableOf = ({ of, name }: Field): string => (of === 'testId' ? of : name);

export const factNames = (lookups: LookupFields): string[] =>
  [...lookups].flatMap(([lookup, { fields }]) => Array.from(fields.keys(), (key) => `${lookup}.${key}`));
