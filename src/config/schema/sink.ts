import { z } from 'zod';
import type { AnyConnector } from '../../connector.ts';
import { duration, rate } from '../units.ts';

const retry = z.strictObject({
  minDelay: duration({ min: '1ms', max: '1h' })
    .prefault('2s')
    .describe(
      'The shortest delay before the next attempt. The longest is twice this after the first one, and doubles with each attempt up to `maxDelay`.',
    ),
  maxDelay: duration({ min: '1ms', max: '7d' })
    .prefault('10m')
    .describe('The longest delay. One that the tool itself asks for comes first.'),
  giveUpAfter: duration({ min: '1ms' })
    .prefault('24h')
    .describe(
      'How long a delivery is tried before it is dead: a time, not a number of attempts. Not shorter than `minDelay` or `timeout`.',
    ),
});

/** The keys that every sink has, whatever its connector. */
export const commonSinkKeys = {
  retry: retry.prefault({}).describe('When a failed attempt is made again.'),
  rate: rate()
    .optional()
    .describe(
      'How often messages may start, as in 60/min. Without it, as often as the tool is known to allow.',
    ),
  concurrency: z.int().min(1).max(100).optional().describe('How many messages are on their way at a time.'),
  timeout: duration({ min: '100ms', max: '10m' }).optional().describe('How long one attempt may take.'),
  onUnknown: z
    .enum(['resend', 'hold'])
    .default('resend')
    .describe(
      'What to do when it is unknown whether a message arrived and the tool cannot be asked: send it again, or hold it for a person.',
    ),
};

/** A sink of one connector: the common keys and the connector's own options. */
export function sinkSchema(connector: AnyConnector) {
  const own = connector.options as z.ZodObject;
  return own
    .safeExtend({
      connector: z.literal(connector.name).describe('The kind of tool.'),
      ...commonSinkKeys,
    })
    .strict();
}

export const sinkName = z
  .string()
  .regex(/^[A-Za-z0-9][\w.-]{0,63}$/, { error: 'expected a name of letters, digits, "-", "_" and "."' });
