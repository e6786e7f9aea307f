import { expect, onTestFinished, test, vi } from 'vitest';
import { seldom } from '../../src/ops/log.ts';

test('what comes again and again is written at once, then once a minute with how often it came', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const written: [string, number][] = [];
  const note = seldom<string>((last, times) => void written.push([last, times]));
  for (const one of ['a', 'b', 'c']) note(one);
  expect(written).toEqual([['a', 1]]);
  vi.advanceTimersByTime(60_000);
  expect(written.slice(1)).toEqual([['c', 2]]);
  // A minute without it is its end.
  vi.advanceTimersByTime(60_000);
  note('d');
  expect(written.slice(2)).toEqual([['d', 1]]);
});
