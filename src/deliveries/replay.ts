import type { Delivery, PlannedDelivery } from '../model.ts';
import { allActions, type Action, type Plan } from '../rules/plan.ts';
import type { AnyTemplateData } from '../templates/data.ts';

/**
 * Where today's plan has the action of an old delivery: under the same rule, at the same place if that still goes to
 * the same sink, else the rule's first action for the sink. Null when there is none. Pure.
 */
export function todaysAction(plan: Plan, delivery: Delivery): Action | null {
  const ofRule = allActions(plan).filter((action) => action.rule === delivery.rule);
  const sameSink = ofRule.filter((action) => action.sink === delivery.sink);
  return sameSink.find((action) => action.action === delivery.action) ?? sameSink[0] ?? null;
}

/** An old delivery as today's action plans it, due at once: a person who replays does not wait for opening hours. */
export function plannedByHand(action: Action, data: AnyTemplateData, now: number): PlannedDelivery {
  return {
    rule: action.rule,
    action: action.action,
    sink: action.sink,
    connector: action.connector,
    lane: action.lane(data),
    dueAt: now,
    group: null,
    groupMax: null,
  };
}
