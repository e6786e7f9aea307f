import type { CheckedConfig, Config, Problem } from '../../config/config.ts';
import { readFirst } from '../../config/template-faults.ts';
import { pathOf } from '../../config/plan-source.ts';
import type { FactField } from '../../connector.ts';
import { aboutEvent, prepare } from '../../deliveries/prepare.ts';
import { type Event, type Facts, type JsonMap, type LookupFacts, noFacts, statuses } from '../../model.ts';
import { actionsFor, subjectOf } from '../../rules/decide.ts';
import { type Action, type Plan } from '../../rules/plan.ts';
import { strings, valueAt } from '../../support/json.ts';
import { firstListed } from '../../support/text.ts';
import { sampleEvent } from '../../templates/data.ts';
import { templateKind } from '../../templates/template.ts';
import { warningAt } from './check-routes.ts';

const notInCatalog = 0;
/** How long messages are tried: some templates take long. */
const triedForMs = 2000;
/** How many messages are tried besides one of each kind. */
const mostAlike = 500;
/** How many reasons, and tests, one action's warnings name. Further ones follow when these are fixed. */
const mostReasons = 3;
const mostTests = 3;

/** An event that comes to an action. */
interface Sample {
  readonly index: number;
  readonly action: Action;
  readonly event: Event;
  readonly facts: Facts;
}

interface Failure {
  readonly sample: Sample;
  /** The key of the action that it is about; null: the whole message. */
  readonly key: string | null;
  readonly why: string;
}

/** Tries messages, and warns at each action whose message cannot be made as written, with the tests concerned. */
export function tryMessages(
  config: CheckedConfig,
  now: number,
): { readonly warnings: readonly Problem[]; readonly tried: number; readonly of: number } {
  const until = performance.now() + triedForMs;
  const samples = samplesOf(config.plan, now);
  const failures: Failure[] = [];
  let tried = 0;
  const fails = (sample: Sample): boolean => {
    if (performance.now() > until) return false;
    tried += 1;
    const found = failuresOf(sample, config, now);
    failures.push(...found);
    return found.length > 0;
  };
  const alike = kindsOf(samples, config).flatMap(([first, ...others]) => {
    if (!fails(first!)) return others;
    for (const other of others) fails(other);
    return [];
  });
  const step = Math.ceil(alike.length / mostAlike);
  for (const [index, sample] of alike.entries()) if (index % step === 0) fails(sample);
  const inOrder = failures.toSorted((a, b) => a.sample.index - b.sample.index);
  return { warnings: warningsOf(inOrder, config), tried, of: samples.length };
}

/**
 * Every action with each sample event that its rule takes: of every test and status, with no optional value, and with all, where
 * rules may tell apart what look-ups find.
 */
function samplesOf(plan: Plan, now: number): Sample[] {
  const samples: Sample[] = [];
  const whole = { candidateNumericalId: 4711, correlationId: 'sample' };
  const found = plan.lookups.size === 0 ? [noFacts] : sampleValues.map((values) => sampleFacts(plan, values));
  const kinds = [{ more: {}, facts: noFacts }, ...found.map((facts) => ({ more: whole, facts }))];
  for (const testId of [notInCatalog, ...plan.testIds])
    for (const status of statuses)
      for (const { more, facts } of kinds) {
        const event = { ...sampleEvent({ testId, status, ...more }, now), ...more };
        for (const action of actionsFor(plan, subjectOf(plan, event, facts)))
          samples.push({ index: samples.length, action, event, facts });
      }
  return samples;
}

type SampleValues = { readonly [type in FactField['type']]: string | number | boolean };

/** Values of facts by type, for rules of good and of bad results. The text could be a mail address. */
const good: SampleValues = {
  text: 'sample@example.com',
  number: 100,
  boolean: true,
  time: '2026-01-31T10:00:00.000Z',
  url: 'https://example.com/',
};
const sampleValues: readonly SampleValues[] = [good, { ...good, number: 0, boolean: false }];

const sampleFacts = ({ lookups }: Plan, values: SampleValues): Facts =>
  Object.fromEntries(
    Array.from(lookups, ([name, { fields }]): [string, LookupFacts] => [
      name,
      {
        state: 'answered',
        at: 0,
        reason: null,
        fields: Object.fromEntries(Array.from(fields, ([key, { type }]) => [key, values[type]])),
      },
    ]),
  );

