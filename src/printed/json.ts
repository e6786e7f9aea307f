import {
  type Delivery,
  deliverySpec,
  type Event,
  eventSpec,
  type Json,
  shownInDetail,
  shownOfDelivery,
  shownOfEvent,
  told,
  toldFacts,
} from '../model.ts';
import { type RaisedNotice, type RefusedEvent, refusedEventSpec, shownOfRefused } from '../model/notices.ts';
import type { Attempt } from '../model/outcomes.ts';
import { foundBy, hidingPersonal } from '../lookups/kept-facts.ts';
import type { Verdict } from '../rules/plan.ts';
import { eventOf } from '../rules/policies/policy.ts';
import type { Proof } from '../rules/policies/prove.ts';
import type { Route } from '../rules/routes.ts';
import type {
  Change,
  DeliveryStory,
  EventDetail,
  EventStory,
  NoticeDetail,
  NoticeStory,
} from '../store/store.ts';
import { traceIdOf } from '../support/trace.ts';
import { maskTexts } from '../support/secret.ts';

/** The shapes that `--json` prints; the contract fixes their names. Times are ISO 8601 in UTC. */

const iso = (time: number): string => new Date(time).toISOString();

export const eventFields = (event: Event) => ({
  ...told(eventSpec, shownOfEvent, event),
  traceId: traceIdOf(event),
});

const deliveryFields = (delivery: Delivery) => told(deliverySpec, shownOfDelivery, delivery);

const attemptFields = (attempt: Attempt) => ({
  number: attempt.number,
  startedAt: iso(attempt.startedAt),
  endedAt: iso(attempt.endedAt),
  ...attempt.outcome,
});

/** `decided` and `facts` of a stored event. */
export const decidedFields = (
  { decided, lookups }: Pick<EventStory, 'decided' | 'lookups'>,
  which: 'all' | 'public',
) => ({ decided, facts: toldFacts(foundBy(lookups, which)) });

export function storyJson(story: EventStory) {
  // A receipt may have what was looked up, such as the address that a mail went to.
  const hide = hidingPersonal(story.lookups);
  return {
    ...eventFields(story.event),
    ...decidedFields(story, 'public'),
    duplicates: story.duplicates,
    deliveries: story.deliveries.map((one) =>
      deliveryFields({
        ...one,
        receipt: one.receipt && (maskTexts(one.receipt, hide) as Delivery['receipt']),
      }),
    ),
  };
}

/** An event as `event ID --json` prints it: all that `events --json` has, and more. */
export function detailJson(
  story: EventDetail,
  rules: readonly Verdict[] | { readonly fault: string },
  changes: readonly Change[],
) {
  return {
    ...eventFields(story.event),
    ...decidedFields(story, 'all'),
    duplicates: story.duplicates.length,
    repeats: story.duplicates.map((repeat) => ({ ...repeat, receivedAt: iso(repeat.receivedAt) })),
    raw: story.event.raw,
    rules: 'fault' in rules ? null : rules,
    ...('fault' in rules && { rulesLost: rules.fault }),
    deliveries: story.deliveries.map(deliveryDetailFields),
    changes: changes.map(changeFields),
  };
}

/** A notice without its deliveries. */
export const noticeFields = (notice: RaisedNotice) => ({
  ...notice,
  since: iso(notice.since),
  raisedAt: iso(notice.raisedAt),
});

export const noticeStoryJson = ({ notice, deliveries }: NoticeStory) => ({
  ...noticeFields(notice),
  deliveries: deliveries.map(deliveryFields),
});

export const noticeJson = ({ notice, deliveries }: NoticeDetail, changes: readonly Change[]) => ({
  ...noticeFields(notice),
  deliveries: deliveries.map(deliveryDetailFields),
  changes: changes.map(changeFields),
});

/** A refused event that is kept. */
export const refusedEventFields = (event: RefusedEvent) => told(refusedEventSpec, shownOfRefused, event);

/** A change that a person made. */
export const changeFields = ({ id: _, at, sink, ...change }: Change) => ({
  at: iso(at),
  ...change,
  ...(sink !== null && { sink }),
});

function deliveryDetailFields(delivery: DeliveryStory) {
  return {
    ...deliveryFields(delivery),
    ...told(deliverySpec, shownInDetail, delivery),
    message: delivery.message,
    history: delivery.history.map(attemptFields),
  };
}

/** A route as `routes --json` has it. */
export function routeFields({ cell: { testId, test, status }, heardBy, ...route }: Route) {
  return {
    testId,
    test: test['name'] ?? null,
    status,
    heardBy: heardBy.map(({ action, audience, rest }) => ({
      rule: action.rule,
      action: action.action,
      sink: action.sink,
      connector: action.connector,
      place: audience().place,
      condition: rest?.words ?? null,
      hours: action.hours?.name ?? null,
      digest: action.digest !== null,
    })),
    nobody: route.nobody,
    otherwiseNobody: route.otherwiseNobody,
    nobodyIf: route.nobodyIf,
    meant: (route.nobody || route.otherwiseNobody) && route.unheard === null,
    twice: route.twice.length > 0,
  };
}

/** A policy as `routes --json` has it. `why`: what is in the way of a proof. */
export const policyFields = (policy: Json, { holds, example, why }: Proof) => ({
  policy,
  holds,
  example: example && {
    at: iso(example.event.receivedAt),
    event: eventOf(example),
    messages: example.actions.map(({ rule, action, sink }) => ({ rule, action, sink })),
  },
  why,
});
