import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backoffMs } from '../../src/deliveries/backoff.ts';

const policy = { minDelayMs: 2000, maxDelayMs: 600_000 };

test('the longest wait doubles with each attempt up to maxDelay', () => {
  const longest = (attempt: number) => backoffMs(attempt, policy, () => 1);
  expect([1, 2, 3, 4].map(longest)).toEqual([4000, 8000, 16_000, 32_000]);
  expect(longest(9)).toBe(600_000);
  expect(longest(5000)).toBe(600_000);
});

test('jitter spreads over the whole span from minDelay on', () => {
  expect(backoffMs(3, policy, () => 0)).toBe(2000);
  expect(backoffMs(3, policy, () => 0.5)).toBe(9000);
});

test('a wait is never outside of minDelay and maxDelay', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, random) => {
        const delayMs = backoffMs(attempt, policy, () => random);
        return delayMs >= policy.minDelayMs && delayMs <= policy.maxDelayMs;
      },
    ),
  );
});
