import { fieldOf } from '../rules/fields.ts';
import type { Digest } from '../rules/plan.ts';
import type { Windows } from '../rules/calendar.ts';
import type { ReadDigest } from './schema/action.ts';
import { minuteOfDay } from './schema/times.ts';

/** `timeZone`: that of the action's hours, or UTC. */
export function toDigest(
  { every, at, timezone, by, max }: ReadDigest,
  timeZone: string,
  apart: Pick<Digest, 'place' | 'contentId' | 'conceal'>,
): Digest {
  const zone = { timeZone: timezone ?? timeZone };
  const windows: Windows =
    every === undefined ? { ...zone, atMinutes: listOf(at).map(minuteOfDay) } : { ...zone, everyMs: every };
  return { windows, max, by: listOf(by).map(fieldOf), ...apart };
}

/** One value, several or none, as a list. */
export const listOf = (value: string | readonly string[] = []): readonly string[] =>
  typeof value === 'string' ? [value] : value;
