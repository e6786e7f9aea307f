import { z } from 'zod';
import type { testKeys } from '../../rules/fields.ts';
import { unmatchedRule } from '../../rules/plan.ts';
import { whenSchema } from '../../rules/when.ts';
import { timeOfDay, timeZone } from './times.ts';
import { duration } from '../units.ts';

/** The shapes of what a plan is compiled from. Actions are checked one by one: each connector has its own. */

const isTestId = (key: string): boolean => /^(0|-?[1-9]\d*)$/.test(key) && Number.isSafeInteger(Number(key));

export const testIdKey = z.string().refine(isTestId, { error: 'expected a test id: a whole number' });

const json: z.ZodType = z.json();

export const catalogEntry = z
  .object({
    name: z.string().min(1).optional().describe('What you call the test.'),
    owner: z.string().min(1).optional().describe('Whose test it is; an email address, for instance.'),
    channel: z.string().min(1).optional().describe('Where its news goes; a Slack channel, for instance.'),
  } satisfies { readonly [key in Exclude<(typeof testKeys)[number], 'id'>]: z.ZodType })
  .catchall(json);

/** In the order of ISO weekdays, which begin at 1. */
export const dayNames = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const day = z.enum(dayNames);

export const hoursSchema = z
  .strictObject({
    timezone: timeZone.describe('The IANA name of the time zone that the times are in.'),
    days: z
      .array(day)
      .min(1, { error: 'expected at least one day: without any it would never open' })
      .default(['mon', 'tue', 'wed', 'thu', 'fri'])
      .describe('The days on which it is open.'),
    from: timeOfDay.describe('When it opens, in quotes.'),
    to: z
      .union([timeOfDay, z.literal('24:00')], { error: 'expected a time of day such as "18:00"' })
      .describe('When it closes, in quotes; before `from` it is on the next day.'),
    closed: z
      .array(z.iso.date({ error: 'expected a date such as 2026-12-25' }))
      .max(1000)
      .default([])
      .describe('Dates on which it does not open; holidays, for instance.'),
  })
  .refine(({ from, to }) => from !== to, {
    path: ['to'],
    error: 'it closes when it opens; for the whole day, write from "00:00" to "24:00"',
  });

export const ruleShape = {
  name: z
    .string()
    .min(1)
    .max(100)
    .refine((name) => name !== unmatchedRule, {
      error: `"${unmatchedRule}" is the name of the actions for events that no rule matched`,
    })
    .refine((name) => !name.startsWith('alerts.'), {
      error: 'names that begin with "alerts." are those of alerts',
    })
    .describe('A name of your own; deliveries are shown under it.'),
  when: whenSchema.describe('Which events the rule is for; `{}` is all of them.'),
  final: z.boolean().default(false).describe('Rules after this one are not looked at when it matched.'),
};

/** A rule with its actions left unchecked. */
export const ruleSchema = z.strictObject({ ...ruleShape, then: z.array(z.unknown()) });

/** What alerts there are, each with its own keys besides `then`. */
export const alertShapes = {
  dead: {
    after: duration().prefault('0s').describe('How long to wait for more before telling.'),
  },
  held: {
    after: duration().prefault('0s').describe('How long to wait for more before telling.'),
  },
  paused: { after: duration({ min: '1s' }).prefault('15m').describe('How long a sink has to be down.') },
  silence: { after: duration({ min: '1m' }).prefault('7d').describe('How long no event has come.') },
};

export const alertKinds = ['dead', 'held', 'paused', 'silence'] as const;

/** With its actions left unchecked. */
const alertOf = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject({ ...shape, then: z.array(z.unknown()).min(1) }).optional();

export const alertsSchema = z.strictObject({
  dead: alertOf(alertShapes.dead),
  held: alertOf(alertShapes.held),
  paused: alertOf(alertShapes.paused),
  silence: alertOf(alertShapes.silence),
});

export const alertDescriptions: { readonly [key in keyof typeof alertShapes]: string } = {
  dead: 'Deliveries were given up.',
  held: 'Deliveries may have arrived or not, and only a person can tell: see `onUnknown`.',
  paused: 'A sink is down.',
  silence: 'No event came for so long.',
};
