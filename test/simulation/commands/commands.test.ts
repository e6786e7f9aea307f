import { expect, test } from 'vitest';
import { seedsOf } from '../../fixtures/runs.ts';
import { Person } from './person.ts';
import { Play } from './play.ts';

/** Look-ups that are under way when a person asks for them again. */
const telling = [7];

async function played(seed: number) {
  const play = new Play(seed);
  const person = new Person(play);
  const { breaches } = person;
  await play.run(async () => {
    for (let round = 0; round < 3; round += 1) {
      await play.come();
      for (let left = 4; left > 0 && breaches.length === 0; left -= 1) {
        if (play.random() < 0.5) await play.happen();
        await person.act();
        await person.look();
      }
      await play.pass(play.random() < 0.5 ? 5000 : 400_000);
    }
    if (breaches.length === 0) await person.finish();
  });
  return { seed, breaches, log: breaches.length > 0 ? play.log : [] };
}

test('what people do by commands is what a dry run said, and what they read is so', async () => {
  for (const seed of [...seedsOf(1), ...telling])
    expect(await played(seed)).toEqual({ seed, breaches: [], log: [] });
});
