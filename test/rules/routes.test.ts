import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { ConfigError } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { type EventWithFacts, noFacts, statuses } from '../../src/model.ts';
import { explain } from '../../src/rules/decide.ts';
import type { Plan } from '../../src/rules/plan.ts';
import { type Route, routesOf } from '../../src/rules/routes.ts';
import { sampleEvent, templateData } from '../../src/templates/data.ts';
import { factsOf, testIds, whens, whensOfFacts } from './tools.ts';
import { runs } from '../fixtures/runs.ts';

const sinks = {
  slack: { connector: 'slack', token: 'x' },
  mail: { connector: 'email', url: 'smtp://localhost', from: 'a@example.com' },
  sheet: { connector: 'google-sheets', spreadsheetId: 's', credentials: 'adc' },
  ats: { connector: 'webhook', url: 'https://ats.example.com' },
};
const catalog = {
  1: { team: 'a', channel: '#a' },
  2: { team: ['a', 'b'] },
  3: { team: 'b', channel: '#hiring' },
};

function planOf(config: object): Plan {
  const text = JSON.stringify({ sinks, catalog, ...config });
  return parseConfig(text, 'config.json', { env: {}, connectors }).plan;
}

const now = Date.parse('2026-07-01T12:00:00Z');

/** Whom messages really reach, read from what the tool would get. */
function placesOf(plan: Plan, { event, facts }: EventWithFacts): string[] {
  return explain(plan, event, facts, now).actions.map(({ action }) => {
    const rendered = action.render(templateData(event, plan.test(event.testId), facts, action.rule, now));
    return JSON.stringify([action.digest !== null, 'fields' in rendered && rendered.fields['channel']]);
  });
}

/** Every kind of event that the generated conditions can tell apart. */
const events = statuses.flatMap((status) =>
  [...testIds, 0, 5].flatMap((testId) =>
    ['abc', 'a', 'b', 'abcb', 'bab', 'x'].flatMap((candidateId) =>
      [null, 0, 1, 2, 3].map((candidateNumericalId) => ({
        event: sampleEvent({ status, testId, candidateId, candidateNumericalId }, now),
        facts: noFacts,
      })),
    ),
  ),
);

const channels = [
  '#hiring',
  '#a',
  "{{ test.channel | default: '#hiring' }}",
  '#{{ event.status }}',
  '#t{{ event.testId }}',
];
const action = fc.record(
  {
    sink: fc.constant('slack'),
    channel: fc.constantFrom(...channels),
    text: fc.constant('x'),
    digest: fc.constant({ every: '1h' }),
  },
  { requiredKeys: ['sink', 'channel', 'text'] },
);
const ruleWith = (when: typeof whens) =>
  fc
    .record({
      when,
      final: fc.boolean(),
      then: fc.array(action, { maxLength: 2 }),
      silent: fc.boolean(),
    })
    .map((made) => Object.assign(made, { silent: made.silent && made.then.length === 0 }));
const configsWith = (when: typeof whens) =>
  fc.record({
    rules: fc
      .array(ruleWith(when), { maxLength: 6 })
      .map((rules) => rules.map((one, index) => ({ name: `r${index}`, ...one }))),
    unmatched: fc.oneof(fc.constant('silent'), fc.array(action, { maxLength: 1 })),
  });

/** Facts of as many kinds as the generated conditions can tell apart. */
const found = [noFacts, ...[null, 0, 1, 2, 3, 4].map((score) => factsOf({ score }))];
const eventsWithFacts = events.flatMap(({ event }) =>
  event.candidateId === 'abc' && event.candidateNumericalId === null
    ? found.map((facts) => ({ event, facts }))
    : [],
);
const lookup = {
  candidate: {
    url: 'https://x.example.com/{{ event.candidateId }}',
    fields: { score: { at: '/s', type: 'number' } },
  },
};
const onlyCompleted = { candidate: { ...lookup.candidate, when: { status: 'Completed' } } };
const someLookedUp = eventsWithFacts.filter(
  ({ event, facts }) => event.status === 'Completed' || facts === noFacts,
);

