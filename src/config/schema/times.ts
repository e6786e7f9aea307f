import { z } from 'zod';

export const timeOfDay = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'expected a time of day such as "08:00"' });

/** `08:30` in minutes since midnight. */
export function minuteOfDay(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
}

export const timeZone = z.string().superRefine((name, context) => {
  if (isTimeZone(name)) return;
  const params = { candidates: Intl.supportedValuesOf('timeZone') };
  context.addIssue({ code: 'custom', message: 'expected a time zone such as Europe/Zagreb', params });
});

function isTimeZone(name: string): boolean {
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId !== '';
  } catch {
    return false;
  }
}
