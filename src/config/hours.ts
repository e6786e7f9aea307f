import type { z } from 'zod';
import type { Json } from '../model.ts';
import { nextOpen, type Hours } from '../rules/calendar.ts';
import { error } from './fault.ts';
import { dayNames, hoursSchema } from './schema/plan.ts';
import { minuteOfDay } from './schema/times.ts';
import type { Reading } from './schema/validate.ts';
import { validate } from './schema/validate.ts';

/** Compiles one entry of `hours`; reports what is wrong with it and returns null. */
export function compileHours(name: string, raw: Json, reading: Reading): Hours | null {
  const path = ['hours', name];
  const read = validate({ schema: hoursSchema, raw, path }, reading);
  if (!read) return null;
  const hours = toHours(name, read);
  const closing = firstDayOfNoOpening(hours);
  if (closing === null) return hours;
  const message = `it does not open for more than a year from ${closing} on; messages would wait for ever`;
  reading.report(error([...path, 'closed'], message));
  return null;
}

function toHours(name: string, { timezone, days, from, to, closed }: z.output<typeof hoursSchema>): Hours {
  return {
    name,
    timeZone: timezone,
    days: new Set(days.map((day) => dayNames.indexOf(day) + 1)),
    fromMinute: minuteOfDay(from),
    toMinute: minuteOfDay(to),
    closed: new Set(closed),
  };
}

/** The closed date from which on it stays closed, or null if it opens again after each. What is over does not count. */
function firstDayOfNoOpening(hours: Hours): string | null {
  const today = Temporal.Now.plainDateISO(hours.timeZone).toString();
  const coming = [...hours.closed].filter((date) => date >= today).toSorted();
  const stays = coming.find((date) => {
    const midnight = Temporal.PlainDate.from(date).toZonedDateTime(hours.timeZone);
    return nextOpen(hours, midnight.epochMilliseconds) === null;
  });
  return stays ?? null;
}
