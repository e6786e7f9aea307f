import { expect, test } from 'vitest';
import { knownAt } from '../../src/lookups/kept-facts.ts';
import type { Delivery } from '../../src/model.ts';

const found = (office: string, at: number) =>
  ({
    sink: 'lookup candidate',
    state: 'delivered',
    progress: { state: 'answered', at, reason: null, fields: { office }, personal: [] },
  }) as unknown as Delivery;

test('what was found before an event was decided is always known, also by a clock that is a little behind; later answers from then on', () => {
  const lookups = [found('berlin', 1005), found('zagreb', 2000)];
  const officeAt = (time: number) => Object.values(knownAt(time, lookups))[0]?.fields['office'];
  expect([1000, 1999, 2000].map(officeAt)).toEqual(['berlin', 'berlin', 'zagreb']);
});
