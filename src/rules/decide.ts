import type { Event, PlannedDelivery } from '../model.ts';
import { templateData } from '../templates/data.ts';
import type { Action, Explanation, Plan } from './plan.ts';

/** Which deliveries follow from an event, in the order of the rules. Pure. */
export function decide(plan: Plan, event: Event, now: number): PlannedDelivery[] {
  return actionsFor(plan, event).map((action) => planned(plan, action, event, now));
}

/** The same, with a verdict on each rule. */
export function explain(plan: Plan, event: Event, now: number): Explanation {
  const subject = { event, test: plan.test(event.testId) };
  const actions = actionsFor(plan, event).map((action) => ({
    action,
    planned: planned(plan, action, event, now),
  }));
  return { rules: plan.rules.explain(subject), actions };
}

function actionsFor(plan: Plan, event: Event): readonly Action[] {
  const matched = plan.rules.match({ event, test: plan.test(event.testId) });
  if (matched.length === 0) return plan.unmatched;
  return matched.flatMap((index) => plan.then[index] ?? []);
}

function planned(plan: Plan, action: Action, event: Event, now: number): PlannedDelivery {
  const { rule, action: index, sink, connector } = action;
  const data = templateData(event, plan.test(event.testId), rule, now);
  return { rule, action: index, sink, connector, lane: action.lane(data), ...schedule(now) };
}

/** When a delivery is due, and with which others it becomes one message. */
function schedule(now: number): Pick<PlannedDelivery, 'dueAt' | 'group'> {
  return { dueAt: now, group: null };
}
