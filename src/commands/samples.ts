import type { CheckedConfig, Config, Problem } from '../config/config.ts';
import { prepare } from '../deliveries/prepare.ts';
import { type Event, type Json, type RaisedNotice, type Status, statuses } from '../model.ts';
import type { Action, Plan } from '../rules/plan.ts';

const mostMessages = 200;
const notInCatalog = 0;
/** For large configs, and for templates that take long. */
const triedForMs = 2000;
/** So much is said of one action; further reasons, and further tests of a reason, follow when these are mended. */
const mostReasons = 3;
const mostTests = 3;

/**
 * What the rules could send to a sink: each of its actions for each test of the catalog, without repeats. For asking
 * a tool whether it would take them; `now` is when the sample events come.
 */
export function sampleMessages(config: Config, sinkName: string, now: number): Json[] {
  const { plan, sinks } = config;
  const sink = sinks.get(sinkName);
  if (!sink) return [];
  const tests = [...plan.testIds, notInCatalog];
  const ofEvents = [...plan.then.flat(), ...plan.unmatched].flatMap((action) =>
    tests.map((testId) => ({ action, about: { events: [sampleEvent(testId, now)], notice: null } })),
  );
  const ofAlerts = plan.alerts.flatMap(({ kind, actions }) =>
    actions.map((action) => ({ action, about: { events: [], notice: sampleNotice(kind, now) } })),
  );
  const messages = new Map<string, Json>();
  for (const { action, about } of [...ofEvents, ...ofAlerts]) {
    if (action.sink !== sinkName) continue;
    if (messages.size >= mostMessages) break;
    const prepared = prepare(action, about, 'dlv_sample', plan, sink, now);
    if ('message' in prepared) messages.set(JSON.stringify(prepared.message), prepared.message);
  }
  return [...messages.values()];
}

/** A warning where a message cannot be made for an event that its rule takes: at the action, with the tests. */
export function sampleFailures(config: CheckedConfig, now: number): Problem[] {
  const failures = Map.groupBy(failed(config, now), ({ action }) => action);
  return [...config.places].flatMap(([action, place]) => {
    const reasons = Map.groupBy(failures.get(action) ?? [], ({ why }) => why);
    return [...reasons].slice(0, mostReasons).map(([why, ofReason]) => {
      const tests = testsText(ofReason, config.plan.testIds);
      return Object.assign(
        { severity: 'warning' as const, message: config.mask(`for ${tests}: ${why}`) },
        place,
      );
    });
  });
}

interface Failure {
  readonly action: Action;
  readonly testId: number;
  readonly why: string;
}

function failed({ plan, sinks }: Config, now: number): Failure[] {
  const until = performance.now() + triedForMs;
  const failures: Failure[] = [];
  for (const { action, event } of due(plan, now)) {
    if (performance.now() > until) break;
    const sink = sinks.get(action.sink);
    const about = { events: [event], notice: null };
    const prepared = sink && prepare(action, about, 'dlv_sample', plan, sink, now);
    if (prepared && 'detail' in prepared)
      failures.push({ action, testId: event.testId, why: prepared.detail });
  }
  return failures;
}

/** Every action with each sample event that comes to it: of every test and status, with and without a numerical id. */
function* due(plan: Plan, now: number) {
  for (const testId of [notInCatalog, ...plan.testIds])
    for (const status of statuses)
      for (const numericalId of [null, 4711]) {
        const event = sampleEvent(testId, now, status, numericalId);
        const matched = plan.rules.match({ event, test: plan.test(testId) });
        const actions =
          matched.length === 0 ? plan.unmatched : matched.flatMap((index) => plan.then[index] ?? []);
        for (const action of actions) yield { action, event };
      }
}

function testsText(failures: readonly Failure[], known: readonly number[]): string {
  const isOther = (testId: number) => Number(!known.includes(testId));
  const tests = [...new Set(failures.map(({ testId }) => testId))].toSorted(
    (a, b) => isOther(a) - isOther(b),
  );
  const shown = tests
    .slice(0, mostTests)
    .map((testId) => (known.includes(testId) ? `test ${testId}` : 'a test that is not in the catalog'));
  const more = tests.length - shown.length;
  return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function sampleEvent(
  testId: number,
  now: number,
  status: Status = statuses[0],
  candidateNumericalId: number | null = null,
): Event {
  const candidateId = '0123456789abcdef0123456789abcdef';
  return {
    id: 'evt_sample',
    candidateId,
    candidateNumericalId,
    testId,
    status,
    raw: { candidateId, ...(candidateNumericalId !== null && { candidateNumericalId }), testId, status },
    correlationId: null,
    receivedAt: now,
  };
}

function sampleNotice(alert: RaisedNotice['alert'], now: number): RaisedNotice {
  const words = { detail: 'Something is wrong.', advice: 'Look at it.' };
  return { id: 'ntc_sample', raisedAt: now, alert, cause: alert, sink: null, count: 1, since: now, ...words };
}
