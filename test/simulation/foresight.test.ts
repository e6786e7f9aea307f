import { expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { seedsOf } from '../fixtures/runs.ts';
import { type Blindness, foresee } from './foresight.ts';

const seeds = seedsOf(12);
/** Digests of an applied rule, between look-ups that were made again. */
const found = [1298, 1401, 5050];

test('tools get what explain says of each event: as many messages, of the same events, to the same place, at the same time', async () => {
  for (const seed of [...seeds, ...found]) {
    const { breaches, config } = await foresee(seed, connectors);
    expect({ seed, breaches, config: breaches.length > 0 ? config : '' }).toEqual({
      seed,
      breaches: [],
      config: '',
    });
  }
});

test.each<[Blindness, number]>([
  ['capitals', 11],
  ['due time', 20],
  ['facts then', 10],
])('it is seen where digests go without regard to %s', async (blindness, first) => {
  for (const seed of [first, ...seeds]) {
    const { breaches } = await foresee(seed, connectors, blindness);
    if (breaches.length > 0) return;
  }
  expect.fail('no seed finds it');
});
