import { expect, test } from 'vitest';
import { seedsOf } from '../../../fixtures/runs.ts';
import { firstBroken } from '../play.ts';
import { playMail } from './mail.ts';

const seeds = seedsOf(6);

test('a mail comes again only where nobody knows that it had been taken, where answers are lost and recipients are put off', async () => {
  expect(await firstBroken(playMail, seeds)).toBeNull();
});

test("nobody is left out, and a sink that holds repeats no mail by itself, where a backup is put in the store's place", async () => {
  expect(await firstBroken(playMail, seeds.slice(0, seeds.length / 2), { restores: true })).toBeNull();
});

test('it is seen where nobody keeps which recipients have a mail', async () => {
  expect(await firstBroken(playMail, seeds, { forgetful: true })).not.toBeNull();
});
