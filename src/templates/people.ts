import { toValue } from 'liquidjs';
import type { Context } from 'liquidjs';
import type { Status } from '../model.ts';
import { memo } from '../support/text.ts';
import type { TextName } from '../words/wording.ts';
import type { Setting } from './data.ts';

/** The `this` of a filter. The context is the engine's Rendering, which has the setting of its action. */
export interface Call {
  readonly context: Context;
}

export const settingOf = ({ context }: Call): Setting => (context as unknown as { setting: Setting }).setting;

const statusTexts = {
  Completed: 'completed',
  DidNotTake: 'didNotTake',
  Canceled: 'canceled',
} as const satisfies { readonly [status in Status]: TextName };

/** Longer ids are cut (characters). */
const longestShort = 12;

/** Filters that show values as people say them. */
export const peopleFilters = {
  words(this: Call, value: unknown): unknown {
    const status: unknown = toValue(value);
    return typeof status === 'string' && Object.hasOwn(statusTexts, status)
      ? settingOf(this).wording.say(statusTexts[status as Status])
      : status;
  },
  /** The beginning of an id, enough to compare by eye. */
  short(value: unknown): unknown {
    const id: unknown = toValue(value);
    if (typeof id !== 'string' || id.length <= longestShort) return id;
    return `${id.slice(0, 8).replace(/[\uD800-\uDBFF]$/, '')}…`;
  },
  number(this: Call, value: unknown): unknown {
    const number: unknown = toValue(value);
    return typeof number === 'number' ? numberFormat(settingOf(this).locale).format(number) : number;
  },
};

const numberFormat = memo(20, (locale) => new Intl.NumberFormat(locale));

type Moment = Temporal.ZonedDateTime;
type Format = Intl.DateTimeFormatOptions;

/** Cached, as making a format takes far longer than using it. */
const dateFormat = memo(100, (key) => {
  const [locale, options] = JSON.parse(key) as [string, Format];
  return new Intl.DateTimeFormat(locale, options);
});

const formatOf = ({ timeZoneId: timeZone }: Moment, locale: string, format: Format) =>
  dateFormat(JSON.stringify([locale, { ...format, timeZone }]));

const day: Format = { day: 'numeric', month: 'short' };

/** The time of day in messages and pages: `13:05`, `09:05`; `1:05 PM` in a locale that counts to twelve. */
export const clockIn = memo(20, (locale): Format => {
  const { hour12 } = new Intl.DateTimeFormat(locale, { hour: 'numeric' }).resolvedOptions();
  return { hour: hour12 ? 'numeric' : '2-digit', minute: '2-digit' };
});

const dateAndTime = (locale: string): Format => ({
  weekday: 'short',
  year: 'numeric',
  ...day,
  ...clockIn(locale),
  timeZoneName: 'short',
});

/** `20 Nov, 13:05` in the locale's form, for lists that name the year and the zone elsewhere. */
export const inShort = (moment: Moment, locale: string): string =>
  inLocale(moment, locale, moment, { ...day, ...clockIn(locale) });

/** `Fri, 20 Nov 2026, 13:05 CET` in the locale's form; `13:05–15:25` with `until`. */
export function inLocale(
  moment: Moment,
  locale: string,
  until = moment,
  parts = dateAndTime(locale),
): string {
  const range = formatOf(moment, locale, parts).formatRange(
    moment.epochMilliseconds,
    until.epochMilliseconds,
  );
  // Locale data have narrow spaces, which many fonts lack.
  return range.replaceAll(/[\u2009\u202F]/g, ' ');
}

/** The month's name as in a date, as some languages have another form there. */
export function monthName(moment: Moment, locale: string, month: 'long' | 'short'): string {
  const parts = formatOf(moment, locale, { day: 'numeric', month }).formatToParts(moment.epochMilliseconds);
  return parts.find(({ type }) => type === 'month')?.value ?? '';
}

export function dayName(moment: Moment, locale: string, weekday: 'long' | 'short'): string {
  return formatOf(moment, locale, { weekday }).format(moment.epochMilliseconds);
}
