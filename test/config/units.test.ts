import { describe, expect, test } from 'vitest';
import { duration, durationText, rate, size } from '../../src/config/text/units.ts';

const message = (result: { error?: { issues: { message: string }[] } | undefined }) =>
  result.error?.issues[0]?.message;

describe('a duration', () => {
  test.each([
    ['200ms', 200],
    ['2s', 2000],
    ['10m', 600_000],
    ['24h', 86_400_000],
    ['30d', 2_592_000_000],
    ['0s', 0],
  ])('%s is %d milliseconds', (text, expected) => {
    expect(duration().parse(text)).toBe(expected);
  });

  test.each(['10', '10 m', '1.5h', '10M', '-1s', 'soon', '', 'm', '1h30m', 30, null])(
    'is not %j',
    (value) => {
      expect(message(duration().safeParse(value))).toMatch(
        /^expected a duration such as 30s, 10m, 24h or 30d( \(write 1(0)?m\))?$/,
      );
    },
  );

  test('keeps its bounds', () => {
    const bounded = duration({ min: '1s', max: '1m' });
    expect(message(bounded.safeParse('999ms'))).toBe('expected a duration of at least 1s');
    expect(message(bounded.safeParse('61s'))).toBe('expected a duration of at most 1m');
    expect(message(bounded.safeParse('1y'))).toBe('expected a duration such as 30s');
    expect(bounded.parse('60s')).toBe(60_000);
  });
});

test.each([
  [1500, '1500ms'],
  [90_000, '90s'],
  [600_000, '10m'],
  [172_800_000, '2d'],
])('%d milliseconds are written as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

describe('a rate', () => {
  test.each([
    ['5/s', 5, 1000],
    ['60/min', 60, 60_000],
    ['300/h', 300, 3_600_000],
  ])('%s is %d in every %d milliseconds', (text, count, perMs) => {
    expect(rate().parse(text)).toEqual({ count, perMs });
  });

  test.each(['60', '0/s', '5/m', '5 / s', '1.5/s', 60])('is not %j', (value) => {
    expect(message(rate().safeParse(value))).toBe('expected a rate such as 5/s, 60/min or 300/h');
  });
});

describe('a size', () => {
  test.each([
    ['100b', 100],
    ['64kb', 65_536],
    ['1mb', 1_048_576],
  ])('%s is %d bytes', (text, bytes) => {
    expect(size().parse(text)).toBe(bytes);
  });

  test.each(['64', '64k', '64KB', '0kb', 64])('is not %j', (value) => {
    expect(message(size().safeParse(value))).toBe('expected a size such as 64kb or 1mb');
  });

  test('has a limit, because bodies are held in memory', () => {
    expect(message(size().safeParse('17mb'))).toBe('expected a size of at most 16mb');
  });
});
