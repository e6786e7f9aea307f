import { z } from 'zod';
import { type Event, isMap, type Json, type JsonMap, statuses } from '../model.ts';
import { explain } from '../rules/decide.ts';
import type { Action, Plan } from '../rules/plan.ts';
import { maxCandidateIdLength, readCandidateId } from '../support/ids.ts';
import { digestData, sampleEvent, templateData } from '../templates/data.ts';
import type { CheckedConfig, Config, Problem, Scenario } from './config.ts';

/** An action as it would be sent, or why a template failed. */
interface Sent {
  readonly sink: string;
  readonly fields: JsonMap;
  readonly fault: string | null;
}

/** Decides every scenario of a config. Each with another result than expected is a problem. */
export function runScenarios(config: CheckedConfig, now = Date.now()): Problem[] {
  return config.scenarios.flatMap((scenario) => {
    const message = mismatch(scenario, config, now);
    const { line, column, excerpt } = scenario;
    return message === null
      ? []
      : [{ severity: 'error', line, column, excerpt, message: config.mask(message) }];
  });
}

function mismatch(scenario: Scenario, { plan }: Config, now: number): string | null {
  const event = sampleEvent(scenario.event, now);
  const { actions } = explain(plan, event, now);
  const sent = actions.map(({ action }) => rendered(action, event, plan, now));
  const name = `${event.status} of test ${event.testId}`;
  const failed = sent.find(({ fault }) => fault !== null);
  if (failed) return `${name}: a message to ${failed.sink} cannot be made: ${failed.fault}`;
  if (sinksOf(sent) !== sinksOf(scenario.expect))
    return `${name}: expected ${sinksOf(scenario.expect)}, but ${sinksOf(sent)} would be sent`;
  const different = scenario.expect.flatMap((expected, index) => differences(expected, sent[index], index));
  return different.length === 0 ? null : `${name}: ${different.join('; ')}`;
}

/** A digest is rendered as if this were its only event. */
function rendered(action: Action, event: Event, { test }: Plan, now: number): Sent {
  const data = action.digest
    ? digestData([event], test, action.rule, now)
    : templateData(event, test(event.testId), action.rule, now);
  const result = action.render(data);
  if ('fault' in result) return { sink: action.sink, fields: {}, fault: result.fault };
  return { sink: action.sink, fields: result.fields, fault: null };
}

function sinksOf(actions: readonly { readonly sink: string }[]): string {
  return actions.length === 0 ? 'nothing' : actions.map(({ sink }) => sink).join(', ');
}

/** The keys of one action that differ from what is expected. */
function differences(expected: Scenario['expect'][number], sent: Sent | undefined, index: number): string[] {
  return Object.entries(expected)
    .filter(([key, value]) => key !== 'sink' && !matches(value, sent?.fields[key]))
    .map(([key, value]) => {
      const instead = JSON.stringify(sent?.fields[key]) ?? 'nothing';
      return `action ${index + 1} (${expected.sink}): expected ${key} ${JSON.stringify(value)}, but ${instead} would be sent`;
    });
}

/** Maps may have more keys than expected. A number equals its text, because templates print text. */
function matches(expected: Json, sent: Json | undefined): boolean {
  if (sent === undefined) return false;
  if (isMap(expected))
    return isMap(sent) && Object.entries(expected).every(([key, value]) => matches(value, sent[key]));
  if (Array.isArray(expected))
    return (
      Array.isArray(sent) &&
      expected.length === sent.length &&
      (expected as readonly Json[]).every((value, index) => matches(value, (sent as readonly Json[])[index]))
    );
  return textOf(expected) === textOf(sent);
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

const event = z.strictObject({
  status: z.enum(statuses).describe('The status of the event.'),
  testId: z.int().describe('The test id of the event.'),
  candidateId: z
    .string()
    .transform((text, context) => {
      const id = readCandidateId(text);
      if ('value' in id) return id.value;
      context.addIssue(`expected a candidate id: ${id.fault}`);
      return z.NEVER;
    })
    .meta({ minLength: 1, maxLength: maxCandidateIdLength })
    .prefault('00000000000000000000000000000001')
    .describe('The candidate id of the event.'),
  candidateNumericalId: z.int().nullable().default(null).describe('The numerical candidate id of the event.'),
});

const expected = z
  .object({ sink: z.string().min(1).describe('The sink that is expected to get a message.') })
  .catchall(z.json());

/** An event to decide, and the expected actions. `check` compares. */
export const scenarioSchema = z.strictObject({
  event: event.describe('The event to decide.'),
  expect: z
    .array(expected)
    .describe('The actions that have to follow, in order, each with any of its rendered keys. Empty: none.'),
});

export type ReadScenario = z.output<typeof scenarioSchema>;
