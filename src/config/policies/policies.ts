import { z } from 'zod';
import type { AnyConnector, Place } from '../../connector.ts';
import { isMap, type Json, type JsonMap } from '../../model.ts';
import { compileWhen } from '../../rules/compile-when.ts';
import { testsNamedIn, type When } from '../../rules/conditions.ts';
import type { LookupFields } from '../../rules/fields.ts';
import type { Policy } from '../../rules/policies/policy.ts';
import { whenSchema, whenSchemaWith } from '../../rules/when.ts';
import { type Path, valueAt } from '../../support/json.ts';
import { orList } from '../../support/text.ts';
import { readLookups } from '../lookups/lookups.ts';
import { lookupsOfWhen } from '../lookups/uses.ts';
import { entries, type PlanSource } from '../plan-source.ts';
import { type SinkConfig, unknownSink } from '../sinks.ts';
import { error, type Fault } from '../text/problems.ts';
import { type Reading, validate } from '../text/validate.ts';

const kinds = ['never', 'always', 'atMost'] as const;
const expected = `expected one of ${orList(kinds)}`;

type Connectors = ReadonlyMap<string, AnyConnector>;

const namedPlace = ({ audience }: AnyConnector) => audience?.named;

/** The schema of one policy. `when`: the schema of its conditions. */
export function policySchema(connectors: Connectors, when: z.ZodType<When> = whenSchema) {
  const meets = when.describe('Which events it is about, as the `when` of a rule; `{}` is all of them.');
  // The keys by which connectors name a place, such as `channel`.
  const keys = new Set([...connectors.values()].flatMap((one) => namedPlace(one)?.key ?? []));
  const places = Array.from(keys, (key) => {
    const about = key === 'to' ? 'An address that is among the recipients.' : `The ${key} that it goes to.`;
    return [key, z.string().min(1).optional().describe(about)] as const;
  });
  const target = z.strictObject({
    sink: z.string().min(1).describe('The sink of the messages, by its name under `sinks`.'),
    ...Object.fromEntries(places),
    when: meets,
  });
  const crowd = z.strictObject({
    messages: z.int().min(1).describe('The most messages that there may be about one event.'),
    place: z
      .literal('same')
      .default('same')
      .describe('Those to the same place are counted: the same sink and channel, tab or recipient.'),
    when: meets,
  });
  return z
    .strictObject({
      never: target.optional().describe('No such message may follow from an event.'),
      always: target.optional().describe('Such a message has to follow from every event.'),
      atMost: crowd.optional().describe('No more messages than this may follow from an event.'),
    })
    .refine((written) => kinds.filter((kind) => written[kind] !== undefined).length === 1, {
      error: expected,
    });
}

export interface ConfigPolicy extends Policy {
  readonly path: Path;
  readonly written: Json;
  /** The sink and place that the policy is about, for people. */
  readonly words: string;
}

interface PolicyReading extends Reading {
  readonly connectors: Connectors;
  readonly sinks: ReadonlyMap<string, SinkConfig>;
  /** The missing values of references that conditions need. */
  readonly unset: readonly Fault[];
}

/** Reads the policies. Reports faults, and leaves out policies that have some. */
export function readPolicies(config: JsonMap, source: PlanSource, reading: PolicyReading): ConfigPolicy[] {
  const { policies: raw } = config;
  if (raw === undefined) return [];
  if (!Array.isArray(raw)) reading.report(error(['policies'], 'expected a list of policies'));
  // Faults have been reported before.
  const lookups = readLookups(source.lookups, { ...reading, report: () => {} });
  const schema = policySchema(reading.connectors, whenSchemaWith(lookups));
  return entries(raw).flatMap(([index, written]): ConfigPolicy[] => {
    const path = ['policies', index];
    const read = validate({ schema, raw: written, path }, reading);
    const kind = kinds.find((one) => read?.[one] !== undefined);
    if (!read || !kind) return [];
    const { when } = read[kind]!;
    const target = kind === 'atMost' ? null : targetOf(read[kind]!, [...path, kind], config, reading);
    if (target && 'faults' in target) {
      for (const fault of target.faults) reading.report(fault);
      return [];
    }
    return [
      {
        path,
        written,
        words: target?.words ?? '',
        wants: kind === 'always' ? kind : 'most',
        most: read.atMost?.messages ?? 0,
        target: target && { sink: target.sink, place: target.place },
        ...conditionOf(when, lookups),
        unset:
          reading.unset.find((fault) => fault.path[0] !== 'policies' || fault.path[1] === index)?.message ??
          null,
      },
    ];
  });
}

const conditionOf = (when: When, lookups: LookupFields) => ({
  when: compileWhen(when, lookups),
  tests: [...testsNamedIn(when)],
  lookups: lookupsOfWhen(when, lookups),
});

/** The sink and place that a policy is about, or its faults. */
function targetOf(
  { sink: name, when: _, ...rest }: { readonly sink: string; readonly when: When },
  path: Path,
  { sinks: written }: JsonMap,
  { sinks }: PolicyReading,
): { sink: string; place: Place | null; words: string } | { faults: readonly Fault[] } {
  const faults = isMap(written) ? unknownSink(name, [...path, 'sink'], Object.keys(written)) : [];
  const sink = sinks.get(name);
  if (!sink) return { faults };
  const { connector } = sink;
  const named = namedPlace(connector);
  const given = Object.entries(rest as Record<string, string | undefined>).filter(
    ([, value]) => value !== undefined,
  );
  const strange = given.filter(([key]) => key !== named?.key);
  if (strange.length > 0)
    return {
      faults: strange.map(([key]) => {
        const instead = named ? `; did you mean "${named.key}"?` : '; leave it out';
        return error([...path, key], `a sink of ${connector.name} has no "${key}"${instead}`, 'key');
      }),
    };
  const [[key, text] = ['', undefined]] = given;
  if (!named || text === undefined) return { sink: name, place: null, words: name };
  if (/\{[{%]/.test(text)) {
    const message = `expected a ${key} as it is, without a template: a policy is about the messages that come out`;
    return { faults: [error([...path, key], message)] };
  }
  const place = named.read(text);
  if ('fault' in place && !text.includes('${')) return { faults: [error([...path, key], place.fault)] };
  return { sink: name, place: 'fault' in place ? null : place, words: `${name} ${text}` };
}

/** The `when`s of policies as they are written, with their paths. */
export const whensOfPolicies = ({ policies }: JsonMap): { readonly when: Json; readonly path: Path }[] =>
  entries(policies).flatMap(([index, policy]) =>
    kinds.flatMap((kind) => {
      const when = valueAt(policy, [kind, 'when']);
      return when === undefined ? [] : [{ when, path: ['policies', index, kind, 'when'] }];
    }),
  );
