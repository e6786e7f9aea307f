import { describe, expect, test, vi } from 'vitest';
import { openPostgres } from '../../src/store/postgres.ts';
import { freshSchema } from '../fixtures/postgres.ts';
import { type Sabotage } from './sabotage.ts';
import { simulate } from './simulate.ts';

// Seconds on an idle machine; a busy one takes many times as long.
vi.setConfig({ testTimeout: 120_000 });

/** As many as a test may take; `npm run simulate` takes thousands. */
const seeds = Array.from({ length: 15 }, (_, index) => index + 1);

test('the books balance after every run: nothing lost, nothing twice, candidates in order, digests exact, rates held', async () => {
  for (const seed of seeds) {
    const { breaches, steps } = await simulate(seed);
    expect({ seed, breaches, steps: breaches.length > 0 ? steps : [] }).toEqual({
      seed,
      breaches: [],
      steps: [],
    });
  }
});

test('the books balance on PostgreSQL, too', async () => {
  const url = await freshSchema();
  const { breaches, steps } = await simulate(1, null, () => openPostgres(url));
  expect({ breaches, steps: breaches.length > 0 ? steps : [] }).toEqual({ breaches: [], steps: [] });
});

test('the same seed gives the same run', async () => {
  const [first, second] = [await simulate(7), await simulate(7)];
  expect(second.steps).toEqual(first.steps);
});

describe('it bites', () => {
  /** Each with a seed that finds it today, which saves the others; where the simulation changes, another one may. */
  test.each<[Sabotage, number]>([
    ['no intent', 1],
    ['no find', 2],
    ['no transaction', 6],
    ['no pauses', 35],
    ['no order', 1],
  ])('%s is found out', async (sabotage, first) => {
    for (const seed of [first, ...seeds]) {
      const { breaches } = await simulate(seed, sabotage);
      if (breaches.length > 0) return;
    }
    expect.fail('no seed finds it');
  });
});
