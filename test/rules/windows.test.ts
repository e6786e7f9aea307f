import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lastOf, windowEnd, type Windows } from '../../src/rules/calendar.ts';
import { clockChange, wallClock, zones } from './clock-changes.ts';
import { runs } from '../fixtures/runs.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const ends = (windows: Windows, time: string) =>
  new Date(windowEnd(windows, Date.parse(time))).toISOString().replace('.000Z', 'Z');

const zagreb = { timeZone: 'Europe/Zagreb' };
const at = (...times: readonly number[]): Windows => ({ ...zagreb, atMinutes: times });

describe('a window', () => {
  test.each([
    ['an hour', hourMs, '2026-11-20T12:34:56Z', '2026-11-20T13:00:00Z'],
    ['a quarter of an hour', 15 * minuteMs, '2026-11-20T12:44:59.999Z', '2026-11-20T12:45:00Z'],
    ['ten seconds', 10_000, '2026-11-20T12:34:56Z', '2026-11-20T12:35:00Z'],
    ['six hours, in the zone', 6 * hourMs, '2026-11-20T12:34:56Z', '2026-11-20T17:00:00Z'],
    ['a day, in the zone', dayMs, '2026-11-20T12:34:56Z', '2026-11-20T23:00:00Z'],
    ['a week, from Monday on', 7 * dayMs, '2026-11-20T12:34:56Z', '2026-11-22T23:00:00Z'],
  ])('of %s', (_, everyMs, time, end) => {
    expect(ends({ ...zagreb, everyMs }, time)).toBe(end);
  });

  test.each([
    ['the next time of the day', at(9 * 60, 16 * 60), '2026-11-20T12:00:00Z', '2026-11-20T15:00:00Z'],
    ['the first one of the next day', at(9 * 60, 16 * 60), '2026-11-20T16:00:00Z', '2026-11-21T08:00:00Z'],
    ['midnight', at(0), '2026-11-20T22:59:59Z', '2026-11-20T23:00:00Z'],
  ])('that closes at %s', (_, windows, time, end) => {
    expect(ends(windows, time)).toBe(end);
  });

  test.each([
    ['every', { ...zagreb, everyMs: hourMs }, '2026-11-20T13:00:00Z', '2026-11-20T14:00:00Z'],
    ['at', at(9 * 60), '2026-11-20T08:00:00Z', '2026-11-21T08:00:00Z'],
  ] as const)(
    'that closes has no place any more for what comes at that moment: %s',
    (_, windows, end, next) => {
      expect(ends(windows, end)).toBe(next);
    },
  );
});

describe('over changes of the clock', () => {
  test('a time that is skipped closes when the clock jumps over it', () => {
    expect(ends(at(150), '2027-03-27T12:00:00Z')).toBe('2027-03-28T01:00:00Z');
    expect(ends({ timeZone: 'Africa/Cairo', everyMs: dayMs }, '2026-04-23T12:00:00Z')).toBe(
      '2026-04-23T22:00:00Z',
    );
  });

  test('a time that comes twice closes once, at the first', () => {
    expect(ends(at(150), '2026-10-24T12:00:00Z')).toBe('2026-10-25T00:30:00Z');
    expect(ends(at(150), '2026-10-25T00:30:00Z')).toBe('2026-10-26T01:30:00Z');
  });

  const offset = fc.integer({ min: -50 * 60, max: 50 * 60 });
  const seconds = fc.integer({ min: 0, max: 59_999 });

  test('a daily time is what a walk over every minute finds', () => {
    const times = fc.uniqueArray(fc.integer({ min: 0, max: 1439 }), { minLength: 1, maxLength: 3 });
    const property = fc.property(
      fc.constantFrom(...zones),
      fc.nat(),
      offset,
      seconds,
      times,
      (timeZone, pick, minutes, ms, atMinutes) => {
        const now = clockChange(timeZone, pick) + minutes * minuteMs + ms;
        expect(windowEnd({ timeZone, atMinutes }, now)).toBe(walkToTime(timeZone, atMinutes, now));
      },
    );
    fc.assert(property, runs(20));
  });

  test('a multiple is what a walk over every minute finds', () => {
    const every = fc.oneof(
      fc.constantFrom(1, 5, 15, 30, 60, 90, 120, 360, 720, 1440, 2 * 1440),
      fc.integer({ min: 1, max: 2 * 1440 }),
    );
    const property = fc.property(
      fc.constantFrom(...zones),
      fc.nat(),
      offset,
      seconds,
      every,
      (timeZone, pick, minutes, ms, everyMinutes) => {
        const now = clockChange(timeZone, pick) + minutes * minuteMs + ms;
        const end = windowEnd({ timeZone, everyMs: everyMinutes * minuteMs }, now);
        expect(end).toBe(walkToMultiple(timeZone, everyMinutes, now));
      },
    );
    fc.assert(property, runs(100));
  });

  /** The first minute after `now` that is the first of its day to show one of the times, or to be past it. */
  function walkToTime(timeZone: string, atMinutes: readonly number[], now: number): number {
    const clock = wallClock(timeZone);
    const seen = new Set<string>();
    const start = Math.floor(now / minuteMs) * minuteMs - 2 * dayMs;
    for (let time = start; ; time += minuteMs) {
      const { date, minute } = clock(time);
      const come = atMinutes.filter((one) => minute >= one && !seen.has(`${date} ${one}`));
      for (const one of come) seen.add(`${date} ${one}`);
      if (come.length > 0 && time > now) return time;
    }
  }

  /** The first minute after `now` up to which the clock has reached, or jumped over, a multiple that it had not before. */
  function walkToMultiple(timeZone: string, everyMinutes: number, now: number): number {
    const clock = wallClock(timeZone);
    const shown = (time: number) => {
      const { date, minute } = clock(time);
      return (Date.parse(date) - Date.parse('1970-01-05')) / minuteMs + minute;
    };
    const start = Math.floor(now / minuteMs) * minuteMs;
    for (let time = start + minuteMs; ; time += minuteMs) {
      const next = shown(time - minuteMs) + 1;
      const reached = Math.max(next, shown(time));
      if (Math.floor(reached / everyMinutes) * everyMinutes >= next) return time;
    }
  }
});

test.each([
  ['on its day, when the time has come', '2026-11-23T08:00:00Z', '2026-11-23T08:00:00Z', '2026-11-23'],
  ['on its day, before', '2026-11-23T07:59:59.999Z', '2026-11-16T08:00:00Z', '2026-11-16'],
  ['on another day', '2026-11-25T00:00:00Z', '2026-11-23T08:00:00Z', '2026-11-23'],
  ['in summer time', '2026-07-01T00:00:00Z', '2026-06-29T07:00:00Z', '2026-06-29'],
])('the last moment of a week: %s', (_, now, last, monday) => {
  const found = lastOf({ ...zagreb, weekday: 1, minute: 9 * 60 }, Date.parse(now));
  expect(found).toEqual({ at: Date.parse(last), monday });
});

test('the last moment of a week, where the clock skips or repeats it', () => {
  const sunday = { ...zagreb, weekday: 7, minute: 150 };
  const last = (now: string) => new Date(lastOf(sunday, Date.parse(now)).at).toISOString();
  expect(last('2026-03-29T12:00:00Z')).toBe('2026-03-29T01:00:00.000Z');
  expect(last('2026-10-25T00:45:00Z')).toBe('2026-10-25T00:30:00.000Z');
  expect(lastOf(sunday, Date.parse('2026-10-25T12:00:00Z')).monday).toBe('2026-10-19');
});
