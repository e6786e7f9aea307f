import { z } from 'zod';
import { isMap, type Json } from '../model.ts';
import { type Hours, nextOpen, type Week, type Windows } from '../rules/calendar.ts';
import { eventFieldNames, fieldOf, type LookupFields, nestedPattern } from '../rules/fields.ts';
import type { Digest, Lookup, Plan } from '../rules/plan.ts';
import { type Path, strings, valueAt } from '../support/json.ts';
import { orList } from '../support/text.ts';
import { timeZoneOf } from '../templates/dates.ts';
import { type PlanSource, ruleActions } from './plan-source.ts';
import type { Settings } from './settings.ts';
import { namedIn, type NamedSection } from './text/named.ts';
import { error, type Fault, warning } from './text/problems.ts';
import { duration, durationMeant, durationText, parseDuration, writeInstead } from './text/units.ts';
import { type Reading, validate } from './text/validate.ts';

const timeExpected = 'expected a time of day such as "08:00"';

const timeError = ({ input }: { readonly input?: unknown }): string => {
  const meant = meantTime(String(input));
  return timeExpected + writeInstead(meant && `"${meant}"`, input);
};

/** A time of day, as a part of patterns. These are in the JSON Schema, too, where no flag can follow them. */
export const clockPattern = String.raw`([01]\d|2[0-3]):[0-5]\d`;

const timeOfDay = z.string({ error: timeError }).regex(new RegExp(`^${clockPattern}$`), { error: timeError });

/** The time of day that `9:00`, `9am` or `17h30` means; null if it means none. */
function meantTime(text: string): string | null {
  const [, hour = '', minute = '00', half = ''] =
    /^\s*(\d{1,2})(?:[:.h](\d{2}))?\s*(am|pm)?\s*$/i.exec(text) ?? [];
  const hours = half === '' ? Number(hour) : (Number(hour) % 12) + (half.toLowerCase() === 'pm' ? 12 : 0);
  return hour === '' || hours > 23 || Number(minute) > 59
    ? null
    : `${String(hours).padStart(2, '0')}:${minute}`;
}

/** `08:30` in minutes since midnight. */
function minuteOfDay(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}

const zoneExpected = 'expected a time zone such as Europe/Zagreb';

export const timeZoneName = z.string({ error: zoneExpected }).superRefine((name, context) => {
  if (name !== '' && timeZoneOf(name) !== null && !isOffset(name)) return;
  const isShort = /^[A-Z]{2,5}$/.test(name);
  const why = isOffset(name)
    ? ': an offset has no summer time'
    : isShort
      ? ': a place, since such letters are not the same all year or everywhere'
      : '';
  const message = zoneExpected + why;
  const params = { candidates: isShort ? [] : Intl.supportedValuesOf('timeZone') };
  context.addIssue({ code: 'custom', message, params });
});

const isOffset = (name: string): boolean => /^[+-]\d/.test(name);

/** In the order of ISO weekdays; Monday is 1. */
const dayNames = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const dayName = z.enum(dayNames, {
  error: ({ input }) => `expected ${orList(dayNames)}${daysMeant(input)}`,
});

/** The advice for a text such as `mon-fri`, as the end of a sentence; empty for other texts. */
function daysMeant(input: unknown): string {
  if (/^(?:week|work|business|working)[ -]?days?$/i.test(String(input))) return daysMeant('mon-fri');
  const [, from = '', to = ''] = /^(\w{3})\w*\s*(?:-|–|to)\s*(\w{3})\w*$/i.exec(String(input)) ?? [];
  const [first, last] = [from, to].map((day) => dayNames.findIndex((name) => name === day.toLowerCase()));
  if (first === undefined || last === undefined || first < 0 || last < 0) return '';
  const days =
    first <= last
      ? dayNames.slice(first, last + 1)
      : [...dayNames.slice(first), ...dayNames.slice(0, last + 1)];
  return ` (write [${days.join(', ')}])`;
}

/** A weekday in any case, as clockPattern. */
export const weekdayPattern = dayNames
  .map((day) => Array.from(day, (letter) => `[${letter.toUpperCase()}${letter}]`).join(''))
  .join('|');

const weekPattern = new RegExp(`^(${weekdayPattern}) ${clockPattern}$`);

const weekError = ({ input }: { readonly input?: unknown }): string =>
  `expected a day and a time such as "Mon 09:00"${writeInstead(meantWeek(String(input)), input)}`;

/** The schema of a time of the week, such as `Mon 09:00`. */
export const timeOfWeek = z.string({ error: weekError }).regex(weekPattern, { error: weekError });

