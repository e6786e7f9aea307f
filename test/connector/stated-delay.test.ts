import { describe, expect, test } from 'vitest';
import { statedDelayMs } from '../../src/connector/calls.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const day = 86_400_000;

describe('a Retry-After header', () => {
  test.each([
    ['30', 30_000],
    [' 0 ', 0],
    ['99999999999', day],
    ['Sat, 21 Nov 2026 12:00:45 GMT', 45_000],
    ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
    ['Sat, 21 Nov 2099 12:00:00 GMT', day],
  ])('of %j states its delay, at most a day', (header, delayMs) => {
    expect(statedDelayMs(header, now)).toBe(delayMs);
  });

  test.each(['soon', '', '-5', '2.0005', '1e3s', null, undefined])('of %j states none', (header) => {
    expect(statedDelayMs(header, now)).toBeNull();
  });

  test('with a date states none to whom knows no time', () => {
    expect(statedDelayMs('Sat, 21 Nov 2026 12:00:45 GMT')).toBeNull();
  });
});
