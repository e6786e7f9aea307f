import { z } from 'zod';
import { type AnyConnector, mayRotate, type PaceLimit } from '../connector.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import { type Path, valueAt } from '../support/json.ts';
import { didYouMeanOneOf, orList } from '../support/text.ts';
import type { Settings } from './settings.ts';
import { namedIn, type NamedSection } from './text/named.ts';
import { error, type Fault, warning } from './text/problems.ts';
import { interpolate, interpolateText } from './text/references.ts';
import { duration, durationText, rate } from './text/units.ts';
import { type Reading, validate, withoutOwnKeys } from './text/validate.ts';

const retrySchema = z
  .strictObject({
    minDelay: duration({ min: '1ms', max: '1h' })
      .prefault('2s')
      .describe('The shortest delay before the next attempt, at most 1h.'),
    maxDelay: duration({ min: '1ms', max: '7d' }).prefault('10m').describe('The longest delay, at most 7d.'),
    giveUpAfter: duration({ min: '1ms' })
      .prefault('24h')
      .describe(
        'How long a delivery is tried before it is dead: a time, not a number of attempts. Not shorter than `minDelay` or `timeout`.',
      ),
  })
  .transform(({ minDelay, maxDelay, giveUpAfter }) => ({
    minDelayMs: minDelay,
    maxDelayMs: maxDelay,
    giveUpAfterMs: giveUpAfter,
  }));

export type RetryPolicy = Readonly<z.output<typeof retrySchema>>;

export const commonSinkKeys = {
  retry: retrySchema.prefault({}).describe('When a failed attempt is made again.'),
  rate: rate()
    .optional()
    .describe(
      'How often messages may start, as in 60/min. Without it, as often as the tool is known to allow.',
    ),
  concurrency: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe('How many messages are on their way at a time, at most 100.'),
  timeout: duration({ min: '100ms', max: '10m' }).optional().describe('How long one attempt may take.'),
  onUnknown: z
    .enum(['resend', 'hold'])
    .default('resend')
    .describe(
      'What to do when it is unknown whether a message arrived and the tool cannot be asked: send it again, or hold it until a person decides.',
    ),
};

const schemas = new WeakMap<AnyConnector, z.ZodObject>();

/** The schema of a connector's sinks: the common keys and its own options. It is built once for each connector. */
export const sinkSchema = (connector: AnyConnector): z.ZodObject =>
  schemas.getOrInsertComputed(connector, ({ name, options }) => {
    const naming = { connector: z.literal(name).describe('The kind of tool.') };
    return (options as z.ZodObject).safeExtend({ ...naming, ...commonSinkKeys }).strict();
  });

export const sinkName = z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, {
  error: 'expected a name of at most 64 letters, digits, "-", "_" and "."',
});

const sinksSection: NamedSection = {
  section: 'sinks',
  is: 'a map from names to sinks',
  names: sinkName,
  nameless: { key: 'connector', one: 'a sink', name: 'the name of the sink' },
};

type ReadSink = z.output<z.ZodObject<typeof commonSinkKeys>>;

export interface SinkConfig extends Readonly<Pick<ReadSink, 'retry' | 'onUnknown'>> {
  readonly name: string;
  readonly connector: AnyConnector;
  /** The connector's own options, as its schema reads them. */
  readonly options: { readonly [key: string]: unknown };
  /** The pace of each lane; null if only the tool itself limits it. */
  readonly pace: PaceLimit | null;
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** True if options are missing, because references have no values. See loadToShow. */
  readonly isPartial?: boolean;
}

interface SinkReading extends Reading {
  readonly connectors: ReadonlyMap<string, AnyConnector>;
  /** Whether to keep a sink with faults, with the options that can be read: enough to make most messages. */
  readonly keepPartialSinks?: boolean;
}