/** The time of a week that `Monday, 9:00` or `monday 9am` means; null if it means none. */
export function meantWeek(text: string): string | null {
  const [, day = '', time = ''] = /^\s*([a-z]{3})[a-z]*[\s,]+(?:at\s+)?(.*)$/i.exec(text) ?? [];
  const meant = `${day.slice(0, 1).toUpperCase()}${day.slice(1).toLowerCase()} ${meantTime(time)}`;
  return weekPattern.test(meant) ? meant : null;
}

/** Parses a time of a week, such as `Mon 09:00`, that timeOfWeek has accepted. */
export function toWeek(text: string, timeZone: string): Week {
  const [day = '', time = ''] = text.toLowerCase().split(' ');
  return { timeZone, weekday: weekdayOf(day), minute: minuteOfDay(time) };
}

/** The ISO weekday (1 is Monday) of `mon`, `Tue` and so on. */
export const weekdayOf = (day: string): number =>
  dayNames.findIndex((name) => name === day.toLowerCase()) + 1;

export const hoursSchema = z
  .strictObject({
    timezone: timeZoneName
      .optional()
      .describe("The IANA name of the time zone that the times are in; without it, the config's `timezone`."),
    days: z
      .array(dayName, { error: ({ input }) => `expected a list of days${daysMeant(input)}` })
      .min(1, { error: 'expected at least one day: without any it would never open' })
      .default(['mon', 'tue', 'wed', 'thu', 'fri'])
      .describe('The days on which it is open.'),
    from: timeOfDay.describe('When it opens, in quotes.'),
    to: z
      .union([timeOfDay, z.literal('24:00')], { error: 'expected a time of day such as "18:00"' })
      .describe('When it closes, up to `"24:00"`; not after `from`, it is on the next day.'),
    closed: z
      .array(z.iso.date({ error: 'expected a date such as 2026-12-25' }))
      .max(1000)
      .default([])
      .describe('Dates on which it does not open, as in `2026-12-25`; at most 1000.'),
  })
  .refine(({ from, to }) => from !== to, {
    path: ['to'],
    error: 'it closes when it opens; for the whole day, write from "00:00" to "24:00"',
  });

const hoursSection: NamedSection = {
  section: 'hours',
  is: 'a map from names to opening hours',
  nameless: { key: 'from', one: 'opening hours', name: 'a name of yours, such as office' },
};

/** Opening hours by name; null for those with faults. `usual`: the config's time zone. */
export function readHours(raw: Json | undefined, usual: string, reading: Reading): Map<string, Hours | null> {
  const found = new Map<string, Hours | null>();
  for (const { name, written, path } of namedIn(raw, hoursSection, reading.report)) {
    const read = validate({ schema: hoursSchema, raw: written, path }, reading);
    const hours = read && {
      name,
      timeZone: read.timezone ?? usual,
      days: new Set(read.days.map(weekdayOf)),
      fromMinute: minuteOfDay(read.from),
      toMinute: minuteOfDay(read.to),
      closed: new Set(read.closed),
    };
    const closing = hours && firstDayOfNoOpening(hours);
    found.set(name, closing === undefined ? (hours ?? null) : null);
    if (closing === undefined) continue;
    const message = `it does not open for more than a year from ${closing} on; messages would wait for ever`;
    reading.report(error([...path, 'closed'], message));
  }
  return found;
}

/** The closed date after which it never opens again. Past dates do not count. */
function firstDayOfNoOpening(hours: Hours): string | undefined {
  const today = Temporal.Now.plainDateISO(hours.timeZone).toString();
  const coming = [...hours.closed].filter((date) => date >= today).toSorted();
  return coming.find((date) => {
    const midnight = Temporal.PlainDate.from(date).toZonedDateTime(hours.timeZone);
    return nextOpen(hours, midnight.epochMilliseconds) === null;
  });
}

const fieldPattern = `^(${eventFieldNames.join('|')})$|${nestedPattern.source}`;
export const fieldExpected = `expected ${eventFieldNames.join(', ')}, or test. and a key of the catalog`;

const field = z
  .string({ error: fieldExpected })
  .superRefine((name, context) => {
    if (new RegExp(fieldPattern).test(name)) return;
    const params = { candidates: eventFieldNames };
    context.addIssue({ code: 'custom', message: fieldExpected, params });
  })
  .meta({ pattern: fieldPattern });

const digestShape = {
  every: duration({ min: '1s', max: '31d' })
    .optional()
    .describe('How long to collect events for one message; the message goes at multiples of it.'),
  at: z
    .union([timeOfDay, z.array(timeOfDay).min(1)], { error: `${timeExpected}, or a list of them` })
    .optional()
    .describe('The time of day at which the message goes, or several, instead of `every`.'),
  timezone: timeZoneName
    .optional()
    .describe(
      "The time zone of `every` and `at`; without it, that of the action's hours, or else the config's `timezone`.",
    ),
  by: z
    .union([field, z.array(field).min(1)], { error: fieldExpected })
    .optional()
    .describe(
      'Events that agree in this field, or in all of these, share a message: `status`, `testId`, `candidateId`, `candidateNumericalId`, `test.team` and so on.',
    ),
  max: z
    .int()
    .min(1)
    .max(1000)
    .default(100)
    .describe('The most events of one message, at most 1000; what is beyond goes into further messages.'),
};

