import { expect, test } from 'vitest';
import { seedsOf } from '../../fixtures/runs.ts';
import { findBreaches } from './books.ts';
import { Play } from './play.ts';

const seeds = seedsOf(12);
/** A message whose answer was lost: then its look-up was made again, or the day changed in its channel's name. */
const lost = [25, 44];
/** A message that belongs to another channel by now, beside one that is under way there, or may have arrived. */
const moved = [304, 844, 1128];

async function played(seed: number, forgetful?: boolean) {
  const play = new Play(seed, forgetful);
  const breaches = findBreaches(play, await play.run());
  return { seed, breaches, log: breaches.length > 0 ? [play.text, ...play.log] : [] };
}

test('Slack has each message once and in the right channel, where answers are lost, look-ups are made again, and people replay', async () => {
  for (const seed of [...seeds, ...lost, ...moved])
    expect(await played(seed)).toEqual({ seed, breaches: [], log: [] });
});

test('it is seen where nobody keeps when a message was composed that may have arrived', async () => {
  for (const seed of [...lost, ...seeds]) if ((await played(seed, true)).breaches.length > 0) return;
  expect.fail('no seed finds it');
});
