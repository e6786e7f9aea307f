import { expect, test, vi } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { type Blindness, foresee } from './foresight.ts';

const times = Number(process.env['TEST_RUNS'] ?? 1);
// Seconds on an idle machine; a busy one takes many times as long.
vi.setConfig({ testTimeout: 120_000 * times });

const seeds = Array.from({ length: 12 * times }, (_, index) => index + 1);
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
