import { z } from 'zod';

export const timeExpected = 'expected a time of day such as "08:00"';

export const timeOfDay = z
  .string({ error: timeExpected })
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: timeExpected });

/** `08:30` in minutes since midnight. */
export function minuteOfDay(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}

const zoneExpected = 'expected a time zone such as Europe/Zagreb';

export const timeZone = z.string({ error: zoneExpected }).superRefine((name, context) => {
  if (isTimeZone(name) && !isOffset(name)) return;
  const message = isOffset(name) ? `${zoneExpected}: an offset knows no summer time` : zoneExpected;
  const params = { candidates: Intl.supportedValuesOf('timeZone') };
  context.addIssue({ code: 'custom', message, params });
});

const isOffset = (name: string): boolean => /^[+-]\d/.test(name);

function isTimeZone(name: string): boolean {
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId !== '';
  } catch {
    return false;
  }
}
