import { expect, test } from 'vitest';
import { toDigest } from '../../src/config/hours.ts';

const digestBy = (by: string | string[]) =>
  toDigest({ every: 60_000, by, max: 100 }, 'UTC', {
    place: () => null,
    contentId: '',
    conceal: (group) => group,
  });

test('the fields in `by` separate digests', () => {
  expect(digestBy(['testId', 'test.team']).by.map(({ name }) => name)).toEqual(['testId', 'test.team']);
});

test('a field that there is none of is not left out of a digest: other events would share a message', () => {
  expect(() => digestBy(['testId', 'test'])).toThrow('there is no field "test"');
});
