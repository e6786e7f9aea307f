import { z } from 'zod';
import type { AnyConnector } from '../connector.ts';
import { isMap, type Json } from '../model.ts';
import { didYouMeanOneOf, orList } from '../suggest.ts';
import { checkRetry } from './checks/retry.ts';
import type { RetryPolicy, SinkConfig } from './config.ts';
import type { Path } from './fault.ts';
import { error } from './fault.ts';
import { interpolate, interpolateText } from './references/values.ts';
import { withoutOwnKeys } from './schema/common-keys.ts';
import { commonSinkKeys, sinkName, sinkSchema } from './schema/sink.ts';
import type { Reading } from './schema/validate.ts';
import { validate } from './schema/validate.ts';

interface SinkReading extends Reading {
  readonly connectors: ReadonlyMap<string, AnyConnector>;
  /** See LoadOptions. */
  readonly mayLack?: readonly string[];
}

/** Reads the sinks one by one, each by its connector's schema; those with faults are left out. */
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

/** The connector that a sink as written names, if there is one of that name. */
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
  if (!sink)
    return reading.mayLack?.includes('sinks') ? withReadable(name, connector, raw, reading) : undefined;
  const config = toSink(name, connector, sink as ReadSink);
  for (const fault of checkRetry(config, raw, path)) reading.report(fault);
  return config;
}

/** A sink that lacks a value, with those of its connector's options that can be read: enough to make most messages. */
function withReadable(name: string, connector: AnyConnector, raw: Json, { resolve }: Reading): SinkConfig {
  const shape = connector.options.shape as Record<string, z.ZodType>;
  const options = Object.entries(isMap(raw) ? raw : {}).flatMap(([key, written]) => {
    const read = shape[key]?.safeParse(interpolate(written, resolve));
    return read?.success ? [[key, read.data] as const] : [];
  });
  const common = z.object(commonSinkKeys).parse({});
  return { ...toSink(name, connector, { ...common, ...Object.fromEntries(options) }), isPartial: true };
}

/** Without a connector only the keys that all sinks have can be checked. */
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
  const { retry, rate, concurrency, timeout, onUnknown, connector: _, ...options } = sink;
  return {
    name,
    connector,
    options,
    retry: toRetryPolicy(retry),
    pace: rate ? { ...rate, burst: 1 } : (connector.defaults.pace ?? null),
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
