import { z } from 'zod';
import type { AnyConnector } from '../connector.ts';
import { isMap, type Json } from '../model.ts';
import { type Path, valueAt } from '../support/json.ts';
import { didYouMeanOneOf, orList } from '../support/text.ts';
import type { RetryPolicy, SinkConfig } from './config.ts';
import { error, type Fault } from './text/problems.ts';
import { interpolate, interpolateText } from './text/references.ts';
import { duration, durationText, rate } from './text/units.ts';
import { type Reading, validate, withoutOwnKeys } from './text/validate.ts';

interface SinkReading extends Reading {
  readonly connectors: ReadonlyMap<string, AnyConnector>;
  /** Whether a sink with faults is kept with the options that can be read; see readPartial. */
  readonly keepPartialSinks?: boolean;
}

/** Reads each sink by its connector's schema. Leaves out sinks with faults. */
export function readSinks(raw: Json | undefined, reading: SinkReading): Map<string, SinkConfig> {
  const sinks = new Map<string, SinkConfig>();
  if (raw !== undefined && !isMap(raw))
    reading.report(error(['sinks'], 'expected a map from names to sinks'));
  if (!isMap(raw)) return sinks;
  for (const [name, rawSink] of Object.entries(raw)) {
    const path = ['sinks', name];
    const named = sinkName.safeParse(name);
    if (!named.success)
      reading.report(error(path, `${named.error.issues[0]?.message}, got "${name}"`, 'key'));
    const sink = readSink(name, rawSink, path, reading);
    if (sink) sinks.set(name, sink);
  }
  return sinks;
}

/** The connector that a sink names, if it exists. */
export function connectorOfSink(
  sink: Json | undefined,
  { resolve, connectors }: Pick<SinkReading, 'resolve' | 'connectors'>,
): AnyConnector | undefined {
  const name = isMap(sink) ? sink['connector'] : undefined;
  return typeof name === 'string' ? connectors.get(interpolateText(name, resolve)) : undefined;
}

function readSink(name: string, raw: Json, path: Path, reading: SinkReading): SinkConfig | undefined {
  const connector = connectorOfSink(raw, reading);
  if (!connector) {
    reportNoConnector(raw, path, reading);
    return undefined;
  }
  const sink = validate({ schema: sinkSchema(connector), raw, path }, reading);
  if (!sink) return reading.keepPartialSinks ? readPartial(name, connector, raw, reading) : undefined;
  const config = toSink(name, connector, sink as ReadSink);
  for (const fault of checkRetry(config, raw, path)) reading.report(fault);
  return config;
}

/** A sink with only the options that can be read, because values are missing. Enough to make most messages. */
function readPartial(name: string, connector: AnyConnector, raw: Json, { resolve }: Reading): SinkConfig {
  const shape = connector.options.shape as Record<string, z.ZodType>;
  const options = Object.entries(isMap(raw) ? raw : {}).flatMap(([key, written]) => {
    const read = shape[key]?.safeParse(interpolate(written, resolve));
    return read?.success ? [[key, read.data] as const] : [];
  });
  const common = z.object(commonSinkKeys).parse({});
  return { ...toSink(name, connector, { ...common, ...Object.fromEntries(options) }), isPartial: true };
}

/** Without a connector, only the common keys can be checked. */
function reportNoConnector(raw: Json, path: Path, reading: SinkReading): void {
  const names = [...reading.connectors.keys()];
  const name = isMap(raw) ? raw['connector'] : undefined;
  const connector = z.string({ error: `expected ${orList(names)}` });
  const schema = withoutOwnKeys({ ...commonSinkKeys, connector }, 'connector', raw);
  validate({ schema, raw, path }, reading);
  if (typeof name !== 'string') return;
  const instead = didYouMeanOneOf(name, names, 'this build has none');
  reading.report(error([...path, 'connector'], `there is no connector "${name}"${instead}`));
}

type ReadSink = z.output<z.ZodObject<typeof commonSinkKeys>> & { readonly [option: string]: unknown };

function toSink(name: string, connector: AnyConnector, sink: ReadSink): SinkConfig {
  const { retry, rate: pace, concurrency, timeout, onUnknown, connector: _, ...options } = sink;
  return {
    name,
    connector,
    options,
    retry: toRetryPolicy(retry),
    pace: pace ? { ...pace, burst: 1 } : (connector.defaults.pace ?? null),
    concurrency: concurrency ?? connector.defaults.concurrency,
    timeoutMs: timeout ?? connector.defaults.timeoutMs,
    onUnknown,
  };
}

const toRetryPolicy = ({ minDelay, maxDelay, giveUpAfter }: ReadSink['retry']): RetryPolicy => ({
  minDelayMs: minDelay,
  maxDelayMs: maxDelay,
  giveUpAfterMs: giveUpAfter,
});

const retrySchema = z.strictObject({
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

/** The keys that every sink has. */
const commonSinkKeys = {
  retry: retrySchema.prefault({}).describe('When a failed attempt is made again.'),
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

/** The schema of a connector's sinks: the common keys and its own options. */
export function sinkSchema(connector: AnyConnector) {
  const own = connector.options as z.ZodObject;
  return own
    .safeExtend({
      connector: z.literal(connector.name).describe('The kind of tool.'),
      ...commonSinkKeys,
    })
    .strict();
}

export const sinkName = z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, {
  error: 'expected a name of at most 64 letters, digits, "-", "_" and "."',
});

/** Times of a sink that contradict each other. `raw` is the sink as written. */
function checkRetry(
  { retry, timeoutMs }: Pick<SinkConfig, 'retry' | 'timeoutMs'>,
  raw: Json,
  path: Path,
): Fault[] {
  const time = (keys: Path, ms: number): Time => {
    const isGiven = valueAt(raw, keys) !== undefined;
    const name = `${keys.at(-1)} (${durationText(ms)}${isGiven ? '' : ' unless given'})`;
    return { name, ms, isGiven, path: [...path, ...keys] };
  };
  const minDelay = time(['retry', 'minDelay'], retry.minDelayMs);
  const giveUpAfter = time(['retry', 'giveUpAfter'], retry.giveUpAfterMs);
  return [
    ...wrongWayRound(minDelay, time(['retry', 'maxDelay'], retry.maxDelayMs)),
    ...tooShort(giveUpAfter, minDelay, 'nothing would be tried twice'),
    ...tooShort(giveUpAfter, time(['timeout'], timeoutMs), 'what timed out would not be tried again'),
  ];
}

interface Time {
  /** With its value. */
  readonly name: string;
  readonly ms: number;
  readonly isGiven: boolean;
  readonly path: Path;
}

function wrongWayRound(minDelay: Time, maxDelay: Time): Fault[] {
  if (minDelay.ms <= maxDelay.ms) return [];
  return maxDelay.isGiven
    ? [error(maxDelay.path, `${maxDelay.name} is shorter than ${minDelay.name}`)]
    : [error(minDelay.path, `${minDelay.name} is longer than ${maxDelay.name}`)];
}

const tooShort = (time: Time, than: Time, consequence: string): Fault[] =>
  time.ms < than.ms ? [error(time.path, `${time.name} is shorter than ${than.name}: ${consequence}`)] : [];
