import { z } from 'zod';
import type { AnyConnector } from '../../connector.ts';
import { isMap, type Json } from '../../model.ts';
import { eventFieldNames, testKeyPattern } from '../../rules/fields.ts';
import { duration } from '../units.ts';
import { timeExpected, timeOfDay, timeZone } from './times.ts';

const fieldPattern = `^(${eventFieldNames.join('|')})$|${testKeyPattern.source}`;
const fieldExpected = `expected ${eventFieldNames.join(', ')}, or test. and a key of the catalog`;

const field = z
  .string({ error: fieldExpected })
  .superRefine((name, context) => {
    if (new RegExp(fieldPattern).test(name)) return;
    const params = { candidates: eventFieldNames };
    context.addIssue({ code: 'custom', message: fieldExpected, params });
  })
  .meta({ pattern: fieldPattern });

const digestShape = {
  every: duration({ min: '1s', max: '31d' })
    .optional()
    .describe('How long to collect events for one message; the message goes at multiples of it.'),
  at: z
    .union([timeOfDay, z.array(timeOfDay).min(1)], { error: `${timeExpected}, or a list of them` })
    .optional()
    .describe('The time of day at which the message goes, or several, instead of `every`.'),
  timezone: timeZone
    .optional()
    .describe("The time zone of `every` and `at`; without it, that of the action's hours, or else UTC."),
  by: z
    .union([field, z.array(field).min(1)], { error: fieldExpected })
    .optional()
    .describe('Events that agree in this field, or in all of these, share a message.'),
  max: z
    .int()
    .min(1)
    .max(1000)
    .default(100)
    .describe('The most events of one message; more of them make further messages.'),
};

const digest = z
  .strictObject(digestShape, {
    error: ({ code }) => (code === 'invalid_type' ? 'expected a map such as { every: 1h }' : undefined),
  })
  .refine(({ every, at }) => (every === undefined) !== (at === undefined), {
    error: ({ input }) =>
      (input as { every?: unknown }).every === undefined
        ? 'expected either "every" or "at"'
        : 'expected "every" or "at", not both',
    when: ({ value }) => isMap(value as Json),
  });

export type ReadDigest = z.output<typeof digest>;

/** The keys that every action has, whatever its connector. */
export const commonActionKeys = {
  sink: z.string().min(1).describe('The sink to send to, by its name under `sinks`.'),
  hours: z
    .string({ error: 'expected the name of opening hours' })
    .min(1)
    .optional()
    .describe(
      'Opening hours, by their name under `hours`; outside of them the message waits, also after an outage or a burst.',
    ),
  digest: digest.optional().describe('One message for all events of a time.'),
};

/** The keys that every action of an alert has: a notice does not wait for others. */
const { digest: _digest, ...alertActionKeys } = commonActionKeys;

/** An action of one connector: the common keys and the connector's own. Built once for each connector. */
export function actionSchema(connector: AnyConnector): z.ZodObject {
  return cached(schemas, connector, () => withKeys(connector, commonActionKeys));
}

/** An action of an alert. */
export function alertActionSchema(connector: AnyConnector): z.ZodObject {
  return cached(alertSchemas, connector, () => withKeys(connector, alertActionKeys));
}

const withKeys = ({ action }: AnyConnector, keys: z.ZodRawShape): z.ZodObject =>
  (action as z.ZodObject).safeExtend(keys).strict();

const schemas = new WeakMap<AnyConnector, z.ZodObject>();
const alertSchemas = new WeakMap<AnyConnector, z.ZodObject>();

function cached(cache: WeakMap<AnyConnector, z.ZodObject>, connector: AnyConnector, make: () => z.ZodObject) {
  const known = cache.get(connector) ?? make();
  cache.set(connector, known);
  return known;
}
