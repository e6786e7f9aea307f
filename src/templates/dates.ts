import { toValue } from 'liquidjs';
import type { Context } from 'liquidjs';
import { strftime } from './strftime.ts';

interface Call {
  readonly context: Context;
}

/** Dates that LiquidJS would compute through the machine's own time zone, off by an hour around its clock changes. */

/** Milliseconds since the epoch; a number or digits are seconds, as in Liquid. Null: not a date. */
export function parseDate(value: unknown, now: string): number | null {
  if (typeof value === 'number') return value * 1000;
  if (typeof value !== 'string' || value.trim() === '') return null;
  if (value === 'now' || value === 'today') return Date.parse(now);
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const time = Date.parse(hasZone.test(value) || dateOnly.test(value) ? value : inUtc(value));
  return Number.isNaN(time) ? null : time;
}

const hasZone = /(Z|UTC|GMT|[+-]\d{2}:?\d{2})(\s*\(.*\))?$/i;
const dateOnly = /^\d{4}-\d{2}-\d{2}$/;

/** A date without a zone is in UTC; JavaScript would read it in the machine's zone. */
function inUtc(value: string): string {
  return /^\d{4}-\d{2}-\d{2}[T ]\d/.test(value) ? `${value}Z` : `${value} UTC`;
}

/** The zone's name as Temporal takes it, or null if there is no such zone. A number is minutes, as in LiquidJS. */
export function zoneOf(zone: unknown): string | null {
  if (zone === null || zone === undefined || zone === '') return 'UTC';
  const name = typeof zone === 'number' ? offsetName(zone) : String(zone);
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId;
  } catch {
    return null;
  }
}

/** Minutes behind UTC, the sign that JavaScript's getTimezoneOffset has. */
function offsetName(minutesBehind: number): string {
  const minutes = Math.abs(Math.trunc(minutesBehind));
  const two = (value: number) => String(value).padStart(2, '0');
  return `${minutesBehind > 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

function formatted(call: Call, value: unknown, format: string, zone?: unknown): unknown {
  const input = toValue(value);
  const { now } = call.context.environments as { now: string };
  const time = parseDate(input, now);
  if (time === null || !(Math.abs(time) <= maxTime)) return input;
  const name = zoneOf(toValue(zone));
  if (name === null)
    throw new Error(`\`${String(toValue(zone))}\` is no time zone, expected a name such as Europe/Zagreb`);
  const moment = Temporal.Instant.fromEpochMilliseconds(Math.trunc(time)).toZonedDateTimeISO(name);
  return strftime(moment, format);
}

/** The first and last moment that JavaScript's dates reach, in milliseconds from the epoch. */
const maxTime = 8.64e15;

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
