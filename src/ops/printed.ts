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
import type { TextFile } from '../connector.ts';
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
import { csvLine, csvMark, type CsvSeparator } from '../support/text.ts';

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

/** `decided` and `facts` of an event. */
const decidedFields = (
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

type EventField = (typeof shownOfEvent)[number];
type Cell = string | number | null;

/** The fields of an event in a line of CSV. Their order is fixed; further fields come last. */
const inCsv = [...new Set<EventField>(['id', 'receivedAt', ...shownOfEvent])];

/** The fields of an event in the CSV of a digest: those that messages have. */
const inMessage = inCsv.filter((field) => field === 'receivedAt' || 'sent' in eventSpec[field]);

/** A line of CSV for an event. `test`: its name in the catalog, which stands after its id. */
const line = (
  separator: CsvSeparator,
  fields: readonly EventField[],
  values: Record<EventField, Cell>,
  test: string,
  ...more: Cell[]
): string =>
  csvLine(
    [...fields.flatMap((field) => (field === 'testId' ? [values[field], test] : [values[field]])), ...more],
    separator,
  );

const names = Object.fromEntries(shownOfEvent.map((field) => [field, field])) as Record<EventField, string>;

/** The first line of a CSV of events. Lines end with CR LF. */
export const eventsCsvHeader = (separator: CsvSeparator = ','): string =>
  line(separator, inCsv, names, 'test', 'duplicates', 'deliveries');

/** A line of CSV. `testName`: the name in the catalog, or empty. */
export const eventCsv = (
  { event, duplicates, deliveries }: EventStory,
  testName: string,
  separator: CsvSeparator = ',',
): string =>
  line(
    separator,
    inCsv,
    eventFields(event),
    testName,
    duplicates,
    deliveries.map(({ sink, state }) => `${sink}: ${state}`).join(', '),
  );

/**
 * The events of a digest as a CSV file, named by its rule and by when the last event came. It has no facts of look-ups:
 * people pass files on, and facts are kept for a time only.
 */
export function digestCsv(
  events: readonly Event[],
  testName: (testId: number) => string,
  rule: string,
  timeZone: string,
  separator: CsvSeparator,
): TextFile {
  const last = new Date(Math.max(...events.map(({ receivedAt }) => receivedAt)));
  const when = last.toTemporalInstant().toZonedDateTimeISO(timeZone).toPlainDateTime();
  const time = when.toString({ smallestUnit: 'minute' }).replace('T', '-').replace(':', '');
  const lines = [
    line(separator, inMessage, names, 'test'),
    ...events.map((event) => line(separator, inMessage, eventFields(event), testName(event.testId))),
  ];
  return {
    name: `${fileName(rule)}-${time}.csv`,
    text: csvMark + lines.map((one) => `${one}\r\n`).join(''),
  };
}

const fileName = (text: string): string =>
  text
    .slice(0, 60)
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '-')
    .replaceAll(/^-|-$/g, '') || 'events';

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
