import { expect, test } from 'vitest';
import { RecentCorrelations } from '../../src/store/recent-correlations.ts';

const content = (candidateId: string) => ({ candidateId, testId: 1, status: 'Completed' as const });

test('distinguishes a correlation id with another content from a repeated one', () => {
  const correlations = new RecentCorrelations(10);
  expect(correlations.note('x', content('a'))).toBe(false);
  expect(correlations.note('x', content('a'))).toBe(false);
  expect(correlations.note('y', content('b'))).toBe(false);
  expect(correlations.note('x', content('b'))).toBe(true);
  expect(correlations.note('x', content('b'))).toBe(true);
});

test('remembers the given number of ids, and forgets older ones', () => {
  const correlations = new RecentCorrelations(3);
  for (const id of ['a', 'b', 'c', 'd']) correlations.note(id, content('first'));
  expect(correlations.note('b', content('second'))).toBe(true);
  for (const id of ['e', 'f', 'g', 'h', 'i', 'j']) correlations.note(id, content('first'));
  expect(correlations.note('c', content('second'))).toBe(false);
});
