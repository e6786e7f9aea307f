import type { Config } from '../config/config.ts';
import { statuses, type Event, type Json, type RaisedNotice } from '../model.ts';
import { prepare } from './prepare.ts';

const mostMessages = 200;
const notInCatalog = 0;

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
    tests.map((testId) => ({ action, told: { events: [sampleEvent(testId, now)], notice: null } })),
  );
  const ofAlerts = plan.alerts.flatMap(({ kind, actions }) =>
    actions.map((action) => ({ action, told: { events: [], notice: sampleNotice(kind, now) } })),
  );
  const messages = new Map<string, Json>();
  for (const { action, told } of [...ofEvents, ...ofAlerts]) {
    if (action.sink !== sinkName) continue;
    if (messages.size >= mostMessages) break;
    const prepared = prepare(action, told, 'dlv_sample', plan, sink, now);
    if ('message' in prepared) messages.set(JSON.stringify(prepared.message), prepared.message);
  }
  return [...messages.values()];
}

function sampleEvent(testId: number, now: number): Event {
  const candidateId = '0123456789abcdef0123456789abcdef';
  const status = statuses[0];
  return {
    id: 'evt_sample',
    candidateId,
    candidateNumericalId: null,
    testId,
    status,
    raw: { candidateId, testId, status },
    correlationId: null,
    receivedAt: now,
  };
}

function sampleNotice(alert: RaisedNotice['alert'], now: number): RaisedNotice {
  const words = { detail: 'Something is wrong.', advice: 'Look at it.' };
  return { id: 'ntc_sample', raisedAt: now, alert, cause: alert, sink: null, count: 1, since: now, ...words };
}
