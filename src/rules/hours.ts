/** Opening hours, compiled. Times of day are minutes since midnight on the zone's wall clock. */
export interface Hours {
  /** As the config calls them. */
  readonly name: string;
  /** IANA name. */
  readonly timeZone: string;
  /** ISO weekdays, 1 is Monday: the days on which an opening begins. */
  readonly days: ReadonlySet<number>;
  readonly fromMinute: number;
  /** Up to 1440. Not after fromMinute: the opening ends on the next day. */
  readonly toMinute: number;
  /** Dates (`2026-12-25`) on which no opening begins. */
  readonly closed: ReadonlySet<string>;
}

/** Long enough for any opening that is not closed for ever; `check` refuses hours that never open. */
const daysAhead = 400;

/**
 * The first moment from `now` on (ms) at which the wall clock shows an open time, or null if there is none. Exact over
 * daylight-saving changes: a time that is skipped opens when the clock jumps over it, one that comes twice is open
 * twice.
 */
export function nextOpen(hours: Hours, now: number): number | null {
  const start = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(hours.timeZone);
  if (isOpen(hours, start)) return now;
  const today = start.toPlainDate();
  for (let offset = 0; offset <= daysAhead; offset += 1) {
    const opening = openingOn(hours, today.add({ days: offset }), start);
    if (opening !== null) return opening;
  }
  return null;
}

/** The earliest open moment after `start` that the given day brings. */
function openingOn(hours: Hours, day: Temporal.PlainDate, start: Temporal.ZonedDateTime): number | null {
  if (!opensOn(hours, day) && !opensOn(hours, day.subtract({ days: 1 }))) return null;
  const opening = beginnings(hours, day)
    .filter((moment) => moment.toPlainDate().equals(day) && isOpen(hours, moment))
    .map((moment) => moment.epochMilliseconds)
    .filter((time) => time > start.epochMilliseconds);
  return opening.length === 0 ? null : Math.min(...opening);
}

/** The moments of a day at which an opening can begin: `from`, both times where it comes twice, and a jump of the clock. */
function beginnings({ timeZone, fromMinute }: Hours, day: Temporal.PlainDate): Temporal.ZonedDateTime[] {
  const wall = day.toPlainDateTime({ hour: Math.floor(fromMinute / 60), minute: fromMinute % 60 });
  const dayBefore = day.toZonedDateTime(timeZone).subtract({ nanoseconds: 1 });
  const jump = dayBefore.getTimeZoneTransition('next');
  return [
    wall.toZonedDateTime(timeZone, { disambiguation: 'earlier' }),
    wall.toZonedDateTime(timeZone, { disambiguation: 'later' }),
    ...(jump ? [jump] : []),
  ];
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
