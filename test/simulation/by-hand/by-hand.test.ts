import { expect, test } from 'vitest';
import { seedsOf } from '../../fixtures/runs.ts';
import { playByHand } from './by-hand.ts';

const seeds = seedsOf(10);
/** What is applied through a sink that has another name by now, and digests that today's action cannot tell whole. */
const telling = [48, 97, 10724];

test('after any edit of the config, what a person does by hand tells whom a dry run names, nobody twice, and counts nobody as told who is not', async () => {
  for (const seed of [...seeds, ...telling]) {
    const { breaches, steps } = await playByHand(seed);
    expect({ seed, breaches, steps: breaches.length > 0 ? steps : [] }).toEqual({
      seed,
      breaches: [],
      steps: [],
    });
  }
});
