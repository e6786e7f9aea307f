import { exit, type Io } from './io.ts';
import { printManual } from './manual.ts';
import { withStore, type StoreOption } from './with-store.ts';

const words = { done: 'is discarded', possible: 'pending, dead or held' };

export async function discard(ids: readonly string[], options: StoreOption, io: Io): Promise<number> {
  return withStore(options, io, async (store) => {
    const results = await store.discard([...new Set(ids)], Date.now());
    return printManual(results, words, io) ? exit.ok : exit.problems;
  });
}
