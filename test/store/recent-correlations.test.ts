import { expect, test } from 'vitest';
import { RecentCorrelations } from '../../src/store/recent-correlations.ts';

test('distinguishes a correlation id with another content from a repeated one', () => {
  const correlations = new RecentCorrelations(10);
  expect(correlations.note('x', 'a')).toBe(false);
  expect(correlations.note('x', 'a')).toBe(false);
  expect(correlations.note('y', 'b')).toBe(false);
  expect(correlations.note('x', 'b')).toBe(true);
  expect(correlations.note('x', 'b')).toBe(true);
});

test('remembers the given number of ids, and forgets older ones', () => {
  const correlations = new RecentCorrelations(3);
  for (const id of ['a', 'b', 'c', 'd']) correlations.note(id, 'first');
  expect(correlations.note('b', 'second')).toBe(true);
  for (const id of ['e', 'f', 'g', 'h', 'i', 'j']) correlations.note(id, 'first');
  expect(correlations.note('c', 'second')).toBe(false);
});
