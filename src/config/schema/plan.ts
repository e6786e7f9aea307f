import { z } from 'zod';
import { unmatchedRule } from '../../rules/plan.ts';
import { whenSchema } from '../../rules/when.ts';
import { duration } from '../units.ts';
import { timeOfDay } from './action.ts';

/** The shapes of what a plan is compiled from. Actions are checked one by one: each connector has its own. */

const isTestId = (key: string): boolean => /^(0|-?[1-9]\d*)$/.test(key) && Number.isSafeInteger(Number(key));

export const testIdKey = z.string().refine(isTestId, { error: 'expected a test id: a whole number' });

const json: z.ZodType = z.json();

export const catalogEntry = z
  .object({
    name: z.string().min(1).optional().describe('What you call the test.'),
    owner: z.string().min(1).optional().describe('Whose test it is; an email address, for instance.'),
    channel: z.string().min(1).optional().describe('Where its news goes; a Slack channel, for instance.'),
  })
  .catchall(json);

const timeZone = z.string().superRefine((name, context) => {
  if (isTimeZone(name)) return;
  const params = { candidates: Intl.supportedValuesOf('timeZone') };
  context.addIssue({ code: 'custom', message: 'expected a time zone such as Europe/Zagreb', params });
});

function isTimeZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

const day = z.enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']);

export const hoursSchema = z
  .strictObject({
    timezone: timeZone.describe('The IANA name of the time zone that the times are in.'),
    days: z
      .array(day)
      .min(1)
      .default(['mon', 'tue', 'wed', 'thu', 'fri'])
      .describe('The days on which it is open.'),
    from: timeOfDay.describe('When it opens, in quotes.'),
    to: z
      .union([timeOfDay, z.literal('24:00')], { error: 'expected a time of day such as "18:00"' })
      .describe('When it closes, in quotes; before `from` it is on the next day.'),
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
    .describe('A name of your own; deliveries are shown under it.'),
  when: whenSchema.describe('Which events the rule is for; `{}` is all of them.'),
  final: z.boolean().default(false).describe('Rules after this one are not looked at when it matched.'),
};

/** A rule with its actions left unchecked. */
export const ruleSchema = z.strictObject({ ...ruleShape, then: z.array(z.unknown()) });

/** What alerts there are, each with its own keys besides `then`. */
export const alertShapes = {
  dead: { after: duration({ min: '1s' }).optional().describe('How long to wait for more before telling.') },
  paused: { after: duration({ min: '1s' }).prefault('15m').describe('How long a sink has to be down.') },
  silence: { after: duration({ min: '1m' }).prefault('7d').describe('How long no event has come.') },
};

export const alertDescriptions: { readonly [key in keyof typeof alertShapes]: string } = {
  dead: 'Deliveries were given up.',
  paused: 'A sink is down.',
  silence: 'No event came for so long.',
};
