import type { NoticeData } from '../connector.ts';
import {
  type CandidateEvent,
  type Event,
  type EventData,
  eventSpec,
  type EventWithFacts,
  type Facts,
  isMap,
  type Json,
  type JsonMap,
  noFacts,
  statuses,
  told,
  unknownOfEvent,
} from '../model.ts';
import { missedCause, type Notice } from '../model/notices.ts';
import { english, type Wording } from '../words/wording.ts';

export type { EventData, NoticeData };

/** The data of an action's templates, with the facts of each look-up under its name. Missing values are null. */
export interface TemplateData {
  readonly event: EventData;
  /** The catalog's entry for the event's test, with `id`. Keys that only other entries have are null. */
  readonly test: JsonMap;
  readonly rule: { readonly name: string };
  /** ISO 8601 in UTC. */
  readonly now: string;
}

/** The data for a digest. Its `event` and `test` are those of its first event. */
export interface DigestTemplateData extends TemplateData {
  /** In order of acceptance, each with the catalog's entry for its test, and its facts under the look-ups' names. */
  readonly events: readonly (EventData & { readonly test: JsonMap })[];
}

/** The data for an action of an alert. The rule's name is `alerts.dead` and so on. */
export interface NoticeTemplateData extends Pick<TemplateData, 'rule' | 'now'> {
  readonly notice: NoticeData;
}

/** What a config says of all its messages. An action's hours may have another time zone. */
export interface Setting {
  /** The time zone of times for which a template names none. */
  readonly timeZone: string;
  /** The locale of dates and numbers. */
  readonly locale: string;
  /** The default texts, with the config's own. */
  readonly wording: Wording;
  /** The links of an event by name; null if the config has none. Throws if a template of them fails. */
  readonly links: ((data: TemplateData) => JsonMap) | null;
}

export const plainSetting: Setting = {
  timeZone: 'UTC',
  locale: english.locale,
  wording: english,
  links: null,
};

export type AnyTemplateData = TemplateData | DigestTemplateData | NoticeTemplateData;

const eventKeys = Object.keys(eventSpec) as (keyof Event)[];

export function eventData(event: Event): EventData {
  // Nearly no event has such maps, and looking costs nothing.
  return told(
    eventSpec,
    eventKeys,
    hasUnsafeMaps(event.raw) ? { ...event, raw: safeCopy(event.raw) as JsonMap } : event,
  );
}

/**
 * A prototype for maps with a key `toString` or `valueOf`. A filter that takes the map for a text or a number would call
 * these, and fail; this symbol takes precedence, and no event has one.
 */
const asPrimitive = {
  [Symbol.toPrimitive]: (wanted: string) => (wanted === 'number' ? Number.NaN : '[object Object]'),
};

function hasUnsafeMaps(value: Json): boolean {
  if (Array.isArray(value)) return value.some(hasUnsafeMaps);
  if (!isMap(value)) return false;
  for (const key in value)
    if (key === 'toString' || key === 'valueOf' || hasUnsafeMaps(value[key]!)) return true;
  return false;
}

function safeCopy(value: Json): Json {
  if (Array.isArray(value)) return value.map(safeCopy);
  if (!isMap(value)) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, safeCopy(inner)]));
  const isOrdinary = !Object.hasOwn(value, 'toString') && !Object.hasOwn(value, 'valueOf');
  return isOrdinary ? copy : Object.setPrototypeOf(copy, asPrimitive);
}

/** An event that nobody sent, to see what would be made of it. Its `raw` is what the service would send. */
export function sampleEvent(fields: Partial<CandidateEvent>, receivedAt: number): Event {
  const { candidateNumericalId = null, ...given } = fields;
  const sent = {
    candidateId: '0123456789abcdef0123456789abcdef',
    testId: 1234567,
    status: statuses[0],
    ...given,
  };
  const raw = candidateNumericalId === null ? sent : { ...sent, candidateNumericalId };
  const id = `evt_${'0'.repeat(26)}`;
  return { ...unknownOfEvent, ...sent, id, candidateNumericalId, raw, receivedAt };
}

/** The data of an action of `rule`, which is `unmatched` for the actions of `unmatched:`. */
export const templateData = (
  event: Event,
  test: JsonMap,
  facts: Facts,
  rule: string,
  now: number,
): TemplateData => ({
  ...fieldsOf(facts),
  event: eventData(event),
  test: testWith(test, facts),
  rule: { name: rule },
  now: new Date(now).toISOString(),
});

/** Facts by the names of look-ups and fields. Without look-ups, this must cost nothing. */
const fieldsOf = (facts: Facts) =>
  facts === noFacts
    ? null
    : Object.fromEntries(Object.entries(facts).map(([name, { fields }]) => [name, fields]));

/** A catalog entry with what the look-up `test` says where the catalog says nothing. */
export function testWith(test: JsonMap, { test: found }: Facts): JsonMap {
  if (!found) return test;
  const said = Object.entries(test).filter(([, value]) => value !== null);
  return { ...test, ...found.fields, ...Object.fromEntries(said) };
}

/** The data of a digest's message; `events` are one or more, and `testOf` is the plan's. */
export function digestData(
  events: readonly EventWithFacts[],
  testOf: (testId: number) => JsonMap,
  rule: string,
  now: number,
): DigestTemplateData {
  const [first] = events;
  if (!first) throw new Error('a digest has events');
  const all = events.map(({ event, facts }) => ({
    ...fieldsOf(facts),
    ...eventData(event),
    test: testWith(testOf(event.testId), facts),
  }));
  return {
    ...templateData(first.event, testOf(first.event.testId), first.facts, rule, now),
    events: all,
  };
}

/** The template data of a notice. `late`: the first words about one that may be over by now. */
export function noticeFields(notice: Notice, late: string | null): NoticeData {
  const { alert, cause, sink, from = null, count, since, detail, advice, recovered } = notice;
  const missed = cause.startsWith(`${alert} ${sink}: ${missedCause} `);
  return {
    alert,
    sink,
    from,
    count,
    since: new Date(since).toISOString(),
    detail: late === null ? detail : `${late}\n${detail}`,
    advice,
    recovered,
    missed,
    late: late !== null,
  };
}

export function noticeData(
  notice: Notice,
  rule: string,
  now: number,
  late: string | null = null,
): NoticeTemplateData {
  return { notice: noticeFields(notice, late), rule: { name: rule }, now: new Date(now).toISOString() };
}
