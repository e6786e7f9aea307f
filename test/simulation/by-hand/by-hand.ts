import type { Store } from '../../../src/store/store.ts';
import { findBreaches, judge, judgeApplied } from './books.ts';
import { Play } from './play.ts';

/** Plays one seed up to the first breach. Returns the breaches, and what had happened, in words. */
export async function playByHand(
  seed: number,
  { open }: { open?: (() => Promise<Store>) | undefined } = {},
): Promise<{ breaches: string[]; steps: readonly string[] }> {
  const play = new Play(seed);
  const breaches: string[] = [];
  const one = async (): Promise<string[]> => {
    const roll = play.random();
    if (roll < 0.15) return judgeApplied(play, await play.apply());
    const done = await play.byHand(roll < 0.6 ? 'replay' : roll < 0.8 ? 'discard' : 'resend');
    return done ? judge(play, done) : [];
  };
  await play.run(async () => {
    for (let round = 0; round < 4; round += 1) {
      if (play.random() < 0.4) await play.toggle();
      await play.come();
      for (let left = 4; left > 0; left -= 1) {
        if (play.random() < 0.4) await play.edit();
        if (play.random() < 0.2) play.open();
        if (play.random() < 0.15) await play.toggle();
        breaches.push(...(await one()), ...(await findBreaches(play)));
        if (breaches.length > 0) return;
      }
    }
    for (const sink of play.paused) await play.toggle(sink);
    breaches.push(...(await findBreaches(play)));
  }, open);
  return { breaches, steps: play.log };
}
