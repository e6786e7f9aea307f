import { z } from 'zod';
import { factFields, fieldsMeant } from '../../connector.ts';
import { isMap, type Json } from '../../model.ts';
import { compileWhen } from '../../rules/compile-when.ts';
import { noLookups } from '../../rules/fields.ts';
import type { Lookup } from '../../rules/plan.ts';
import { whenSchema } from '../../rules/when.ts';
import { valueAt } from '../../support/json.ts';
import { didYouMeanOneOf } from '../../support/text.ts';
import type { lookupPlanKeys } from '../plan-source.ts';
import { namedIn, type NamedSection } from '../text/named.ts';
import { error, warning } from '../text/problems.ts';
import { duration } from '../text/units.ts';
import { type Reading, validate } from '../text/validate.ts';

/** The part of look-ups that a plan is compiled from: what they say about events, and how long these wait. */

/** Names with a meaning in templates, conditions or scenarios, in Liquid itself, or in every object of JavaScript. */
const takenNames: ReadonlySet<string> = new Set(
  [
    'event events rule links now notice status at all any not',
    'nil null true false empty blank and or contains in forloop tablerowloop',
    'constructor',
  ].flatMap((names) => names.split(' ')),
);

export const lookupName = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, {
    error: 'expected a name of small letters, digits and "_", such as candidate',
  })
  .refine((name) => !takenNames.has(name), {
    error: 'expected another name, such as candidate, because this one means something already',
  });

export const lookupPlanShape = {
  when: whenSchema.optional().describe('Which events it is made for; without it, all of them.'),
  fields: factFields.describe('What to take of the answer, each under a name of your own.'),
  until: z
    .array(z.string(), { error: 'expected a list of fields, as in [score]' })
    .default([])
    .describe('Fields without which an answer counts as not ready: it is asked again.'),
  waitFor: duration({ min: '100ms', max: '7d' })
    .prefault('2m')
    .describe('How long an event waits for the answer before it is decided without, at most 7d.'),
  keep: duration({ min: '1h' })
    .optional()
    .describe(
      'How long its personal fields are kept. A message that waits longer, as for a digest or opening hours, goes without them. Default: as long as the event.',
    ),
} satisfies { readonly [key in (typeof lookupPlanKeys)[number]]: z.ZodType };

const lookupPlan = z.strictObject(lookupPlanShape);

export const lookupsSection: NamedSection = {
  section: 'lookups',
  is: 'a map from names to look-ups',
  names: lookupName,
  nameless: { key: 'url', one: 'a look-up', name: 'the name of the look-up' },
};

/** Compiles the look-ups. The result must not be used if a fault was reported. */
export function readLookups(raw: Json | undefined, reading: Reading): Map<string, Lookup> {
  const lookups = new Map<string, Lookup>();
  const names = isMap(raw) ? Object.keys(raw) : [];
  for (const { name, written, path } of namedIn(raw, lookupsSection, reading.report)) {
    const read = validate({ schema: lookupPlan, raw: written, path }, withoutFacts(reading, names));
    // The fields of a look-up with faults stay known, so that rules that use them are not reported, too.
    const fieldsOf = () => fieldsMeant(valueAt(written, ['fields']));
    const known: z.output<typeof lookupPlan> = read ?? { fields: fieldsOf(), until: [], waitFor: 0 };
    const { when, fields, until, waitFor, keep = null } = known;
    for (const [index, field] of until.entries()) {
      if (Object.hasOwn(fields, field)) continue;
      const instead = didYouMeanOneOf(field, Object.keys(fields), 'name some under "fields"');
      reading.report(error([...path, 'until', index], `there is no field "${field}"${instead}`));
    }
    if (keep !== null && Object.values(fields).every(({ personal }) => !personal))
      reading.report(
        warning(
          [...path, 'keep'],
          'no field is personal, so nothing is erased then; write personal: true into those that are',
        ),
      );
    const condition = compileWhen(when ?? {}, noLookups);
    lookups.set(name, {
      name,
      applies: (subject) => condition.holds(subject) === true,
      given: (cell) => condition.given(cell),
      fields: new Map(Object.entries(fields)),
      until,
      waitForMs: waitFor,
      keepMs: keep,
    });
  }
  return lookups;
}

export const needsOther = (name: string): string =>
  `look-ups are made at the same time, so none can use the facts of another, such as "${name}"`;

/** A reading that explains why a look-up's `when` cannot use facts. `names`: those of all look-ups. */
export function withoutFacts<R extends Reading>(reading: R, names: readonly string[]): R {
  const report: Reading['report'] = (fault) => {
    const [name = '', field] = String(fault.path.at(-1)).split('.');
    const isFact =
      fault.path.includes('when') && field !== undefined && names.includes(name) && name !== 'test';
    reading.report(isFact ? { ...fault, message: needsOther(name) } : fault);
  };
  return { ...reading, report };
}
