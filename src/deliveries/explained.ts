import type { Config } from '../config/config.ts';
import { prepare } from './prepare.ts';
import type { CandidateEvent, Event, Json, PlannedDelivery } from '../model.ts';
import { explain } from '../rules/decide.ts';
import type { Action, Verdict } from '../rules/plan.ts';
import { deliveryId } from '../support/ids.ts';
import { maskTexts } from '../support/secret.ts';
import { sampleEvent } from '../templates/data.ts';

/** What the rules make of an event that has not come, and each message as it would be sent. */
export interface Foresight {
  readonly event: Event;
  readonly rules: readonly Verdict[];
  readonly deliveries: readonly ExplainedDelivery[];
}

export interface ExplainedDelivery {
  readonly action: Action;
  readonly planned: PlannedDelivery;
  /** With secrets masked. Null where there is none; `problem` says why. */
  readonly message: Json;
  readonly problem?: string;
}

type Explaining = Pick<Config, 'plan' | 'sinks' | 'mask'>;

/** `now`: when the event comes (ms). */
export function explained(config: Explaining, fields: Partial<CandidateEvent>, now: number): Foresight {
  const event = sampleEvent(fields, now);
  const { rules, actions } = explain(config.plan, event, now);
  const deliveries = actions.map((one, index) =>
    Object.assign(messageOf(config, one.action, event, index, now), one),
  );
  return { event, rules, deliveries };
}

/** The message as the connector would send it, or the reason why there is none. */
function messageOf(
  config: Explaining,
  action: Action,
  event: Event,
  index: number,
  now: number,
): { message: Json; problem?: string } {
  const sink = config.sinks.get(action.sink);
  if (!sink) return { message: null, problem: `There is no sink ${action.sink}.` };
  const about = { events: [event], notice: null };
  const mask = (said: string) => config.mask(said);
  try {
    const prepared = prepare(action, about, deliveryId(event.id, index + 1), config.plan, sink, now);
    if (!('outcome' in prepared)) return { message: maskTexts(prepared.message, mask) };
    const problem = 'detail' in prepared ? prepared.detail : 'There is no message.';
    return { message: null, problem: mask(problem) };
  } catch (error) {
    // Which options a message needs is known to its connector only.
    if (!sink.isPartial) throw error;
    const problem = `This message cannot be made, as the sink ${action.sink} lacks a value from outside; \`check\` says which.`;
    return { message: null, problem };
  }
}
