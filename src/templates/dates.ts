import { toValue } from 'liquidjs';
import { type Call, dayName, inLocale, inShort, monthName, settingOf } from './people.ts';
import { zoned } from '../support/text.ts';

/**
 * Filters in place of LiquidJS's, which use the machine's time zone and are an hour off when its clock changes. Without a
 * format, a date has the locale's form.
 */
export const dateFilters = {
  date(this: Call, value: unknown, format?: unknown, zone?: unknown): unknown {
    return formatDate(this, value, String(toValue(format) ?? ''), zone);
  },
  /** From a date to a later one in the locale's form, in which common parts are written once. */
  date_range(this: Call, value: unknown, until?: unknown): unknown {
    const [from, to] = [value, until].map((date) => momentOf(this, date));
    return from && to ? inLocale(from, settingOf(this).locale, to) : formatDate(this, value, '');
  },
  date_to_xmlschema(this: Call, value: unknown, zone?: unknown): unknown {
    return formatDate(this, value, '%Y-%m-%dT%H:%M:%S%:z', zone);
  },
  date_to_rfc822(this: Call, value: unknown, zone?: unknown): unknown {
    return formatDate(this, value, '%a, %d %b %Y %H:%M:%S %z', zone);
  },
  date_to_string: dateInWords('%b'),
  date_to_long_string: dateInWords('%B'),
};

function dateInWords(month: string) {
  return function (this: Call, value: unknown, type?: unknown, style?: unknown): unknown {
    if (toValue(type) !== 'ordinal') return formatDate(this, value, `%d ${month} %Y`);
    return formatDate(this, value, toValue(style) === 'US' ? `${month} %-d%q, %Y` : `%-d%q ${month} %Y`);
  };
}

/** The locale's own forms of a date, by the format that asks for one. */
const localeForms = new Map<string, (moment: Moment, locale: string) => string>([
  ['', (moment, locale) => inLocale(moment, locale)],
  ['short', inShort],
]);

/** Whether a format is the name of one of the locale's forms, and has no signs such as `%d`. */
export const isLocaleForm = (format: string): boolean => localeForms.has(format);

/** Formats a date. Another value is returned unchanged. */
function formatDate(call: Call, value: unknown, format: string, zone?: unknown): unknown {
  const setting = settingOf(call);
  const timeZone = timeZoneOf(toValue(zone), setting.timeZone);
  const moment = momentOf(call, value, timeZone ?? 'UTC');
  if (moment === null) return toValue(value);
  const form = localeForms.get(format);
  if (form !== undefined) return form(moment, setting.locale);
  const text = strftime(moment, format, setting.locale);
  // Only literal zones are checked in advance. A wrong zone in an event must not make the message fail.
  return timeZone === null ? `${text} UTC` : text;
}

function momentOf(call: Call, value: unknown, timeZone = settingOf(call).timeZone): Moment | null {
  const { now } = call.context.environments as { now: string };
  const given: unknown = toValue(value);
  if (typeof given === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(given)) return beginOf(given, timeZone);
  const time = parseDate(given, now);
  return time === null ? null : zoned(time, timeZone);
}

/** When a day such as `2026-01-31` begins in a zone, so that it is that day in each; null if there is none. */
function beginOf(day: string, timeZone: string): Moment | null {
  try {
    return Temporal.PlainDate.from(day).toZonedDateTime(timeZone);
  } catch {
    return null;
  }
}

/** The range of JavaScript's dates. */
const maxTimeMs = 8.64e15;

/** Longer text, which may come from an event, is parsed neither as a date nor as a zone. */
const maxDateLength = 64;

/** Parses a date (ms since the epoch); null if it is none. Numbers and digits are seconds, as in Liquid. */
function parseDate(value: unknown, now: string): number | null {
  const text = typeof value === 'string' && value.length <= maxDateLength ? value : '';
  let timeMs = Number.NaN;
  if (typeof value === 'number' || /^\d+$/.test(text)) timeMs = Number(value) * 1000;
  else if (text === 'now' || text === 'today') timeMs = Date.parse(now);
  else if (/(Z|UTC|GMT|[+-]\d{2}:?\d{2})(\s*\(.*\))?$/i.test(text)) timeMs = Date.parse(text);
  // A time without a zone is in UTC. JavaScript would read it in the machine's zone.
  else if (text.trim() !== '')
    timeMs = Date.parse(/^\d{4}-\d{2}-\d{2}[T ]\d/.test(text) ? `${text}Z` : `${text} UTC`);
  return Math.abs(timeMs) <= maxTimeMs ? Math.trunc(timeMs) : null;
}

/** The zone's name in Temporal; `usual` if none is given, null if it does not exist. */
export function timeZoneOf(zone: unknown, usual = 'UTC'): string | null {
  if (zone === null || zone === undefined || zone === '') return usual;
  if (typeof zone !== 'string' && typeof zone !== 'number') return null;
  if (typeof zone === 'string' && zone.length > maxDateLength) return null;
  try {
    return new Temporal.ZonedDateTime(0n, typeof zone === 'number' ? offsetName(zone) : zone).timeZoneId;
  } catch {
    return null;
  }
}

/** The name of a zone given as minutes behind UTC, which LiquidJS takes, too. */
function offsetName(minutesBehind: number): string {
  const minutes = Math.abs(Math.trunc(minutesBehind));
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((part) =>
    String(part).padStart(2, '0'),
  );
  return `${minutesBehind > 0 ? '-' : '+'}${hour}:${minute}`;
}

type Moment = Temporal.ZonedDateTime;

