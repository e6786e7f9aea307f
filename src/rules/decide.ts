import type { Event, PlannedDelivery, RaisedNotice } from '../model.ts';
import { LazyTemplateData, noticeData } from '../templates/data.ts';
import type { Action, Explanation, Plan, Subject } from './plan.ts';
import { openFrom, schedule } from './schedule.ts';

/** The deliveries that an event causes, in the order of the rules and their actions. Pure; called for every event. */
export function decide(plan: Plan, event: Event, now: number): PlannedDelivery[] {
  const subject = subjectOf(plan, event);
  return actionsFor(plan, subject).map((action) => planned(action, event, subject, now));
}

/** As decide, with the reasons. */
export function explain(plan: Plan, event: Event, now: number): Explanation {
  const subject = subjectOf(plan, event);
  const actions = actionsFor(plan, subject).map((action) => ({
    action,
    planned: planned(action, event, subject, now),
  }));
  return { rules: plan.rules.explain(subject), actions };
}

const subjectOf = (plan: Plan, event: Event): Subject => ({ event, test: plan.test(event.testId) });

function actionsFor(plan: Plan, subject: Subject): readonly Action[] {
  const matched = plan.rules.match(subject);
  if (matched.length === 0) return plan.unmatched;
  const [first = 0] = matched;
  return matched.length === 1 ? (plan.then[first] ?? []) : matched.flatMap((index) => plan.then[index] ?? []);
}

function planned(action: Action, event: Event, { test }: Subject, now: number): PlannedDelivery {
  const { rule, action: index, sink, connector } = action;
  const lane = action.lane(new LazyTemplateData(event, test, rule, now));
  const { dueAt, group, groupMax } = schedule(action, event, test, now);
  return { rule, action: index, sink, connector, lane, dueAt, group, groupMax };
}

/** The delivery of an alert's action for a notice: alone, at once or when its hours open. */
export function planNotice(action: Action, notice: RaisedNotice, now: number): PlannedDelivery {
  const { rule, action: index, sink, connector } = action;
  const lane = action.lane(noticeData(notice, rule, now));
  const dueAt = openFrom(action, now);
  return { rule, action: index, sink, connector, lane, dueAt, group: null, groupMax: null };
}
