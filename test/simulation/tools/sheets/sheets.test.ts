import { expect, test } from 'vitest';
import { seedsOf } from '../../../fixtures/runs.ts';
import type { PlayOptions } from '../play.ts';
import { playSheets } from './sheets.ts';

const seeds = seedsOf(6);
/** A row that was written and not read back: then its look-up was made again, or the day changed in its tab's name. */
const unread = [6, 37, 41, 61];

async function played(seed: number, options: PlayOptions = {}) {
  const { breaches, steps } = await playSheets(seed, options);
  return { seed, breaches, steps: breaches.length > 0 ? steps : [] };
}

test('a spreadsheet has each row once and one for each key, where answers are lost, look-ups are made again, and people replay', async () => {
  for (const seed of [...seeds, ...unread])
    expect(await played(seed)).toEqual({ seed, breaches: [], steps: [] });
});

test("a spreadsheet has no row twice and nobody is left out, where a backup is put in the store's place", async () => {
  for (const seed of seeds.slice(0, seeds.length / 2))
    expect(await played(seed, { restores: true })).toEqual({ seed, breaches: [], steps: [] });
});

test('it is seen where nobody looks whether a row is there', async () => {
  for (const seed of seeds) if ((await played(seed, { forgetful: true })).breaches.length > 0) return;
  expect.fail('no seed finds it');
});
