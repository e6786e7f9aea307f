import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextOpen, type Hours } from '../../src/rules/calendar.ts';
import { clockChange, wallClock, zones, type WallTime } from './clock-changes.ts';
import { office } from './tools.ts';
import { runs } from '../fixtures/runs.ts';

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
  test('end with their last minute', () => {
    expect(opens(night, '2026-11-20T05:00:00Z')).toBe('2026-11-20T21:00:00.000Z');
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

  test('a time that comes twice is open twice', () => {
    // On 2026-10-25, a Sunday, the clock goes from 03:00 back to 02:00.
    const short = { ...office, days: new Set([7]), fromMinute: 130, toMinute: 140 };
    expect(opens(short, '2026-10-25T00:30:00Z')).toBe('2026-10-25T01:10:00.000Z');
    const night = { ...office, days: new Set([6]), fromMinute: 22 * 60, toMinute: 150 };
    expect(opens(night, '2026-10-25T00:45:00Z')).toBe('2026-10-25T01:00:00.000Z');
  });

  const minuteMs = 60_000;

  test('is what a walk over every minute finds, around every change of two years in several zones', () => {
    const property = fc.property(
      fc.constantFrom(...zones),
      fc.nat(),
      fc.integer({ min: -26 * 60, max: 26 * 60 }),
      fc.integer({ min: 0, max: 1439 }),
      fc.integer({ min: 1, max: 1440 }),
      fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      fc.uniqueArray(fc.integer({ min: 0, max: 3 })),
      (timeZone, pick, offsetMinutes, fromMinute, toMinute, days, closedDays) => {
        fc.pre(fromMinute !== toMinute);
        const start = clockChange(timeZone, pick) + offsetMinutes * minuteMs;
        const { date } = wallClock(timeZone)(start);
        const closed = closedDays.map((offset) =>
          Temporal.PlainDate.from(date)
            .add({ days: offset - 1 })
            .toString(),
        );
        const hours = {
          ...office,
          timeZone,
          days: new Set(days),
          fromMinute,
          toMinute,
          closed: new Set(closed),
        };
        expect(nextOpen(hours, start)).toBe(walk(hours, start));
      },
    );
    fc.assert(property, runs(20));
  });

  function dayBefore(shown: WallTime): WallTime {
    const day = Temporal.PlainDate.from(shown.date).subtract({ days: 1 });
    return { ...shown, date: day.toString(), weekday: day.dayOfWeek };
  }

  /** The slow and plain way to find an opening: reads the wall clock minute by minute. */
  function walk({ timeZone, days, fromMinute, toMinute, closed }: Hours, start: number): number {
    const clock = wallClock(timeZone);
    const opensOn = ({ date, weekday }: WallTime) => days.has(weekday) && !closed.has(date);
    for (let time = start; ; time += minuteMs) {
      const shown = clock(time);
      const [begun, goesOn] = [shown.minute >= fromMinute, shown.minute < toMinute];
      if (fromMinute < toMinute ? begun && goesOn && opensOn(shown) : begun && opensOn(shown)) return time;
      if (fromMinute >= toMinute && !begun && goesOn && opensOn(dayBefore(shown))) return time;
    }
  }
});
