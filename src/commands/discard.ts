import { exit, type Io } from './io.ts';
import { printManual } from './manual.ts';
import { withStore, type ConfigOption } from './with-store.ts';

export async function discard(ids: readonly string[], options: ConfigOption, io: Io): Promise<number> {
  return withStore(options, io, async (store) => {
    const results = await store.discard(ids, Date.now());
    return printManual(results, 'is discarded', io) ? exit.ok : exit.problems;
  });
}
