import type { Store } from '../../../../src/store/store.ts';
import { Play, type PlayOptions } from '../play.ts';
import { findBreaches } from './books.ts';
import { PlayedSheets, type SheetAction } from './tool.ts';

/** Plays one seed. Returns what is wrong with what the spreadsheet has then, and the config and what had happened, in words. */
export async function playSheets(
  seed: number,
  { open, ...options }: PlayOptions & { open?: (() => Promise<Store>) | undefined } = {},
): Promise<{ breaches: string[]; steps: readonly string[] }> {
  const play = new Play<SheetAction, PlayedSheets>(
    seed,
    (world) => new PlayedSheets(world, options.forgetful),
    options,
  );
  const breaches = await play.run(open).then(
    (stories) => findBreaches(play, stories),
    (error: unknown) => [error instanceof Error ? error.stack! : String(error)],
  );
  return { breaches, steps: [play.text, ...play.log] };
}
