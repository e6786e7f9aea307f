import { z } from 'zod';
import type { FactField } from '../../connector.ts';
import type { Facts, LookupFacts } from '../../model.ts';
import { factWords } from '../../rules/conditions.ts';
import { factNames, findField, type LookupFields } from '../../rules/fields.ts';
import type { Lookup } from '../../rules/plan.ts';
import { orWord } from '../../rules/when.ts';
import { didYouMeanOneOf } from '../../support/text.ts';
import { duration } from '../text/units.ts';

/** Facts that a scenario, or a flag of `explain`, gives in place of look-ups. */

const word = z.enum(factWords);

const timeExpected = 'expected a time such as "2026-01-31T10:00:00Z"';

/** A value of each type, as a look-up would give it. */
const values: { readonly [type in FactField['type']]: z.ZodType<string | number | boolean> } = {
  text: z.string({ error: 'expected text' }),
  number: z.number({ error: 'expected a number' }),
  boolean: z.boolean({ error: 'expected true or false' }),
  time: z.iso
    .datetime({ offset: true, error: timeExpected })
    .transform((text) => new Date(Temporal.Instant.from(text).epochMilliseconds).toISOString()),
  url: z
    .url({ protocol: /^https?$/, error: 'expected an address such as https://example.com/7' })
    .transform((text) => new URL(text).href),
};

const after = duration({ max: '7d' }).optional().describe('How long after the event the answer comes.');

const expected = 'expected a map of fields such as { score: 87 }, or unknown or absent';

/** The schema for editors, which do not know a config's look-ups. */
export const anyGiven = z.union([
  word,
  z.object({ after }).catchall(orWord(z.union([z.string(), z.number(), z.boolean()]))),
]);

/** The keys of an event for facts: one for each look-up. */
export const givenShape = (lookups: LookupFields): z.ZodRawShape =>
  Object.fromEntries(
    Array.from(lookups, ([name, { fields }]) => {
      const said = Array.from(fields, ([key, { type }]) => [key, orWord(values[type]).optional()]);
      const shape = { after, ...(Object.fromEntries(said) as z.ZodRawShape) };
      return [name, z.union([word, z.strictObject(shape)], { error: expected }).optional()];
    }),
  );

type GivenFacts =
  | (typeof factWords)[number]
  | { readonly [field: string]: string | number | boolean | undefined };

/** Facts from values that givenShape has read. An answer that comes after `waitFor` counts as unknown. */
export function factsGiven(
  given: { readonly [name: string]: unknown },
  lookups: ReadonlyMap<string, { readonly waitForMs: number }>,
  at: number,
): Facts {
  return Object.fromEntries(
    Array.from(lookups, ([name, { waitForMs }]) => [
      name,
      factsOf(given[name] as GivenFacts | undefined, waitForMs, at),
    ]),
  );
}

/** The delay after the event of each look-up's answer (ms); Infinity where it never has all of `until`. */
export const delaysGiven = (
  given: { readonly [name: string]: unknown },
  lookups: ReadonlyMap<string, Pick<Lookup, 'until'>>,
) =>
  new Map(
    Array.from(lookups, ([name, { until }]): [string, number] => {
      const said = given[name] as GivenFacts | undefined;
      if (typeof said !== 'object') return [name, 0];
      const isReady = until.every((field) => said[field] !== 'absent');
      return [name, isReady ? Number(said['after'] ?? 0) : Infinity];
    }),
  );

function factsOf(given: GivenFacts = 'unknown', waitForMs: number, at: number): LookupFacts {
  if (typeof given === 'string') return { state: given, at, reason: null, fields: {} };
  const { after: delayMs = 0, ...said } = given;
  if (Number(delayMs) > waitForMs) return factsOf('unknown', waitForMs, at);
  const known = Object.entries(said).filter(([, value]) => value !== undefined && value !== 'unknown');
  const fields = known.map(([key, value]) => [key, value === 'absent' ? null : value]);
  return { state: 'answered', at, reason: null, fields: Object.fromEntries(fields) as LookupFacts['fields'] };
}

/** Reads a fact such as `candidate.score=87` by its type, or says why it cannot be read. */
function readGiven(text: string, lookups: LookupFields) {
  const [, name = text, value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  const fact = findField(name, lookups)?.fact;
  const type = fact && lookups.get(fact.lookup)?.fields.get(fact.key)?.type;
  if (!fact || !type) {
    const none = 'nothing in the config uses what look-ups find out';
    return { fault: `there is no fact "${name}"${didYouMeanOneOf(name, factNames(lookups), none)}` };
  }
  const isNumber = type === 'number' && value.trim() !== '' && Number.isFinite(Number(value));
  const isFlag = type === 'boolean' && ['true', 'false'].includes(value);
  const read = isNumber ? Number(value) : isFlag ? value === 'true' : value;
  const checked = orWord(values[type]).safeParse(read);
  return checked.success
    ? { lookup: fact.lookup, field: fact.key, value: checked.data }
    : { fault: `${checked.error.issues[0]?.message}, got "${value}"` };
}

/** Parses several of these into the facts of an event, or says why one cannot be read. */
export function factsWritten(
  texts: readonly string[],
  lookups: ReadonlyMap<string, Lookup>,
  at: number,
): { readonly facts: Facts } | { readonly fault: string } {
  const given: { [lookup: string]: { [field: string]: string | number | boolean } } = {};
  for (const text of texts) {
    const read = readGiven(text, lookups);
    if ('fault' in read) return { fault: read.fault };
    given[read.lookup] = { ...given[read.lookup], [read.field]: read.value };
  }
  return { facts: factsGiven(given, lookups, at) };
}
