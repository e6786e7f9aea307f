/** When the windows of a digest close, by the wall clock of a time zone (an IANA name). */
export type Windows = { readonly timeZone: string } & (
  | {
      /** At every multiple of this on the wall clock, counted from a Monday's midnight. */
      readonly everyMs: number;
    }
  | {
      /** Every day at these minutes since midnight. */
      readonly atMinutes: readonly number[];
    }
);

/**
 * The first moment after `now` (ms) at which a window closes: what comes at that very moment belongs to the next one.
 * A time that a change of the clock skips counts as come when the clock jumps over it.
 */
export function windowEnd(windows: Windows, now: number): number {
  const moment = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(windows.timeZone);
  return 'everyMs' in windows
    ? nextMultiple(windows.everyMs, moment)
    : nextTimeOfDay(windows.atMinutes, moment);
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

/** What the wall clock shows, as if it had never been changed. */
const wallMs = ({ epochMilliseconds, offsetNanoseconds }: Temporal.ZonedDateTime): number =>
  epochMilliseconds + offsetNanoseconds / 1e6 - firstMondayMs;

function nextTimeOfDay(minutes: readonly number[], moment: Temporal.ZonedDateTime): number {
  const today = moment.toPlainDate();
  const ends = [0, 1, 2].flatMap((days) =>
    minutes.map((minute) => firstShowing(today.add({ days }), minute, moment.timeZoneId)),
  );
  return Math.min(...ends.filter((end) => end > moment.epochMilliseconds));
}

/** The first moment of a day at which the clock shows a time, or has jumped over it. */
function firstShowing(day: Temporal.PlainDate, minute: number, timeZone: string): number {
  const wall = day.toPlainDateTime({ hour: Math.floor(minute / 60), minute: minute % 60 });
  const earlier = wall.toZonedDateTime(timeZone, { disambiguation: 'earlier' });
  const isSkipped = !earlier.toPlainDateTime().equals(wall);
  const jump = isSkipped ? earlier.getTimeZoneTransition('next') : null;
  return (jump ?? earlier).epochMilliseconds;
}