describe('what routes say', () => {
  it.each([
    ['', whens, events, {}],
    [', and whatever is found out about it', whensOfFacts(true), eventsWithFacts, { lookups: lookup }],
    [', where some are not looked up', whensOfFacts(true), someLookedUp, { lookups: onlyCompleted }],
  ])('is what the rules then do, for every event%s', (_, when, all, more) => {
    const seen = { nobody: 0, otherwiseNobody: 0, twice: 0, conditions: 0, unheard: 0 };
    const property = fc.property(configsWith(when), (config) => {
      const plan = orNull(() => planOf({ ...more, ...config }));
      if (!plan) return;
      const routes = [...routesOf(plan)];
      const known = new Set(routes.map(({ cell }) => cell.testId));
      const byCell = Map.groupBy(
        all,
        ({ event: { status, testId } }) => `${status} ${known.has(testId) ? testId : null}`,
      );
      for (const route of routes) {
        const ofCell = byCell.get(`${route.cell.status} ${route.cell.testId}`) ?? [];
        hold(plan, route, ofCell);
        seen.nobody += Number(route.nobody);
        seen.otherwiseNobody += Number(route.otherwiseNobody);
        seen.twice += route.twice.length;
        seen.conditions += route.heardBy.filter(({ rest }) => rest !== null).length;
        seen.unheard += Number(route.unheard !== null);
      }
    });
    fc.assert(property, runs(30));
    // The rules of this seed have all of these.
    for (const often of Object.values(seen)) expect(often).toBeGreaterThan(2);
    fc.assert(property, { numRuns: 10 });
  });
});

it.each([
  ['slack', { channel: 'dana@example.com' }, { channel: 'Dana@example.com' }],
  ['slack', { channel: '#hiring' }, { channel: 'Hiring' }],
  ['sheet', { tab: 'Results' }, { tab: 'results ' }],
  ['mail', { to: 'dana@example.com' }, { to: 'Dana <Dana@example.com>' }],
])(
  'whoever gets two messages by %s does so in whatever capitals the place is written',
  (sink, first: object, second: object) => {
    const rules = [first, second].map((place, at) => ({
      name: `r${at}`,
      when: {},
      then: [{ sink, ...place }],
    }));
    const routes = [...routesOf(planOf({ rules }))];
    expect(routes.map(({ twice }) => twice.length)).toEqual(routes.map(() => 1));
  },
);

/** Holds a route against all events of its cell. */
function hold(plan: Plan, route: Route, ofCell: readonly EventWithFacts[]): void {
  const outcomes = ofCell.map((one) => {
    const { event, facts } = one;
    const { rules, actions } = explain(plan, event, facts, now);
    const subject = { event, test: plan.test(event.testId), facts };
    const said = route.heardBy.filter(({ rest }) => rest === null || rest.holds(subject) === true);
    const matched = rules.flatMap(({ matched: isMatch }, index) => (isMatch ? [index] : []));
    const isMeant =
      matched.length === 0 ? plan.silent.unmatched : matched.some((at) => plan.silent.rules.has(at));
    const places = placesOf(plan, one);
    return {
      ...one,
      said: said.map(({ action: { rule, action: index } }) => `${rule} ${index}`).join(),
      done: actions.map(({ planned }) => `${planned.rule} ${planned.action}`).join(),
      isUnheard: actions.length === 0,
      isMeant,
      isTwice: new Set(places).size < places.length,
      matched,
    };
  });
  // One assertion for all, as there are a hundred thousand.
  expect(outcomes.filter(({ said, done }) => said !== done)).toEqual([]);
  const unheard = outcomes.filter(({ isUnheard }) => isUnheard);
  // Conditions that contradict each other are only words to the routes.
  expect(route.nobody && unheard.length < outcomes.length).toBe(false);
  expect(route.nobody || route.otherwiseNobody).toBe(unheard.length > 0);
  expect(route.unheard !== null).toBe(unheard.some(({ isMeant }) => !isMeant));
  expect(route.twice.length > 0).toBe(outcomes.some(({ isTwice }) => isTwice));
  for (const at of new Set(outcomes.flatMap(({ matched }) => matched))) expect(route.reached).toContain(at);
  for (const at of route.taken?.rules ?? []) expect(route.reached).not.toContain(at);
}

function orNull<T>(make: () => T): T | null {
  try {
    return make();
  } catch (error) {
    if (error instanceof ConfigError) return null;
    throw error;
  }
}
