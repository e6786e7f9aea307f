import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Pace } from '../../src/deliveries/traffic.ts';

const perSecond = { count: 1, perMs: 1000, burst: 3 };

test('after a quiet time a burst may go, and then one in each interval', () => {
  const pace = new Pace();
  expect(pace.allowance('a', perSecond, 0)).toBe(3);
  pace.spend('a', perSecond, 0, 3);
  expect(pace.allowance('a', perSecond, 999)).toBe(0);
  expect(pace.readyAt('a', perSecond, 0)).toBe(1000);
  expect(pace.allowance('a', perSecond, 1000)).toBe(1);
});

test('lanes do not slow each other', () => {
  const pace = new Pace();
  pace.spend('a', perSecond, 0, 3);
  expect(pace.allowance('b', perSecond, 0)).toBe(3);
});

test('a hold lets nothing start before its time, and one then', () => {
  const pace = new Pace();
  pace.hold('a', perSecond, 30_000);
  expect(pace.allowance('a', perSecond, 29_999)).toBe(0);
  expect(pace.readyAt('a', perSecond, 0)).toBe(30_000);
  expect(pace.allowance('a', perSecond, 30_000)).toBe(1);
});

test('another rate holds from its first moment: what an old one owed is owed no longer than an empty allowance', () => {
  const pace = new Pace();
  pace.spend('a', { count: 1, perMs: 3_600_000, burst: 1 }, 0, 1);
  const faster = { count: 60, perMs: 60_000, burst: 1 };
  expect(pace.readyAt('a', faster, 20_000)).toBe(21_000);
  expect(pace.allowance('a', faster, 20_999)).toBe(0);
  expect(pace.allowance('a', faster, 21_000)).toBe(1);
});

test('what is whole again is forgotten without a difference', () => {
  const pace = new Pace();
  pace.spend('a', perSecond, 0, 2);
  pace.forget(1999);
  expect(pace.allowance('a', perSecond, 0)).toBe(1);
  pace.forget(2000);
  expect(pace.allowance('a', perSecond, 2000)).toBe(3);
});

test('in no window are there more than the rate and the burst allow, however it is asked', () => {
  const limits = fc.record({
    count: fc.integer({ min: 1, max: 100 }),
    perMs: fc.constantFrom(1000, 60_000, 3_600_000),
    burst: fc.integer({ min: 1, max: 5 }),
  });
  fc.assert(
    fc.property(limits, fc.array(fc.nat({ max: 5000 }), { maxLength: 200 }), (limit, gaps) => {
      const pace = new Pace();
      const starts: number[] = [];
      let now = 0;
      for (const gap of gaps) {
        now += gap;
        const allowed = pace.allowance('a', limit, now);
        pace.spend('a', limit, now, allowed);
        for (let start = 0; start < allowed; start += 1) starts.push(now);
      }
      return starts.every((from, index) => {
        const inWindow = starts.filter((start, other) => other >= index && start < from + limit.perMs).length;
        return inWindow <= limit.count + limit.burst;
      });
    }),
  );
});