/** The parameters of a code besides the date. */
interface CodeOptions {
  readonly flags: string;
  readonly width: number;
  readonly locale: string;
}

/** A format code: the text or number that it gives, and the width that a number is padded to. */
interface Code {
  readonly of: (moment: Moment, given: CodeOptions) => string | number;
  readonly width?: number;
  readonly fill?: ' ';
}

const hour12 = ({ hour }: Moment): number => hour % 12 || 12;
/** Weeks of the year, counted from its first Sunday (0) or Monday (1). */
const weekFrom = ({ dayOfYear, dayOfWeek }: Moment, firstDay: 0 | 1): number =>
  Math.floor((dayOfYear + 6 - ((dayOfWeek + 7 - firstDay) % 7)) / 7);
const combined = (format: string): Code => ({
  of: (moment, { locale }) => strftime(moment, format, locale),
});
const inMonths = (style: 'long' | 'short'): Code => ({
  of: (moment, { locale }) => monthName(moment, locale, style),
});
const inDays = (style: 'long' | 'short'): Code => ({
  of: (moment, { locale }) => dayName(moment, locale, style),
});

const codes: { readonly [letter: string]: Code } = {
  a: inDays('short'),
  A: inDays('long'),
  b: inMonths('short'),
  B: inMonths('long'),
  c: combined('%a %b %e %H:%M:%S %Y'),
  C: { of: ({ year }) => Math.floor(year / 100), width: 2 },
  d: { of: ({ day }) => day, width: 2 },
  D: combined('%m/%d/%y'),
  e: { of: ({ day }) => day, width: 2, fill: ' ' },
  F: combined('%Y-%m-%d'),
  G: { of: ({ yearOfWeek }) => yearOfWeek ?? '', width: 4 },
  h: inMonths('short'),
  H: { of: ({ hour }) => hour, width: 2 },
  I: { of: hour12, width: 2 },
  j: { of: ({ dayOfYear }) => dayOfYear, width: 3 },
  k: { of: ({ hour }) => hour, width: 2, fill: ' ' },
  l: { of: hour12, width: 2, fill: ' ' },
  L: { of: ({ millisecond }) => millisecond, width: 3 },
  m: { of: ({ month }) => month, width: 2 },
  M: { of: ({ minute }) => minute, width: 2 },
  n: { of: () => '\n' },
  N: {
    of: ({ millisecond }, { width }) =>
      String(millisecond)
        .padStart(3, '0')
        .slice(0, width || 9)
        .padEnd(width || 9, '0'),
  },
  p: { of: ({ hour }) => (hour < 12 ? 'AM' : 'PM') },
  P: { of: ({ hour }) => (hour < 12 ? 'am' : 'pm') },
  q: { of: ({ day }) => ordinal(day) },
  R: combined('%H:%M'),
  s: { of: ({ epochMilliseconds }) => Math.floor(epochMilliseconds / 1000) },
  S: { of: ({ second }) => second, width: 2 },
  t: { of: () => '\t' },
  T: combined('%H:%M:%S'),
  u: { of: ({ dayOfWeek }) => dayOfWeek },
  U: { of: (moment) => weekFrom(moment, 0), width: 2 },
  V: { of: ({ weekOfYear }) => weekOfYear ?? '', width: 2 },
  w: { of: ({ dayOfWeek }) => dayOfWeek % 7 },
  W: { of: (moment) => weekFrom(moment, 1), width: 2 },
  x: combined('%m/%d/%y'),
  X: combined('%H:%M:%S'),
  y: { of: ({ year }) => ((year % 100) + 100) % 100, width: 2 },
  Y: { of: ({ year }) => year, width: 4 },
  z: { of: ({ offset }, { flags }) => (flags.includes(':') ? offset : offset.replaceAll(':', '')) },
  Z: { of: ({ timeZoneId }) => timeZoneId },
  '%': { of: () => '%' },
};

const pattern = /%([-_0^#:]*)(\d{0,3})[EO]?(.)/gs;

/** The unknown codes of a format, with their `%`. */
export function unknownCodes(format: string): string[] {
  return [...format.matchAll(pattern)]
    .filter(([, , , letter = '']) => !(letter in codes))
    .map(([code]) => code);
}

/** Formats as Ruby's strftime does: `%-d.%-m.%Y %H:%M`. Unknown codes stay as they are. */
function strftime(moment: Moment, format: string, locale: string): string {
  return format.replaceAll(pattern, (whole: string, flags: string, width: string, letter: string) => {
    const code = codes[letter];
    if (!code) return whole;
    const text = String(code.of(moment, { flags, width: Number(width), locale }));
    return padded(code, cased(text, flags), flags, Number(width));
  });
}

function cased(text: string, flags: string): string {
  if (flags.includes('^')) return text.toUpperCase();
  if (!flags.includes('#')) return text;
  return /[a-z]/.test(text) ? text.toUpperCase() : text.toLowerCase();
}

function padded(code: Code, text: string, flags: string, minWidth: number): string {
  if (flags.includes('-')) return text;
  const width = minWidth || (code.width ?? 0);
  const defaultFill = code.fill ?? (code.width === undefined ? ' ' : '0');
  const fill = flags.includes('_') ? ' ' : flags.includes('0') ? '0' : defaultFill;
  if (fill === '0' && text.startsWith('-')) return `-${text.slice(1).padStart(width - 1, '0')}`;
  return text.padStart(width, fill);
}

function ordinal(day: number): string {
  if (day >= 11 && day <= 13) return 'th';
  return ['th', 'st', 'nd', 'rd'][day % 10] ?? 'th';
}
