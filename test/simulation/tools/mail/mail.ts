import type { Store } from '../../../../src/store/store.ts';
import { Play, type PlayOptions } from '../play.ts';
import { findBreaches } from './books.ts';
import { type MailAction, PlayedMail } from './tool.ts';

/** Plays one seed. Returns what is wrong with what the mail server has then, and the config and what had happened, in words. */
export async function playMail(
  seed: number,
  { open, ...options }: PlayOptions & { open?: (() => Promise<Store>) | undefined } = {},
): Promise<{ breaches: string[]; steps: readonly string[] }> {
  const play = new Play<MailAction, PlayedMail>(
    seed,
    (world) => new PlayedMail(world, options.forgetful),
    options,
  );
  const breaches = await play.run(open).then(
    (stories) => findBreaches(play, stories),
    (error: unknown) => [error instanceof Error ? error.stack! : String(error)],
  );
  return { breaches, steps: [play.text, ...play.log] };
}
