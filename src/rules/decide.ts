import {
  type ActionRef,
  type Event,
  type Facts,
  type Json,
  noFacts,
  type PlannedDelivery,
} from '../model.ts';
import type { RaisedNotice } from '../model/notices.ts';
import { noticeData, templateData, testWith } from '../templates/data.ts';
import { nextOpen, windowEnd } from './calendar.ts';
import type { ConditionInput } from './fields.ts';
import type { Action, Digest, Explanation, Plan } from './plan.ts';

/** The deliveries of an event, in the order of the rules and their actions. Pure. Called for every event. */
export function decide(plan: Plan, event: Event, facts: Facts, now: number): PlannedDelivery[] {
  const subject = subjectOf(plan, event, facts);
  return actionsFor(plan, subject).map((action) => planned(action, event, subject, now));
}

/** Decides as `decide` does, and explains each rule's verdict. */
export function explain(plan: Plan, event: Event, facts: Facts, now: number): Explanation {
  const subject = subjectOf(plan, event, facts);
  const actions = actionsFor(plan, subject).map((action) => ({
    action,
    planned: planned(action, event, subject, now),
  }));
  const rules = plan.rules.explain(subject).map(({ rule, matched, because }) => {
    return { rule, matched, because: plan.mask(because) };
  });
  return { rules, actions };
}

export const subjectOf = (plan: Plan, event: Event, facts: Facts): ConditionInput => ({
  event,
  test: testWith(plan.test(event.testId), facts),
  facts,
});

/** Of the given facts, those of look-ups that the plan makes for this event. */
export function lookedUpFor(plan: Plan, event: Event, given: Facts): Facts {
  const subject = subjectOf(plan, event, noFacts);
  const isMade = (lookup: string) => plan.lookups.get(lookup)?.applies(subject) === true;
  return Object.fromEntries(Object.entries(given).filter(([lookup]) => isMade(lookup)));
}

export function actionsFor(plan: Plan, subject: ConditionInput): readonly Action[] {
  const matched = plan.rules.match(subject);
  if (matched.length === 0) return plan.unmatched;
  const [first = 0] = matched;
  return matched.length === 1 ? (plan.then[first] ?? []) : matched.flatMap((index) => plan.then[index] ?? []);
}

function planned(action: Action, event: Event, subject: ConditionInput, now: number): PlannedDelivery {
  const { rule, action: index, sink, connector } = action;
  const { test, facts } = subject;
  const { dueAt, group, groupMax } = schedule(action, event, subject, now);
  // The lane is by the place that the message goes to, as the deliveries of a digest are claimed from one lane.
  const lane = action.lane(() => templateData(event, test, facts, rule, dueAt));
  return { rule, action: index, sink, connector, lane, dueAt, group, groupMax };
}

/** The delivery of an alert's action. Never part of a digest; due now or when its hours open. */
export function planNotice(action: Action, notice: RaisedNotice, now: number): PlannedDelivery {
  const { rule, action: index, sink, connector } = action;
  const dueAt = openFrom(action, now);
  const lane = action.lane(() => noticeData(notice, rule, dueAt));
  return { rule, action: index, sink, connector, lane, dueAt, group: null, groupMax: null };
}

/** When a delivery is due, and which other deliveries share its message. */
export type Schedule = Pick<PlannedDelivery, 'dueAt' | 'group' | 'groupMax'>;

/**
 * Schedules a delivery. Without hours and digest, it is due now and has its own message. Hours move `dueAt`; a digest also
 * sets a group: deliveries with the same group become one message.
 */
export function schedule(action: Action, event: Event, subject: ConditionInput, now: number): Schedule {
  const { digest } = action;
  const dueAt = openFrom(action, digest ? windowEnd(digest.windows, now) : now);
  if (!digest) return { dueAt, group: null, groupMax: null };
  const agreed = [...agreedIn(digest, action, event, subject, dueAt), digest.contentId];
  return { dueAt, group: digest.conceal(JSON.stringify(agreed)), groupMax: digest.max };
}

/** What the events of a digest agree in, apart from the content of its message (`contentId`). */
export function agreedIn(
  digest: Digest,
  { rule, action }: ActionRef,
  event: Event,
  subject: ConditionInput,
  dueAt: number,
): Json[] {
  const values = digest.by.map((field) => field.read(subject) ?? null);
  const place = digest.place(templateData(event, subject.test, subject.facts, rule, dueAt));
  // With the due time instead of the window's end, windows that end outside opening hours share one message.
  return [rule, action, new Date(dueAt).toISOString(), values, place];
}

/** The first moment from `time` on (ms) at which the action's hours are open. */
export function openFrom({ hours }: Pick<Action, 'hours'>, time: number): number {
  // Loading a config refuses hours that never open. If a stored config has such hours, send anyway.
  return hours ? (nextOpen(hours, time) ?? time) : time;
}