export const digestSchema = z
  .strictObject(digestShape, {
    error: ({ code, input }) => {
      if (code !== 'invalid_type') return undefined;
      const every = typeof input === 'string' ? durationMeant(input) : null;
      const daily = every === '24h' || every === '1d' ? ' or { at: "08:00" }' : '';
      return `expected a map such as { every: ${every ?? '1h'} }${daily}`;
    },
  })
  .refine(({ every, at }) => (every === undefined) !== (at === undefined), {
    error: ({ input }) =>
      (input as { every?: unknown }).every === undefined
        ? 'expected either "every" or "at"'
        : 'expected "every" or "at", not both',
    when: ({ value }) => isMap(value as Json),
  });

export type ReadDigest = z.output<typeof digestSchema>;

/** Compiles a digest. `timeZone`: that of the action's hours, or else the config's. */
export function toDigest(
  { every, at, timezone, by, max }: ReadDigest,
  timeZone: string,
  lookups: LookupFields,
  apart: Pick<Digest, 'place' | 'contentId' | 'conceal'>,
): Digest {
  const zone = { timeZone: timezone ?? timeZone };
  const windows: Windows =
    every === undefined ? { ...zone, atMinutes: listOf(at).map(minuteOfDay) } : { ...zone, everyMs: every };
  return { windows, max, by: listOf(by).map((name) => fieldOf(name, lookups)), ...apart };
}

/** One value, several or none, as a list. */
export const listOf = (value: string | readonly string[] = []): readonly string[] =>
  typeof value === 'string' ? [value] : value;

/** Warns of times at which a digest never goes, because its hours are closed. Only if both have the same time zone. */
export function checkDigestTimes({ at, timezone }: ReadDigest, hours: Hours, path: Path): Fault[] {
  const { name, fromMinute, toMinute } = hours;
  if (timezone !== undefined && timezone !== hours.timeZone) return [];
  return strings(at ?? null, [...path, 'at']).flatMap(({ text, path: place }) => {
    const minute = minuteOfDay(text);
    const [began, ended] = [minute >= fromMinute, minute >= toMinute];
    const isOpen = fromMinute < toMinute ? began && !ended : began || !ended;
    return isOpen
      ? []
      : [warning(place, `${name} is closed at ${text}; the message goes when ${name} opens`)];
  });
}

/** Reports digests that collect for longer than events are kept. */
export function checkDigestRetention(source: PlanSource, { store }: Partial<Settings>): Fault[] {
  return ruleActions(source).flatMap(({ action, path }) => {
    const every = valueAt(action, ['digest', 'every']);
    const everyMs = typeof every === 'string' ? parseDuration(every) : null;
    if (!store || everyMs === null || everyMs <= store.retentionMs) return [];
    const message = 'this is longer than events are kept; collect for less, or raise store.retention';
    return [error([...path, 'digest', 'every'], message)];
  });
}

/** Warns of digests that may collect for longer than a look-up keeps the personal facts that they name. */
export function checkDigestFacts(source: PlanSource, plan: Plan | null): Fault[] {
  if (!plan || plan.lookups.size === 0) return [];
  return ruleActions(source).flatMap(({ action, path }) => {
    const read = digestSchema.safeParse(valueAt(action, ['digest'])).data;
    if (!read) return [];
    const collectsMs = longestMs(read);
    const texts = strings(action).map(({ text }) => text);
    const isNamed = ({ name, fields }: Lookup) =>
      fields
        .entries()
        .some(([fact, { personal }]) => personal && texts.some((text) => text.includes(`${name}.${fact}`)));
    return [...plan.lookups.values()].flatMap((lookup) => {
      const { name, keepMs } = lookup;
      if (keepMs === null || keepMs >= collectsMs || !isNamed(lookup)) return [];
      const message = `this collects for up to ${durationText(collectsMs)}, and the personal fields of "${name}" are kept for ${durationText(keepMs)}: a message may go without them, or not to whom they name; collect for less, or raise lookups.${name}.keep`;
      return [warning([...path, 'digest'], message)];
    });
  });
}

/** How long a digest may collect, but for its hours (ms). */
function longestMs({ every, at }: ReadDigest): number {
  if (every !== undefined) return every;
  const minutes = listOf(at)
    .map(minuteOfDay)
    .toSorted((a, b) => a - b);
  const gaps = minutes.map((minute, index) => (minutes[index + 1] ?? minutes[0]! + 24 * 60) - minute);
  return Math.max(...gaps) * 60_000;
}
