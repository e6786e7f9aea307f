import type { Hours } from '../../rules/calendar.ts';
import type { Fault, Path } from '../fault.ts';
import { warning } from '../fault.ts';
import type { ReadDigest } from '../schema/action.ts';
import { minuteOfDay } from '../schema/times.ts';
import { strings } from '../walk.ts';

/** Times at which a digest never goes, because its hours are closed then. Other time zones than theirs are not judged. */
export function checkDigestTimes({ at, timezone }: ReadDigest, hours: Hours, path: Path): Fault[] {
  if (timezone !== undefined && timezone !== hours.timeZone) return [];
  const times = [...strings(at ?? null, [...path, 'at'])];
  return times
    .filter(({ text }) => !isOpenAt(hours, minuteOfDay(text)))
    .map((time) =>
      warning(
        time.path,
        `${hours.name} is closed at ${time.text}; the message goes when ${hours.name} opens`,
      ),
    );
}

function isOpenAt({ fromMinute, toMinute }: Hours, minute: number): boolean {
  const [began, ended] = [minute >= fromMinute, minute >= toMinute];
  return fromMinute < toMinute ? began && !ended : began || !ended;
}
