import { retrySink } from '../../by-hand/sinks.ts';
import {
  askedUntil,
  nameOf,
  nextShows,
  noRetry,
  putBack,
  sinkStates,
  toolsWish,
  worksAlready,
} from '../../ops/sink-states.ts';
import { program } from '../../support/invocation.ts';
import { printable } from '../../support/text.ts';
import { command, note, sinkArgument, storeOptions } from '../command.ts';
import { CommandError, exit, when } from '../output.ts';
import { byUser, checkSink, servedAs, withStore } from '../with-store.ts';

/** Has a paused or failing sink tried now, by the connector that serves the store. */
export const retry = command({
  name: 'retry',
  description: 'try a paused or failing sink now, as after its cause was put right',
  examples: ['retry hiring', 'retry hiring --store sqlite:./data/connector.db'],
  options: { ...storeOptions, note: note() },
  argument: sinkArgument(),
  run: (options, io, sink) =>
    withStore(options, io, async (store, local) => {
      await checkSink(sink, options, store);
      const served = await servedAs(store, sink);
      // A delivery that is tried would be given up at once.
      if (served === 'gone')
        throw new CommandError(printable(`${nameOf(sink)} is not in the config any more. ${putBack}`));
      const found = await retrySink(store, store, sink, byUser(options, io));
      const why = noRetry(found, (time) => when(time, local));
      const isRunning = served !== 'unserved';
      if (why !== null && isRunning && worksAlready(found)) {
        io.out(printable(`${why}.`));
        return exit.ok;
      }
      if (why !== null)
        throw new CommandError(
          printable(isRunning ? why : `${why}; but no connector serves this store now, so nothing goes out`),
        );
      const was = `${printable(sink)} is ${sinkStates[found.state]}`;
      const tried = isRunning ? 'now' : 'when a connector serves this store';
      const until = askedUntil(found.asked);
      const wish = until === null ? '' : `; ${toolsWish(when(until, local))}`;
      const waits = (await store.counts()).some((one) => one.sink === sink && one.states.pending > 0);
      io.out(
        waits
          ? `${was}, and is tried ${tried}${wish}. \`${program} status\` says how that went.`
          : `${was}, and nothing waits for it. ${nextShows(sink)}`,
      );
      return exit.ok;
    }),
});
