import { plain } from '../src/connector.ts';
import { noFacts, statuses, unknownOfEvent } from '../src/model.ts';
import type { Event, Json, Status } from '../src/model.ts';
import { compileRules } from '../src/rules/match.ts';
import { decide } from '../src/rules/decide.ts';
import type { Action, Plan } from '../src/rules/plan.ts';
import type { When } from '../src/rules/conditions.ts';
import { compileFields } from '../src/templates/template.ts';
import { english } from '../src/words/wording.ts';

const few = 10;
const many = 10_000;
const highestRatio = 2;
const decisionsPerTurn = 5000;
const turns = 21;

/** What the rules of a config test. Every event matches one rule, in the small config as in the large one. */
const kinds: { readonly [name: string]: (index: number) => When } = {
  'a test each': (index) => ({ testId: index }),
  'a test and a status each': (index) => ({ status: statusOf(index), testId: { in: [index] } }),
  'more than the index tells': (index) => ({ testId: index, candidateId: { matches: '^[0-9a-f]+$' } }),
};

/**
 * Deciding with ten thousand rules against deciding with ten, in turns on the same core: one rule matches, with a Slack
 * message to the channel that the catalog names and a row in a sheet.
 */
export async function benchRules(): Promise<
  { name: string; ratio: number; detail: string; target: string; met: boolean }[]
> {
  return Object.entries(kinds).map(([name, whenOf]) => {
    const [small, large] = compare(planOf(few, whenOf), planOf(many, whenOf));
    const ratio = large / small;
    return {
      name: `deciding with ${many} rules against ${few}: ${name}`,
      ratio,
      detail: `${large.toFixed(2)} µs against ${small.toFixed(2)} µs`,
      target: `at most ${highestRatio}`,
      met: ratio <= highestRatio,
    };
  });
}

function planOf(count: number, whenOf: (index: number) => When): Plan {
  const indexes = Array.from({ length: count }, (_, index) => index);
  const catalog = new Map(indexes.map((index) => [index, { id: index, channel: `#team-${index % 100}` }]));
  const rules = indexes.map((index) => ({ name: `rule ${index}`, when: whenOf(index), final: false }));
  const actions = rules.map(({ name }) => [slackAction(name), sheetAction(name)]);
  return {
    id: 'bench',
    rules: compileRules(rules),
    lookups: new Map(),
    // oxlint-disable-next-line unicorn/no-thenable -- the YAML's word
    then: actions,
    unmatched: [],
    silent: { rules: new Set(), unmatched: true },
    alerts: [],
    summary: null,
    test: (testId) => catalog.get(testId) ?? { id: testId, channel: null },
    testIds: indexes,
    timeZone: 'UTC',
    wording: english,
    mask: (text) => text,
  };
}

function slackAction(rule: string): Action {
  const written: { [key: string]: Json } = { channel: "{{ test.channel | default: '#hiring' }}" };
  const { fields } = compileFields(written, { channel: plain }, { test: new Set(['id', 'channel']) });
  if (!fields) throw new Error('the template of the benchmark is faulty');
  const lane: Action['lane'] = (data) => {
    const rendered = fields.render(data(), ['channel']);
    return 'fault' in rendered ? 'slack' : `slack ${JSON.stringify(rendered.fields['channel'])}`;
  };
  const render: Action['render'] = (data) => fields.render(data);
  return { rule, action: 0, sink: 'slack', connector: 'slack', ...plainly, lane, render };
}

function sheetAction(rule: string): Action {
  const [sink, connector] = ['sheet', 'google-sheets'];
  return { rule, action: 1, sink, connector, ...plainly, lane: () => sink, render: nothing };
}

const plainly = { hours: null, digest: null, audience: () => null };
const nothing = () => ({ fields: {} });

/** Microseconds a decision: the fastest of many turns, the one that the machine disturbed least. */
function compare(...plans: readonly [small: Plan, large: Plan]): [small: number, large: number] {
  const runs = plans.map((plan) => ({ plan, events: eventsFor(plan.testIds), times: [] as number[] }));
  for (let turn = 0; turn < turns; turn += 1) {
    for (const { plan, events, times } of runs) times.push(turnOf(plan, events));
  }
  const [small = Number.NaN, large = Number.NaN] = runs.map(({ times }) => Math.min(...times));
  return [small, large];
}

function turnOf(plan: Plan, events: readonly Event[]): number {
  let planned = 0;
  const start = performance.now();
  for (let turn = 0; turn < decisionsPerTurn; turn += events.length) {
    for (const event of events) planned += decide(plan, event, noFacts, start).length;
  }
  const elapsedMs = performance.now() - start;
  if (planned !== 2 * decisionsPerTurn)
    throw new Error(`expected two deliveries for each event, got ${planned}`);
  return (elapsedMs * 1000) / decisionsPerTurn;
}

/** As many for a small config as for a large one, for tests all over it. */
function eventsFor(testIds: readonly number[]): Event[] {
  return Array.from({ length: 1000 }, (_, index) => {
    const testId = (index * 7919) % testIds.length;
    const candidateId = index.toString(16).padStart(32, '0');
    const status = statusOf(testId);
    return { ...unknownOfEvent, candidateId, testId, status, id: `evt_${index}`, raw: {}, receivedAt: index };
  });
}

const statusOf = (index: number): Status => statuses[index % statuses.length] ?? 'Completed';
