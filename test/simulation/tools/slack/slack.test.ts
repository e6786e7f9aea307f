import { expect, test } from 'vitest';
import { seedsOf } from '../../../fixtures/runs.ts';
import { firstBroken } from '../play.ts';
import { playSlack } from './slack.ts';

const seeds = seedsOf(12);
/** A message whose answer was lost: then its look-up was made again, or the day changed in its channel's name. */
const lost = [25, 44];
/** A message that belongs to another channel by now, beside one that is under way there, or may have arrived. */
const moved = [304, 844, 1128];

test('Slack has each message once and in the right channel, where answers are lost, look-ups are made again, and people replay', async () => {
  expect(await firstBroken(playSlack, [...seeds, ...lost, ...moved])).toBeNull();
});

test("Slack has no message twice and nobody is left out, where a backup is put in the store's place", async () => {
  expect(await firstBroken(playSlack, seeds.slice(0, seeds.length / 2), { restores: true })).toBeNull();
});

test('it is seen where nobody keeps when a message was composed that may have arrived', async () => {
  expect(await firstBroken(playSlack, [...lost, ...seeds], { forgetful: true })).not.toBeNull();
});

test('it is seen where nobody sees that the store was restored', async () => {
  expect(await firstBroken(playSlack, seeds, { forgetful: true, restores: true })).not.toBeNull();
});
