import type { Action } from '../rules/plan.ts';
import { windowEnd } from '../rules/calendar.ts';
import { printable } from '../support/text.ts';
import { when } from './paint.ts';

/** When a message that is planned `now` is due, and why not at once: `due Mon … UTC (08:00 Europe/Zagreb), when office opens`. */
export function dueText({ hours, digest }: Action, dueAt: number, now: number): string {
  if (dueAt === now) return 'at once';
  const collected = digest ? windowEnd(digest.windows, now) : now;
  const opening = dueAt === collected ? null : hours;
  const reasons = [
    ...(digest ? ['with the digest'] : []),
    ...(opening ? [`when ${printable(opening.name)} opens`] : []),
  ];
  return [`due ${clocks(dueAt, (opening ?? digest?.windows)?.timeZone ?? 'UTC')}`, ...reasons].join(', ');
}

/** The time by UTC, and by the clock that decided it; its weekday too where that is another. */
function clocks(time: number, timeZone: string): string {
  const utc = Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO('UTC');
  const there = utc.withTimeZone(timeZone);
  const shown = `${weekday(utc)} ${when(time)}`;
  if (timeZone === 'UTC') return shown;
  const day = weekday(utc) === weekday(there) ? '' : `${weekday(there)} `;
  return `${shown} (${day}${there.toPlainTime().toString({ smallestUnit: 'minute' })} ${timeZone})`;
}

const weekday = (moment: Temporal.ZonedDateTime): string => moment.toLocaleString('en', { weekday: 'short' });
