import type { Attempt, Delivery, Event } from './model.ts';
import type { Verdict } from './rules/plan.ts';
import type { Route } from './rules/routes.ts';
import type { Change, DeliveryStory, Duplicate, EventStory } from './store/store.ts';
import { csvLine } from './support/text.ts';

/** The shapes that `--json` prints; the contract fixes their names. Times are ISO 8601 in UTC. */

const iso = (time: number): string => new Date(time).toISOString();

export function eventFields(event: Event) {
  return {
    id: event.id,
    candidateId: event.candidateId,
    candidateNumericalId: event.candidateNumericalId,
    testId: event.testId,
    status: event.status,
    receivedAt: iso(event.receivedAt),
    correlationId: event.correlationId,
  };
}

export function deliveryFields(delivery: Delivery) {
  return {
    id: delivery.id,
    rule: delivery.rule,
    action: delivery.action,
    sink: delivery.sink,
    connector: delivery.connector,
    state: delivery.state,
    dueAt: iso(delivery.dueAt),
    attempts: delivery.attempts,
    receipt: delivery.receipt,
    lastError: delivery.lastError,
  };
}

const attemptFields = (attempt: Attempt) => ({
  number: attempt.number,
  startedAt: iso(attempt.startedAt),
  endedAt: iso(attempt.endedAt),
  ...attempt.outcome,
});

export function storyJson(story: EventStory) {
  return {
    ...eventFields(story.event),
    duplicates: story.duplicates,
    deliveries: story.deliveries.map(deliveryFields),
  };
}

/** The story of `event ID`: what `events` prints, with everything that is known besides. */
export function detailJson(
  story: { event: Event; duplicates: readonly Duplicate[]; deliveries: readonly DeliveryStory[] },
  rules: readonly Verdict[] | { readonly fault: string },
  changes: readonly Change[],
) {
  return {
    ...eventFields(story.event),
    duplicates: story.duplicates.length,
    repeats: story.duplicates.map((repeat) => ({ ...repeat, receivedAt: iso(repeat.receivedAt) })),
    raw: story.event.raw,
    rules: 'fault' in rules ? null : rules,
    ...('fault' in rules && { rulesLost: rules.fault }),
    deliveries: story.deliveries.map(deliveryDetailFields),
    changes: changes.map(changeFields),
  };
}

/** What a person did. */
export const changeFields = ({ id: _, at, ...change }: Change) => ({ at: iso(at), ...change });

/**
 * `resendOf`: the delivery that a person sent again as this one. `carrier`: in a digest whose message was begun, the id of the delivery that it goes out under; otherwise null.
 */
export function deliveryDetailFields(delivery: DeliveryStory) {
  return {
    ...deliveryFields(delivery),
    carrier: delivery.carrier,
    resendOf: delivery.resendOf,
    uncertain: delivery.uncertain,
    message: delivery.message,
    history: delivery.history.map(attemptFields),
  };
}

/** The first line of a list of events as CSV. Lines end with CR LF. */
export const eventsCsvHeader = csvLine([
  'id',
  'receivedAt',
  'candidateId',
  'candidateNumericalId',
  'testId',
  'test',
  'status',
  'correlationId',
  'duplicates',
  'deliveries',
]);

/** `testName`: of the catalog, or nothing. */
export function eventCsv({ event, duplicates, deliveries }: EventStory, testName: string): string {
  const { id, receivedAt, candidateId, candidateNumericalId, testId, status, correlationId } =
    eventFields(event);
  const states = deliveries.map(({ sink, state }) => `${sink}: ${state}`).join(', ');
  return csvLine([
    id,
    receivedAt,
    candidateId,
    candidateNumericalId,
    testId,
    testName,
    status,
    correlationId,
    duplicates,
    states,
  ]);
}

/** As `routes --json` has it. */
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
    meant: (route.nobody || route.otherwiseNobody) && route.unheard === null,
    twice: route.twice.length > 0,
  };
}
