import type { Config } from '../config/config.ts';
import { aboutEvent, actionOf, prepare } from './prepare.ts';
import {
  type CandidateEvent,
  type Delivery,
  type Event,
  type Facts,
  type Json,
  noFacts,
  type PlannedDelivery,
} from '../model.ts';
import { foundBy } from '../lookups/kept-facts.ts';
import { explain, lookedUpFor } from '../rules/decide.ts';
import type { Action, Plan, Verdict } from '../rules/plan.ts';
import type { EventDetail } from '../store/store.ts';
import { deliveryId } from '../support/ids.ts';
import { maskTexts } from '../support/secret.ts';
import { sampleEvent } from '../templates/data.ts';

/** What the rules make of an invented event, with each message as it would be sent. */
export interface Foresight {
  readonly event: Event;
  /** The facts of the look-ups that are made for it. */
  readonly facts: Facts;
  readonly rules: readonly Verdict[];
  readonly deliveries: readonly ExplainedDelivery[];
}

export interface ExplainedDelivery {
  readonly action: Action;
  readonly planned: PlannedDelivery;
  /** The message with secrets masked; null if there is none, and `problem` says why. */
  readonly message: Json;
  readonly problem?: string;
}

/** Explains what would become of an event. `now`: when it comes (ms). `given`: the facts of its look-ups. */
export function explained(
  { plan, sinks, mask }: Pick<Config, 'plan' | 'sinks' | 'mask'>,
  fields: Partial<CandidateEvent>,
  now: number,
  given = noFacts,
): Foresight {
  const event = sampleEvent(fields, now);
  const facts = lookedUpFor(plan, event, given);
  const { rules, actions } = explain(plan, event, facts, now);
  const deliveries = actions.map(({ action, planned }, index): ExplainedDelivery => {
    const without = (problem: string) => ({ action, planned, message: null, problem });
    const sink = sinks.get(action.sink);
    if (!sink) return without(`There is no sink ${action.sink}.`);
    const about = aboutEvent(event, facts);
    try {
      const prepared = prepare(action, about, deliveryId(event.id, index + 1), plan, sink, planned.dueAt);
      if (!('outcome' in prepared)) return { action, planned, message: maskTexts(prepared.message, mask) };
      return without(mask('detail' in prepared ? prepared.detail : 'There is no message.'));
    } catch (error) {
      // Only the connector knows which options a message needs.
      if (!sink.isPartial) throw error;
      return without(
        `This message cannot be made, as the sink ${action.sink} lacks a value from outside; \`check\` says which.`,
      );
    }
  });
  return { event, facts, rules, deliveries };
}

/**
 * The message of a delivery that nothing was sent of yet, as it would be sent when it is due, with secrets masked. Null where
 * it cannot be made, and for a digest: that is about other events, too. `plan`: the one that the delivery was made by.
 */
export function messageAhead(
  { sinks, mask }: Pick<Config, 'sinks' | 'mask'>,
  plan: Plan,
  delivery: Delivery,
  { event, lookups }: Pick<EventDetail, 'event' | 'lookups'>,
  now: number,
): Json {
  const action = actionOf(plan, delivery);
  const sink = sinks.get(delivery.sink);
  if (!action || !sink || action.digest || action.unusable !== undefined) return null;
  if (action.connector !== sink.connector.name) return null;
  const about = aboutEvent(event, foundBy(lookups));
  const prepared = prepare(action, about, delivery.id, plan, sink, Math.max(now, delivery.dueAt));
  // An older plan may have secrets that today's config does not know.
  return 'outcome' in prepared ? null : maskTexts(prepared.message, (text) => mask(plan.mask(text)));
}
