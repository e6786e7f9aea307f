import type {
  CheckedConfig,
  Config,
  OneEventScenario,
  Position,
  Problem,
  TimedScenario,
} from '../config/config.ts';
import { pathOf } from '../config/plan-source.ts';
import type { ActionRef, EventWithFacts } from '../model.ts';
import { explain, lookedUpFor, subjectOf } from '../rules/decide.ts';
import { type Action, type Plan, unmatchedRule } from '../rules/plan.ts';
import type { Path } from '../support/json.ts';
import { digestData, sampleEvent, templateData } from '../templates/data.ts';
import { compareTimed, type Mismatch, differentKeys } from './expectations.ts';

export interface ScenarioReport {
  /** The scenarios that came out otherwise, each at its place. */
  readonly problems: readonly Problem[];
  /** Rules and actions of which no scenario has a message. None if there are no scenarios. */
  readonly unreached: readonly CoverageGap[];
}

/** An action, or a whole rule, or with `unmatched` all its actions. */
export interface CoverageGap extends Position {
  readonly rule: string;
  readonly action: number | null;
}

/** The time for all scenarios over time together. */
const triedForMs = 60_000;

export async function runScenarios(
  config: CheckedConfig,
  now = Date.now(),
  deadlineMs = triedForMs,
): Promise<ScenarioReport> {
  const { plan, scenarios, at, mask } = config;
  const until = performance.now() + deadlineMs;
  const reached: Coverage = new Set();
  const problems: Problem[] = [];
  for (const scenario of scenarios) {
    const told =
      'event' in scenario
        ? [{ fields: scenario.event, facts: scenario.facts }]
        : scenario.events.map((fields) => ({ fields, facts: fields.facts }));
    for (const { fields, facts } of told) {
      const event = sampleEvent(fields, 0);
      const matched = plan.rules.match(subjectOf(plan, event, lookedUpFor(plan, event, facts)));
      for (const index of matched) reached.add(plan.rules.names[index]!);
      if (matched.length === 0) reached.add(unmatchedRule);
    }
    const differences =
      'event' in scenario
        ? tryOne(scenario, config, now, reached)
        : await tryTimed(scenario, config, until, reached);
    for (const { path, message } of differences)
      problems.push({ severity: 'error', ...at(path), message: mask(message) });
  }
  return { problems, unreached: scenarios.length === 0 ? [] : gaps(config, reached) };
}

/** The names of rules and keys of actions that scenarios reach. */
type Coverage = Set<string>;

const keyOf = ({ rule, action }: ActionRef): string => `${rule}\0${action}`;

function gaps({ plan, at }: CheckedConfig, reached: Coverage): CoverageGap[] {
  const unreached = (rule: string, path: Path, actions: readonly Action[]): CoverageGap[] => {
    if (!reached.has(rule)) return [{ rule, action: null, ...at(path) }];
    const others = actions.filter((action) => !reached.has(keyOf(action)));
    return others.map(({ action }) =>
      Object.assign({ rule, action }, at(pathOf(plan.rules.names, { rule, action }))),
    );
  };
  const ofRules = plan.rules.names.flatMap((rule, index) =>
    unreached(rule, ['rules', index], plan.then[index] ?? []),
  );
  return plan.unmatched.length === 0
    ? ofRules
    : [...ofRules, ...unreached(unmatchedRule, [unmatchedRule], plan.unmatched)];
}

/** Tries a scenario of one event, without hours and digests. */
function tryOne(scenario: OneEventScenario, { plan }: Config, now: number, reached: Coverage): Mismatch[] {
  const { path, event: fields, expect, name, sinks } = scenario;
  const event = sampleEvent(fields, now);
  const facts = lookedUpFor(plan, event, scenario.facts);
  const sent = explain(plan, event, facts, now)
    .actions.map(({ action }) => action)
    .filter(({ sink }) => sinks?.includes(sink) ?? true)
    .map((action) => rendered(action, { event, facts }, plan, now));
  for (const { action } of sent) reached.add(keyOf(action));
  const message = mismatch(sent, expect);
  const about = name ?? `${event.status} of test ${event.testId}`;
  return message === null ? [] : [{ path, message: `${about}: ${message}` }];
}

/** An action as it would be sent, or why a template failed. A digest is rendered as if this were its only event. */
function rendered(action: Action, about: EventWithFacts, { test }: Plan, now: number) {
  const { event, facts } = about;
  const data = action.digest
    ? digestData([about], test, action.rule, now)
    : templateData(event, test(event.testId), facts, action.rule, now);
  return { action, sink: action.sink, fields: {}, fault: null, ...action.render(data) };
}

/** How the messages differ from the expected ones; null if they do not. */
function mismatch(
  sent: readonly ReturnType<typeof rendered>[],
  expect: OneEventScenario['expect'],
): string | null {
  const failed = sent.find(({ fault }) => fault !== null);
  if (failed) return `a message to ${failed.sink} cannot be made: ${failed.fault}`;
  const names = (all: readonly { readonly sink: string }[]) =>
    all.map(({ sink }) => sink).join(', ') || 'nothing';
  if (names(sent) !== names(expect)) {
    // Several messages go to one sink; the rule tells them apart.
    const byRule = sent.map(({ sink, action }) => ({ sink: `${sink} (rule ${action.rule})` }));
    return `expected ${names(expect)}, but ${names(byRule)} would be sent`;
  }
  const different = expect.flatMap((expected, index) =>
    differentKeys(expected, sent[index]!.fields).map(
      ({ message }) => `action ${index + 1} (${expected.sink}): ${message}`,
    ),
  );
  return different.join('; ') || null;
}

async function tryTimed(
  scenario: TimedScenario,
  config: Config,
  until: number,
  reached: Coverage,
): Promise<Mismatch[]> {
  const { path, name, sinks } = scenario;
  const named = (message: string) => (name === null ? message : `${name}: ${message}`);
  // Loaded here, as a config without such scenarios needs no store to be checked.
  const { play } = await import('./engine.ts');
  const played = await play(config, scenario, until);
  if (played === null)
    return [
      { path, message: named('the scenarios took too long and were ended; have fewer events in them') },
    ];
  const compared = [...played.sent, ...played.unmade].filter(({ sink }) => sinks?.includes(sink) ?? true);
  for (const one of compared) reached.add(keyOf(one));
  const reasons = played.unmade.map(({ sink, detail }) => `a message to ${sink} cannot be made: ${detail}`);
  const unmade = Array.from(new Set(reasons), (message): Mismatch => ({ path, message: named(message) }));
  const others = compareTimed(scenario, played);
  return [...unmade, ...others.map(({ path: own, message }) => ({ path: own, message: named(message) }))];
}
