import { z } from 'zod';
import type { AnyConnector } from '../../connector.ts';
import { duration } from '../units.ts';

export const timeOfDay = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'expected a time of day such as "08:00"' });

const field = z.string().regex(/^(status|testId|candidateId|candidateNumericalId|test\.[\w-]+)$/, {
  error: 'expected status, testId, candidateId, candidateNumericalId, or test. and a key of the catalog',
});

const digest = z
  .strictObject({
    every: duration({ min: '1m', max: '31d' })
      .optional()
      .describe('How long to collect events for one message.'),
    at: timeOfDay.optional().describe('The time of day at which the message goes, instead of `every`.'),
    by: z
      .union([field, z.array(field).min(1)])
      .optional()
      .describe('Events that agree in this field, or in all of these, share a message.'),
    max: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .describe('The most events in one message; it goes as soon as it has them.'),
  })
  .refine(({ every, at }) => (every === undefined) !== (at === undefined), {
    error: 'expected either "every" or "at"',
  });

/** The keys that every action has, whatever its connector. */
export const commonActionKeys = {
  sink: z.string().min(1).describe('The sink to send to, by its name under `sinks`.'),
  hours: z
    .string()
    .min(1)
    .optional()
    .describe('Opening hours, by their name under `hours`; outside of them the message waits.'),
  digest: digest.optional().describe('One message for all events of a time.'),
};

/** An action of one connector: the common keys and the connector's own. Built once for each connector. */
export function actionSchema(connector: AnyConnector): z.ZodObject {
  return cached(schemas, connector, () => {
    const own = connector.action as z.ZodObject;
    return own.safeExtend(commonActionKeys).strict();
  });
}

/** An action of an alert: what to say has defaults there, so that every key of the connector may be left out. */
export function alertActionSchema(connector: AnyConnector): z.ZodObject {
  return cached(alertSchemas, connector, () => {
    const { shape } = connector.action as z.ZodObject;
    return z.strictObject(shape).partial().extend({ sink: commonActionKeys.sink });
  });
}

const schemas = new WeakMap<AnyConnector, z.ZodObject>();
const alertSchemas = new WeakMap<AnyConnector, z.ZodObject>();

function cached(cache: WeakMap<AnyConnector, z.ZodObject>, connector: AnyConnector, make: () => z.ZodObject) {
  const known = cache.get(connector) ?? make();
  cache.set(connector, known);
  return known;
}