/** Groups samples whose messages differ only in words of the config. */
function kindsOf(samples: readonly Sample[], { plan, planSource }: Config): Sample[][] {
  const ofActions = new Map<Action, string>();
  const ofTests = new Map<number, string>();
  const kinds = Map.groupBy(samples, ({ action, event: { testId, candidateNumericalId } }) => {
    const ofAction = ofActions.getOrInsertComputed(action, () => {
      const written = valueAt(planSource, pathOf(plan.rules.names, action)) ?? null;
      const texts = strings(written).map(({ text, path }) => `${path.join('.')}: ${templateKind(text)}`);
      return texts.join('\n');
    });
    // Which keys a catalog entry has, but not their text.
    const ofTest = ofTests.getOrInsertComputed(testId, () =>
      Object.entries(plan.test(testId))
        .map(([key, value]) => `${key}:${value === null || value === '' ? 'none' : typeof value}`)
        .join(),
    );
    return `${ofAction} ${ofTest} ${candidateNumericalId}`;
  });
  return [...kinds.values()];
}

const hollow =
  'a {{ … }} prints nothing; say what to print then, as in {{ test.name | default: event.testId }}, or {{ … | default: "" }} for nothing';

/** The key that is the address of a call: where a part of it is empty, this is another one, as that of all candidates. */
const addressKey = 'path';

const leadsElsewhere =
  'a {{ … }} may print nothing, and another address is called then; ask in `when` for what it prints, as { candidateNumericalId: { exists: true } }, or say what to print, as {{ … | default: "" }}';

function failuresOf(sample: Sample, { plan, planSource, sinks, mask }: Config, now: number): Failure[] {
  const { action, event, facts } = sample;
  const sink = sinks.get(action.sink);
  if (!sink) return [];
  let fields: JsonMap = {};
  let hollowKeys: readonly string[] = [];
  const render: Action['render'] = (data) => {
    const rendered = action.render(data);
    if ('fields' in rendered) ({ fields, hollow: hollowKeys = [] } = rendered);
    return rendered;
  };
  const about = aboutEvent(event, facts);
  const prepared = prepare({ ...action, render }, about, 'dlv_sample', plan, sink, now);
  const failures: Failure[] = [];
  const path = pathOf(plan.rules.names, action);
  if (!('message' in prepared)) {
    if (prepared.outcome !== 'delivered') failures.push({ sample, key: null, why: prepared.detail });
  } else if (prepared.note !== undefined) failures.push({ sample, key: null, why: prepared.note });
  // Names of places that come from the catalog. Slips in what is written here are told of where it is read.
  else
    for (const key of sink.connector.placeKeys ?? []) {
      const name = fields[key];
      if (typeof name !== 'string' || name === valueAt(planSource, [...path, key])) continue;
      for (const { message } of sink.connector.templates[key]?.slips?.(name, [], fields) ?? [])
        failures.push({ sample, key, why: mask(message) });
    }
  // What people read without a number is told of where the template is read.
  for (const key of event.candidateNumericalId === null ? [addressKey] : [...readFirst, addressKey])
    if (hollowKeys.includes(key) && valueAt(planSource, [...path, key]) !== undefined)
      failures.push({ sample, key, why: key === addressKey ? leadsElsewhere : hollow });
  return failures;
}

function warningsOf(all: readonly Failure[], config: CheckedConfig): Problem[] {
  const known = new Set(config.plan.testIds);
  return [...Map.groupBy(all, ({ sample }) => sample.action)].flatMap(([action, ofAction]) => {
    const path = pathOf(config.plan.rules.names, action);
    const reasons = Map.groupBy(ofAction, ({ key, why }) => `${key} ${why}`);
    return Array.from(reasons.values(), (same) => {
      const [{ key, why }] = same as [Failure];
      // Tests of the catalog come first.
      const tests = [...new Set(same.map(({ sample }) => sample.event.testId))].toSorted(
        (a, b) => Number(known.has(b)) - Number(known.has(a)),
      );
      const words = tests.map((id) => (known.has(id) ? `test ${id}` : 'a test that is not in the catalog'));
      const message = `for ${firstListed(words, mostTests)}: ${why}`;
      const warning = warningAt(config, key === null ? path : [...path, key], message);
      // A slip that stands in the action itself.
      const isKnown = config.warnings.some((one) => one.line === warning.line && one.message === why);
      return isKnown ? [] : [warning];
    })
      .flat()
      .slice(0, mostReasons);
  });
}
