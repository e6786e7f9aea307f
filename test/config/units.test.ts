import { describe, expect, test } from 'vitest';
import { duration, durationText, rate, size } from '../../src/config/text/units.ts';

const bounded = duration({ min: '1s', max: '1m' });

describe('a text with a unit becomes a number, or says what was expected', () => {
  test.each([
    ['200ms', duration(), 200],
    ['2s', duration(), 2000],
    ['10m', duration(), 600_000],
    ['24h', duration(), 86_400_000],
    ['30d', duration(), 2_592_000_000],
    ['0s', duration(), 0],
    ['60s', bounded, 60_000],
    ['5/s', rate(), { count: 5, perMs: 1000 }],
    ['60/min', rate(), { count: 60, perMs: 60_000 }],
    ['300/h', rate(), { count: 300, perMs: 3_600_000 }],
    ['100b', size(), 100],
    ['64kb', size(), 65_536],
    ['1mb', size(), 1_048_576],
  ])('%s', (text, schema, expected) => {
    expect(schema.parse(text)).toEqual(expected);
  });

  const aDuration = /^expected a duration such as 30s, 10m, 24h or 30d( \(write 1(0)?m\))?$/;
  const aRate = /^expected a rate such as 5\/s, 60\/min or 300\/h$/;
  const aSize = /^expected a size such as 64kb or 1mb$/;
  const refused = (schema: typeof bounded | ReturnType<typeof rate>, says: RegExp, values: unknown[]) =>
    values.map((value) => [value, schema, says] as const);

  test.each([
    ...refused(duration(), aDuration, [
      '10',
      '10 m',
      '1.5h',
      '10M',
      '-1s',
      'soon',
      '',
      'm',
      '1h30m',
      30,
      null,
    ]),
    ...refused(bounded, /^expected a duration of at least 1s$/, ['999ms']),
    ...refused(bounded, /^expected a duration of at most 1m$/, ['61s']),
    ...refused(bounded, /^expected a duration such as 30s$/, ['1y']),
    ...refused(rate(), aRate, ['60', '0/s', '5/m', '5 / s', '1.5/s', 60]),
    ...refused(size(), aSize, ['64', '64k', '64KB', '0kb', 64]),
    // The limit, as bodies are held in memory.
    ...refused(size(), /^expected a size of at most 16mb$/, ['17mb']),
  ])('%j is refused', (value, schema, says) => {
    expect(schema.safeParse(value).error?.issues[0]?.message).toMatch(says);
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
