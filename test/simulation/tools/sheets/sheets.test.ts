import { expect, test } from 'vitest';
import { seedsOf } from '../../../fixtures/runs.ts';
import { firstBroken } from '../play.ts';
import { playSheets } from './sheets.ts';

const seeds = seedsOf(6);
/** A row that was written and not read back: then its look-up was made again, or the day changed in its tab's name. */
const unread = [6, 37, 41, 61];

test('a spreadsheet has each row once and one for each key, where answers are lost, look-ups are made again, and people replay', async () => {
  expect(await firstBroken(playSheets, [...seeds, ...unread])).toBeNull();
});

test("a spreadsheet has no row twice and nobody is left out, where a backup is put in the store's place", async () => {
  expect(await firstBroken(playSheets, seeds.slice(0, seeds.length / 2), { restores: true })).toBeNull();
});

test('it is seen where nobody looks whether a row is there', async () => {
  expect(await firstBroken(playSheets, seeds, { forgetful: true })).not.toBeNull();
});
