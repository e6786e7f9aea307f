import type { Config } from '../config/config.ts';
import { statuses, type Event, type Json } from '../model.ts';
import { prepare } from './prepare.ts';

const mostMessages = 200;
const notInCatalog = 0;

/**
 * What the rules could send to a sink: each of its actions for each test of the catalog, without repeats. For asking
 * a tool whether it would take them; `now` is when the sample events come.
 */
export function sampleMessages(config: Config, sinkName: string, now: number): Json[] {
  const sink = config.sinks.get(sinkName);
  if (!sink) return [];
  const actions = [...config.plan.then.flat(), ...config.plan.unmatched].filter(
    (action) => action.sink === sinkName,
  );
  const messages = new Map<string, Json>();
  for (const action of actions) {
    for (const testId of [...config.plan.testIds, notInCatalog]) {
      if (messages.size >= mostMessages) break;
      const event = sampleEvent(testId, now);
      const told = { events: [event], notice: null };
      const prepared = prepare(action, told, 'dlv_sample', config.plan, sink, now);
      if ('message' in prepared) messages.set(JSON.stringify(prepared.message), prepared.message);
    }
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
