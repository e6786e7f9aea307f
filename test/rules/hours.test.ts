import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextOpen, type Hours } from '../../src/rules/hours.ts';

const office: Hours = {
  timeZone: 'Europe/Zagreb',
  days: new Set([1, 2, 3, 4, 5]),
  fromMinute: 8 * 60,
  toMinute: 18 * 60,
  closed: new Set(['2026-12-25']),
};

const opens = (hours: Hours, time: string) => {
  const opening = nextOpen(hours, Date.parse(time));
  return opening === null ? null : new Date(opening).toISOString();
};

test('an open moment is now', () => {
  expect(opens(office, '2026-11-20T12:34:56.789Z')).toBe('2026-11-20T12:34:56.789Z');
});

test('the evening waits for the morning, the weekend for Monday', () => {
  expect(opens(office, '2026-11-19T17:00:00Z')).toBe('2026-11-20T07:00:00.000Z');
  expect(opens(office, '2026-11-21T10:00:00Z')).toBe('2026-11-23T07:00:00.000Z');
});

test('a closed date is skipped', () => {
  expect(opens(office, '2026-12-24T18:00:00Z')).toBe('2026-12-28T07:00:00.000Z');
});

describe('hours over midnight', () => {
  const night = { ...office, fromMinute: 22 * 60, toMinute: 6 * 60 };
  test('reach into the day after the last listed one', () => {
    expect(opens(night, '2026-11-21T03:00:00Z')).toBe('2026-11-21T03:00:00.000Z');
  });
  test('do not reach into a listed day from an unlisted one', () => {
    expect(opens(night, '2026-11-23T03:00:00Z')).toBe('2026-11-23T21:00:00.000Z');
  });
});

test('hours that never open give null', () => {
  expect(nextOpen({ ...office, days: new Set() }, Date.parse('2026-11-20T12:00:00Z'))).toBeNull();
});

describe('over changes of the clock', () => {
  test('a time that is skipped opens when the clock jumps over it', () => {
    const early = { ...office, days: new Set([7]), fromMinute: 150, toMinute: 240 };
    // On 2027-03-28 the clock goes from 02:00 to 03:00, so 02:30 never comes.
    expect(opens(early, '2027-03-28T00:00:00Z')).toBe('2027-03-28T01:00:00.000Z');
  });

  const zones = [
    'Europe/Zagreb',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kolkata',
    'America/Sao_Paulo',
  ];
  const minuteMs = 60_000;

  test('is what a walk over every minute finds, around every change of two years in five zones', () => {
    const minuteOfDay = fc.integer({ min: 0, max: 1439 });
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.nat(),
        fc.integer({ min: -26 * 60, max: 26 * 60 }),
        minuteOfDay,
        fc.integer({ min: 1, max: 1440 }),
        fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        (timeZone, pick, offsetMinutes, fromMinute, toMinute, days) => {
          fc.pre(fromMinute !== toMinute);
          const hours = { timeZone, days: new Set(days), fromMinute, toMinute, closed: new Set<string>() };
          const start = changes(timeZone, pick) + offsetMinutes * minuteMs;
          return nextOpen(hours, start) === walk(hours, start);
        },
      ),
      { numRuns: 300 },
    );
  });

  /** One of the zone's changes in 2026 and 2027, or a common day where it has none. */
  function changes(timeZone: string, pick: number): number {
    const found: number[] = [];
    let moment: Temporal.ZonedDateTime | null = Temporal.ZonedDateTime.from(`2026-01-01T00:00[${timeZone}]`);
    while ((moment = moment.getTimeZoneTransition('next')) && moment.year < 2028)
      found.push(moment.epochMilliseconds);
    return found[pick % found.length] ?? Date.parse('2026-03-29T00:00:00Z');
  }

  /** The slow and plain way: reads the wall clock minute by minute. */
  function walk({ timeZone, days, fromMinute, toMinute }: Hours, start: number): number | null {
    const clock = new Intl.DateTimeFormat('en-US', {
      timeZone,
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
    const names = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];
    for (let time = start; time < start + 9 * 1440 * minuteMs; time += minuteMs) {
      const parts = Object.fromEntries(clock.formatToParts(time).map(({ type, value }) => [type, value]));
      const day = names.indexOf(parts['weekday'] ?? '') + 1;
      const minute = Number(parts['hour']) * 60 + Number(parts['minute']);
      const yesterday = day === 1 ? 7 : day - 1;
      const open =
        fromMinute < toMinute
          ? days.has(day) && minute >= fromMinute && minute < toMinute
          : (days.has(day) && minute >= fromMinute) || (days.has(yesterday) && minute < toMinute);
      if (open) return time;
    }
    return null;
  }
});