/** Reads each sink by its connector's schema. Leaves out sinks with faults. */
export function readSinks(raw: Json | undefined, reading: SinkReading): Map<string, SinkConfig> {
  const sinks = new Map<string, SinkConfig>();
  for (const { name, written, path } of namedIn(raw, sinksSection, reading.report)) {
    const connector = connectorOfSink(written, reading);
    const sink = connector
      ? readSink(name, connector, written, reading)
      : reportNoConnector(written, path, reading);
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

/** The options of a sink that its actions inherit. */
export function inheritedOf(sink: SinkConfig | undefined): JsonMap {
  const { connector, options = {} } = sink ?? {};
  const said = (connector?.inherited ?? []).map((key) => [key, options[key] as Json | undefined] as const);
  return Object.fromEntries(said.flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));
}

export function unknownSink(name: Json | undefined, path: Path, names: readonly string[]): Fault[] {
  if (typeof name !== 'string' || names.includes(name)) return [];
  const several = name.split(/\s*[,;/+&]\s*|\s+and\s+/);
  if (several.length > 1 && several.every((one) => names.includes(one)))
    return [error(path, `an action has one sink; write an action for each: ${several.join(', ')}`)];
  const instead = didYouMeanOneOf(name, names, 'name some under "sinks"');
  return [error(path, `there is no sink "${name}"${instead}`)];
}

function readSink(
  name: string,
  connector: AnyConnector,
  raw: Json,
  reading: SinkReading,
): SinkConfig | undefined {
  const path = ['sinks', name];
  const read = validate({ schema: sinkSchema(connector), raw, path }, reading);
  if (read) {
    const sink = toSink(name, connector, read as ReadSink);
    for (const fault of contradictions(sink, raw, path)) reading.report(fault);
    return sink;
  }
  if (!reading.keepPartialSinks) return undefined;
  const shape = connector.options.shape as Record<string, z.ZodType>;
  const options = Object.entries(isMap(raw) ? raw : {}).flatMap(([key, written]) => {
    const option = shape[key]?.safeParse(interpolate(written, reading.resolve));
    return option?.success ? [[key, option.data] as const] : [];
  });
  const common = z.object(commonSinkKeys).parse({});
  return { ...toSink(name, connector, { ...common, ...Object.fromEntries(options) }), isPartial: true };
}

/** Without a connector, only the common keys can be checked. */
function reportNoConnector(raw: Json, path: Path, reading: SinkReading): undefined {
  const names = [...reading.connectors.keys()];
  const name = isMap(raw) ? raw['connector'] : undefined;
  const connector = z.string({ error: `expected ${orList(names)}` });
  const schema = withoutOwnKeys({ ...commonSinkKeys, connector }, 'connector', raw);
  validate({ schema, raw, path }, reading);
  if (typeof name !== 'string') return;
  const instead = didYouMeanOneOf(name, names, 'this build has none');
  reading.report(error([...path, 'connector'], `there is no connector "${name}"${instead}`));
}

export function toSink(
  name: string,
  connector: AnyConnector,
  sink: ReadSink & { connector?: unknown },
): SinkConfig {
  const { retry, rate: pace, concurrency, timeout, onUnknown, connector: _, ...options } = sink;
  const { defaults } = connector;
  return {
    name,
    connector,
    options,
    retry,
    pace: pace ? { ...pace, burst: 1 } : (defaults.pace ?? null),
    concurrency: concurrency ?? defaults.concurrency,
    timeoutMs: timeout ?? defaults.timeoutMs,
    onUnknown,
  };
}

const timeIn = (raw: Json, keys: Path, ms: number, path: Path) => {
  const isGiven = valueAt(raw, keys) !== undefined;
  const name = `${keys.at(-1)} (${durationText(ms)}${isGiven ? '' : ' unless given'})`;
  return { name, ms, isGiven, path: [...path, ...keys] };
};

/** Reports delays between attempts that contradict each other. `raw`: the sink as written. */
export function delayFaults({ retry }: Pick<SinkConfig, 'retry'>, raw: Json, path: Path): Fault[] {
  const minDelay = timeIn(raw, ['retry', 'minDelay'], retry.minDelayMs, path);
  const maxDelay = timeIn(raw, ['retry', 'maxDelay'], retry.maxDelayMs, path);
  if (minDelay.ms <= maxDelay.ms) return [];
  return maxDelay.isGiven
    ? [error(maxDelay.path, `${maxDelay.name} is shorter than ${minDelay.name}`)]
    : [error(minDelay.path, `${minDelay.name} is longer than ${maxDelay.name}`)];
}

/** Reports all times of a sink that contradict each other. */
function contradictions(sink: SinkConfig, raw: Json, path: Path): Fault[] {
  const { retry, timeoutMs } = sink;
  const minDelay = timeIn(raw, ['retry', 'minDelay'], retry.minDelayMs, path);
  const giveUp = timeIn(raw, ['retry', 'giveUpAfter'], retry.giveUpAfterMs, path);
  const timeout = timeIn(raw, ['timeout'], timeoutMs, path);
  const faults = delayFaults(sink, raw, path);
  for (const [than, consequence] of [
    [minDelay, 'nothing would be tried twice'],
    [timeout, 'what timed out would not be tried again'],
  ] as const)
    if (giveUp.ms < than.ms)
      faults.push(error(giveUp.path, `${giveUp.name} is shorter than ${than.name}: ${consequence}`));
  return faults;
}

/** Warns of refresh tokens that a restart loses, if their server gives another one with each answer. */
export function checkRefreshTokens(
  sinks: readonly { readonly path: Path; readonly options: SinkConfig['options'] }[],
  { store }: Partial<Settings>,
): Fault[] {
  if (!store || store.secretKey !== null) return [];
  const message =
    'if the server gives another refresh token with each answer, the newest is lost at a restart: set store.secretKey (32 bytes in base64), or use client credentials';
  return sinks
    .filter(({ options }) => mayRotate(options))
    .map(({ path }) => warning([...path, 'auth', 'oauth2', 'refreshToken'], message, 'key'));
}
