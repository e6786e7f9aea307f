import { expect, test } from 'vitest';
import { seedsOf } from '../../../fixtures/runs.ts';
import type { PlayOptions } from '../play.ts';
import { playSlack } from './slack.ts';

const seeds = seedsOf(12);
/** A message whose answer was lost: then its look-up was made again, or the day changed in its channel's name. */
const lost = [25, 44];
/** A message that belongs to another channel by now, beside one that is under way there, or may have arrived. */
const moved = [304, 844, 1128];

async function played(seed: number, options: PlayOptions = {}) {
  const { breaches, steps } = await playSlack(seed, options);
  return { seed, breaches, steps: breaches.length > 0 ? steps : [] };
}

test('Slack has each message once and in the right channel, where answers are lost, look-ups are made again, and people replay', async () => {
  for (const seed of [...seeds, ...lost, ...moved])
    expect(await played(seed)).toEqual({ seed, breaches: [], steps: [] });
});

test("Slack has no message twice and nobody is left out, where a backup is put in the store's place", async () => {
  for (const seed of seeds.slice(0, seeds.length / 2))
    expect(await played(seed, { restores: true })).toEqual({ seed, breaches: [], steps: [] });
});

test('it is seen where nobody keeps when a message was composed that may have arrived', async () => {
  for (const seed of [...lost, ...seeds])
    if ((await played(seed, { forgetful: true })).breaches.length > 0) return;
  expect.fail('no seed finds it');
});

test('it is seen where nobody sees that the store was restored', async () => {
  for (const seed of seeds)
    if ((await played(seed, { forgetful: true, restores: true })).breaches.length > 0) return;
  expect.fail('no seed finds it');
});
