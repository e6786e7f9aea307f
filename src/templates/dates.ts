import { toValue } from 'liquidjs';
import type { Context } from 'liquidjs';
import { strftime } from './strftime.ts';

interface Call {
  readonly context: Context;
}

/** Dates that LiquidJS would compute through the machine's own time zone, off by an hour around its clock changes. */

/** Milliseconds since the epoch; a number or digits are seconds, as in Liquid. Null: not a date. */
function parseDate(value: unknown, now: string): number | null {
  const time = Math.trunc(timeOf(value, now));
  return Math.abs(time) <= maxTime ? time : null;
}

/** The first and last moment that JavaScript's dates reach. */
const maxTime = 8.64e15;

function timeOf(value: unknown, now: string): number {
  if (typeof value === 'number') return value * 1000;
  if (typeof value !== 'string' || value.trim() === '' || value.length > longestDate) return Number.NaN;
  if (value === 'now' || value === 'today') return Date.parse(now);
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  return Date.parse(hasZone.test(value) || dateOnly.test(value) ? value : inUtc(value));
}

/** A longer text is no date; a stranger's may be very long. */
const longestDate = 64;

const hasZone = /(Z|UTC|GMT|[+-]\d{2}:?\d{2})(\s*\(.*\))?$/i;
const dateOnly = /^\d{4}-\d{2}-\d{2}$/;

/** A date without a zone is in UTC; JavaScript would read it in the machine's zone. */
function inUtc(value: string): string {
  return /^\d{4}-\d{2}-\d{2}[T ]\d/.test(value) ? `${value}Z` : `${value} UTC`;
}

/** The zone as Temporal names it, UTC without one, or null if there is no such zone. */
export function zoneOf(zone: unknown): string | null {
  if (zone === null || zone === undefined || zone === '') return 'UTC';
  if (typeof zone !== 'string' && typeof zone !== 'number') return null;
  try {
    return new Temporal.ZonedDateTime(0n, typeof zone === 'number' ? offsetName(zone) : zone).timeZoneId;
  } catch {
    return null;
  }
}

/** From minutes behind UTC, which LiquidJS takes too; JavaScript's getTimezoneOffset has the same sign. */
function offsetName(minutesBehind: number): string {
  const minutes = Math.abs(Math.trunc(minutesBehind));
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((part) =>
    String(part).padStart(2, '0'),
  );
  return `${minutesBehind > 0 ? '-' : '+'}${hour}:${minute}`;
}

function formatted(call: Call, value: unknown, format: string, zone?: unknown): unknown {
  const input = toValue(value);
  const { now } = call.context.environments as { now: string };
  const time = parseDate(input, now);
  if (time === null) return input;
  const wanted = zoneOf(toValue(zone));
  const moment = Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(wanted ?? 'UTC');
  const text = strftime(moment, format);
  // The check knows only zones that stand in the template. Another's misspelt one must not keep a message back.
  return wanted === null ? `${text} UTC` : text;
}

const defaultFormat = '%A, %B %-e, %Y at %-l:%M %P %z';

function date(this: Call, value: unknown, format?: unknown, zone?: unknown): unknown {
  const given = toValue(format);
  return formatted(this, value, given === null || given === undefined ? defaultFormat : String(given), zone);
}

const named = (month: string) =>
  function (this: Call, value: unknown, type?: unknown, style?: unknown): unknown {
    if (toValue(type) !== 'ordinal') return formatted(this, value, `%d ${month} %Y`);
    return formatted(this, value, toValue(style) === 'US' ? `${month} %-d%q, %Y` : `%-d%q ${month} %Y`);
  };

export const dateFilters = {
  date,
  date_to_xmlschema(this: Call, value: unknown, zone?: unknown): unknown {
    return formatted(this, value, '%Y-%m-%dT%H:%M:%S%:z', zone);
  },
  date_to_rfc822(this: Call, value: unknown, zone?: unknown): unknown {
    return formatted(this, value, '%a, %d %b %Y %H:%M:%S %z', zone);
  },
  date_to_string: named('%b'),
  date_to_long_string: named('%B'),
};
