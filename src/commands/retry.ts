import { retrySink } from '../by-hand.ts';
import { needsRetry, sinkStates } from '../needs.ts';
import { program } from '../support/program.ts';
import { printable } from '../support/text.ts';
import { CommandError, exit, type Io } from './output.ts';
import { isServed } from './replay.ts';
import { checkSink, type StoreOption, withStore } from './with-store.ts';

/** Has a paused or failing sink tried now, by the connector that serves the store. */
export function retry(sink: string, options: StoreOption, io: Io): Promise<number> {
  return withStore(options, io, async (store) => {
    await checkSink(sink, options, store);
    const state = await retrySink(store, store, sink);
    const was = `${printable(sink)} is ${sinkStates[state]}`;
    if (!needsRetry(state)) throw new CommandError(`${was}: there is nothing to try`);
    const when = (await isServed(store)) ? 'now' : 'when a connector serves this store';
    const waits = (await store.counts()).some((one) => one.sink === sink && one.states.pending > 0);
    io.out(
      waits
        ? `${was}, and is tried ${when}. \`${program} status\` says how that went.`
        : `${was}, and nothing waits for it. The next message shows whether it works: \`replay\` one, or \`send\` an event.`,
    );
    return exit.ok;
  });
}
