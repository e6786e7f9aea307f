import { expect, test } from 'vitest';
import { seedsOf } from '../../../fixtures/runs.ts';
import type { PlayOptions } from '../play.ts';
import { playMail } from './mail.ts';

const seeds = seedsOf(6);

async function played(seed: number, options: PlayOptions = {}) {
  const { breaches, steps } = await playMail(seed, options);
  return { seed, breaches, steps: breaches.length > 0 ? steps : [] };
}

test('a mail comes again only where nobody knows that it had been taken, where answers are lost and recipients are put off', async () => {
  for (const seed of seeds) expect(await played(seed)).toEqual({ seed, breaches: [], steps: [] });
});

test("nobody is left out, and a sink that holds repeats no mail by itself, where a backup is put in the store's place", async () => {
  for (const seed of seeds.slice(0, seeds.length / 2))
    expect(await played(seed, { restores: true })).toEqual({ seed, breaches: [], steps: [] });
});

test('it is seen where nobody keeps which recipients have a mail', async () => {
  for (const seed of seeds) if ((await played(seed, { forgetful: true })).breaches.length > 0) return;
  expect.fail('no seed finds it');
});
