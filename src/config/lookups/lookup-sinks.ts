import { z } from 'zod';
import { type AnyConnector, type ComposeResult, rejected } from '../../connector.ts';
import { cached } from '../../lookups/cached.ts';
import { isMap, type Json, lookupSink } from '../../model.ts';
import type { Rejected } from '../../model/outcomes.ts';
import { sampleEvent, type TemplateData, templateData } from '../../templates/data.ts';
import { compileFields } from '../../templates/template.ts';
import { bareReferences, templateFaults } from '../template-faults.ts';
import { commonSinkKeys, type SinkConfig, toSink, delayFaults } from '../sinks.ts';
import { isNameless } from '../text/named.ts';
import { error, type Fault, warning } from '../text/problems.ts';
import { interpolateTemplate, interpolateText } from '../text/references.ts';
import { duration } from '../text/units.ts';
import { type Reading, validate } from '../text/validate.ts';
import { lookupPlanShape, lookupsSection, needsOther, withoutFacts } from './lookups.ts';

/** How a look-up is carried out by today's config: as deliveries to a sink of its own, `lookup:NAME`. */
export interface LookupSink extends SinkConfig {
  readonly lookup: string;
  /** Makes the request for an event, as the connector takes it. Pure. */
  compose(data: TemplateData): ComposeResult<Json>;
}

const { onUnknown: _, ...commonKeys } = commonSinkKeys;

/** The schema of look-ups: the connector's own options, how it is asked, and the plan's part. */
export function lookupSchema({ options }: AnyConnector): z.ZodObject {
  return (options as z.ZodObject)
    .safeExtend({
      ...lookupPlanShape,
      ...commonKeys,
      cache: duration({ min: '1s', max: '7d' })
        .optional()
        .describe(
          'How long an answer counts for the same url: right for tests, useless for candidates. By default not at all.',
        ),
    })
    .strict();
}

interface LookupReading extends Reading {
  readonly connectors: ReadonlyMap<string, AnyConnector>;
}

/** The connector that makes look-ups, if there is one. */
export const lookupConnector = (connectors: Iterable<AnyConnector>): AnyConnector | undefined =>
  [...connectors].find(({ lookup }) => lookup)?.lookup;

/** Reads the look-ups without faults, by the names of their sinks. `testKeys`: the keys of catalog entries. */
export function readLookupSinks(
  raw: Json | undefined,
  testKeys: ReadonlySet<string>,
  reading: LookupReading,
): Map<string, LookupSink> {
  const connector = lookupConnector(reading.connectors.values());
  if (raw !== undefined && !connector)
    reading.report(error(['lookups'], 'this build has no look-ups', 'key'));
  if (!connector || !isMap(raw) || isNameless(raw, lookupsSection)) return new Map();
  const sinks = Object.entries(raw).flatMap(([name, written]): LookupSink[] => {
    const sink = readOne(name, written, connector, { testKeys, names: Object.keys(raw) }, reading);
    return sink ? [sink] : [];
  });
  return new Map(sinks.map((sink) => [sink.name, sink]));
}

interface ConfigNames {
  readonly testKeys: ReadonlySet<string>;
  readonly names: readonly string[];
}

function readOne(
  name: string,
  raw: Json,
  connector: AnyConnector,
  known: ConfigNames,
  reading: LookupReading,
): LookupSink | null {
  const path = ['lookups', name];
  const { templates } = connector;
  const textOf = (key: string) => (key in templates ? interpolateTemplate : interpolateText);
  const read = validate(
    { schema: lookupSchema(connector), raw, path, textOf },
    withoutFacts(reading, known.names),
  );
  const faults = isMap(raw) ? urlFaults(raw, templates, known) : [];
  for (const fault of faults) reading.report({ ...fault, path: [...path, ...fault.path] });
  if (!read || faults.some(({ severity }) => severity === 'error')) return null;
  const { when: _when, keep: _keep, waitFor, cache, ...own } = read as unknown as LookupValues;
  for (const fault of delayFaults(own, raw, path)) reading.report(fault);
  const { minDelayMs, maxDelayMs, giveUpAfterMs } = own.retry;
  const retry = {
    minDelayMs,
    // Short enough that even in a pause the tool is asked before the event is decided.
    maxDelayMs: Math.max(minDelayMs, Math.min(maxDelayMs, waitFor / 2)),
    giveUpAfterMs: Math.min(giveUpAfterMs, waitFor),
  };
  const asking = cache === undefined ? connector : cached(connector, cache);
  const sink = toSink(lookupSink(name), asking, { ...own, retry, onUnknown: 'resend' });
  const compose = composerOf(sink, known);
  const event = sampleEvent({ candidateNumericalId: 1 }, 0);
  // What is empty for a test only makes the look-up of its events unknown.
  const test = { ...Object.fromEntries([...known.testKeys].map((key) => [key, 'x'])), id: event.testId };
  const sample = compose(templateData(event, test, {}, name, 0));
  if ('rejected' in sample) reading.report(error([...path, 'url'], sample.rejected.detail));
  return { ...sink, lookup: name, compose };
}

interface LookupValues extends Omit<Parameters<typeof toSink>[2], 'onUnknown'> {
  readonly when?: unknown;
  readonly keep?: unknown;
  readonly waitFor: number;
  readonly cache?: number;
}

const vocabularyOf = ({ testKeys }: ConfigNames) => ({ test: testKeys });

function composerOf({ connector, options }: SinkConfig, known: ConfigNames): LookupSink['compose'] {
  const { template } = options['url'] as { readonly template: string };
  const { fields } = compileFields({ url: template }, connector.templates, vocabularyOf(known));
  return (data) => {
    const rendered = fields?.render(data) ?? { fault: 'The template of "url" has faults.' };
    if ('fault' in rendered) return refused(rendered.fault);
    if (rendered.hollow)
      return refused('A part of the url has nothing to print, and would ask for another thing.');
    const subject = { kind: 'event', event: data.event } as const;
    return connector.compose(rendered.fields, { deliveryId: '', subject }, options);
  };
}

const refused = (detail: string): { readonly rejected: Rejected } => ({
  rejected: rejected('invalid', detail, "Check the look-up's url."),
});

/** The faults in a look-up's url as written, where places are exact. */
function urlFaults(
  raw: { readonly [key: string]: Json },
  media: AnyConnector['templates'],
  known: ConfigNames,
): Fault[] {
  const { url } = raw;
  if (typeof url !== 'string') return [];
  const written = { url };
  const bare = bareReferences(written, media);
  if (bare.length > 0) return bare;
  if (/^https?:/i.test(url) && !url.includes('{{'))
    return [warning(['url'], 'this is the same for every event; write {{ event.candidateId }} into it')];
  return templateFaults(written, media, vocabularyOf(known)).map((fault) => {
    const name = /^\W*([a-z]\w*)/.exec(url.slice(fault.inside?.index))?.[1] ?? '';
    return known.names.includes(name) ? Object.assign(fault, { message: needsOther(name) }) : fault;
  });
}
