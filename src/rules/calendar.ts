import { zoned } from '../support/text.ts';

/** Opening hours, compiled. Times of day are minutes since midnight on the wall clock of the time zone. */
export interface Hours {
  readonly name: string;
  /** IANA name. */
  readonly timeZone: string;
  /** ISO weekdays (1 is Monday) on which an opening starts. */
  readonly days: ReadonlySet<number>;
  readonly fromMinute: number;
  /** Up to 1440. If it is not after fromMinute, the opening ends on the next day. */
  readonly toMinute: number;
  /** Dates (`2026-12-25`) on which no opening starts. */
  readonly closed: ReadonlySet<string>;
}

/** Enough for any hours that ever open. Loading a config refuses others. */
const daysAhead = 400;

/**
 * The first moment from `now` on (ms) at which the wall clock shows an open time, or null. Exact when the clocks
 * change: a skipped time opens when the clock jumps over it, and a repeated time is open twice.
 */
export function nextOpen(hours: Hours, now: number): number | null {
  const start = zoned(now, hours.timeZone);
  if (isOpen(hours, start)) return now;
  const today = start.toPlainDate();
  for (let offset = 0; offset <= daysAhead; offset += 1) {
    const opening = openingOn(hours, today.add({ days: offset }), start);
    if (opening !== null) return opening;
  }
  return null;
}

/** The first open moment of a day after `start`. */
function openingOn(hours: Hours, day: Temporal.PlainDate, start: Temporal.ZonedDateTime): number | null {
  if (!opensOn(hours, day) && !opensOn(hours, day.subtract({ days: 1 }))) return null;
  const { timeZone, fromMinute } = hours;
  const wall = day.toPlainDateTime({ hour: Math.floor(fromMinute / 60), minute: fromMinute % 60 });
  const jump = day.toZonedDateTime(timeZone).subtract({ nanoseconds: 1 }).getTimeZoneTransition('next');
  // An opening starts at `from`, twice if the clock repeats that time, or when the clock jumps.
  const opening = [
    wall.toZonedDateTime(timeZone, { disambiguation: 'earlier' }),
    wall.toZonedDateTime(timeZone, { disambiguation: 'later' }),
    ...(jump ? [jump] : []),
  ]
    .filter((moment) => moment.toPlainDate().equals(day) && isOpen(hours, moment))
    .map((moment) => moment.epochMilliseconds)
    .filter((time) => time > start.epochMilliseconds);
  return opening.length === 0 ? null : Math.min(...opening);
}

function isOpen(hours: Hours, moment: Temporal.ZonedDateTime): boolean {
  const minute = moment.hour * 60 + moment.minute;
  const day = moment.toPlainDate();
  if (hours.fromMinute < hours.toMinute) {
    return minute >= hours.fromMinute && minute < hours.toMinute && opensOn(hours, day);
  }
  if (minute >= hours.fromMinute) return opensOn(hours, day);
  return minute < hours.toMinute && opensOn(hours, day.subtract({ days: 1 }));
}

function opensOn(hours: Hours, day: Temporal.PlainDate): boolean {
  return hours.days.has(day.dayOfWeek) && !hours.closed.has(day.toString());
}

/** When the windows of a digest close, by the wall clock of a time zone (an IANA name). */
export type Windows = { readonly timeZone: string } & (
  | {
      /** At every multiple of this on the wall clock, counted from midnight on a Monday. */
      readonly everyMs: number;
    }
  | {
      /** On every day, at these minutes since midnight. */
      readonly atMinutes: readonly number[];
    }
);

/**
 * The first moment after `now` (ms) at which a window closes. An event at that very moment belongs to the next window.
 * A time that the clock skips counts as reached when the clock jumps over it.
 */
export function windowEnd(windows: Windows, now: number): number {
  const moment = zoned(now, windows.timeZone);
  if ('everyMs' in windows) return nextMultiple(windows.everyMs, moment);
  const today = moment.toPlainDate();
  const ends = [0, 1, 2].flatMap((days) =>
    windows.atMinutes.map((minute) => firstShowing(today.add({ days }), minute, windows.timeZone)),
  );
  return Math.min(...ends.filter((end) => end > now));
}

/** 1970-01-05. */
const firstMondayMs = 4 * 86_400_000;

function nextMultiple(everyMs: number, moment: Temporal.ZonedDateTime): number {
  const shown = wallMs(moment);
  const leftMs = everyMs - (((shown % everyMs) + everyMs) % everyMs);
  const end = moment.epochMilliseconds + leftMs;
  const change = moment.getTimeZoneTransition('next');
  if (!change || end <= change.epochMilliseconds) return end;
  const isSkipped = wallMs(change) >= shown + leftMs;
  return isSkipped ? change.epochMilliseconds : nextMultiple(everyMs, change);
}

/** The wall clock's time as milliseconds since midnight on a Monday. */
const wallMs = ({ epochMilliseconds, offsetNanoseconds }: Temporal.ZonedDateTime): number =>
  epochMilliseconds + offsetNanoseconds / 1e6 - firstMondayMs;

/** The first moment of a day at which the clock shows a time, or has jumped over it. */
function firstShowing(day: Temporal.PlainDate, minute: number, timeZone: string): number {
  const wall = day.toPlainDateTime({ hour: Math.floor(minute / 60), minute: minute % 60 });
  const earlier = wall.toZonedDateTime(timeZone, { disambiguation: 'earlier' });
  const isSkipped = !earlier.toPlainDateTime().equals(wall);
  const jump = isSkipped ? earlier.getTimeZoneTransition('next') : null;
  return (jump ?? earlier).epochMilliseconds;
}

/** A moment of each week, by the wall clock of a time zone (an IANA name). */
export interface Week {
  readonly timeZone: string;
  /** ISO: 1 is Monday. */
  readonly weekday: number;
  /** Minutes since midnight. */
  readonly minute: number;
}

/** The last such moment (ms) up to `now`, and the Monday of its week: `2026-11-23`. */
export function lastOf({ timeZone, weekday, minute }: Week, now: number): { at: number; monday: string } {
  const today = zoned(now, timeZone).toPlainDate();
  const passedDays = (today.dayOfWeek - weekday + 7) % 7;
  const day = today.subtract({ days: passedDays });
  const isToCome = firstShowing(day, minute, timeZone) > now;
  const last = isToCome ? day.subtract({ days: 7 }) : day;
  return {
    at: firstShowing(last, minute, timeZone),
    monday: last.subtract({ days: weekday - 1 }).toString(),
  };
}
