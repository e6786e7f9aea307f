import type { Store } from '../../../../src/store/store.ts';
import { findBreaches } from './books.ts';
import { Play, type PlayOptions } from '../play.ts';
import { PlayedSlack, type SlackAction } from './tool.ts';

/** Plays one seed. Returns what is wrong with what Slack has then, and the config and what had happened, in words. */
export async function playSlack(
  seed: number,
  { open, ...options }: PlayOptions & { open?: (() => Promise<Store>) | undefined } = {},
): Promise<{ breaches: string[]; steps: readonly string[] }> {
  const play = new Play<SlackAction, PlayedSlack>(seed, (world) => new PlayedSlack(world), options);
  const breaches = await play.run(open).then(
    (stories) => findBreaches(play, stories),
    (error: unknown) => [error instanceof Error ? error.stack! : String(error)],
  );
  return { breaches, steps: [play.text, ...play.log] };
}
