import { InvalidArgumentError } from 'commander';
import { pauseLength, pauseSink } from '../../by-hand/sinks.ts';
import { lookupOf } from '../../model.ts';
import { askedUntil, toolsWish } from '../../ops/sink-states.ts';
import type { Store } from '../../store/store.ts';
import { program } from '../../support/invocation.ts';
import { printable } from '../../support/text.ts';
import { command, note, readOption, sinkArgument, storeOptions } from '../command.ts';
import { CommandError, exit, type Io, when } from '../output.ts';
import { byUser, checkSink, servedAs, withStore } from '../with-store.ts';

function length(words: string): number {
  const read = pauseLength.safeParse(words);
  if (!read.success) throw new InvalidArgumentError(`${read.error.issues[0]!.message}.`);
  return read.data;
}

/** Has nothing more sent to a sink for a while: what comes for it waits. */
export const pause = command({
  name: 'pause',
  description: 'send nothing to a sink for a while; what comes for it waits, and none is lost',
  examples: ['pause hiring --for 2h', 'pause ats --note "it is being moved; Ana resumes it"'],
  options: {
    ...storeOptions,
    for: readOption('--for <duration>', 'for how long; else until somebody resumes it', length),
    note: note('why; kept with who did it and when, and shown by `status`'),
  },
  argument: sinkArgument(),
  run: (options, io, sink) =>
    withStore(options, io, async (store, local) => {
      if (lookupOf(sink) !== null)
        throw new CommandError(
          'a look-up cannot be paused: its events would be decided without it when waitFor is over',
          exit.usage,
        );
      await checkSink(sink, options, store);
      const until = await pauseSink(store, sink, options.for ?? null, byUser(options, io));
      const how = until === null ? '' : ` until ${when(until, local)}`;
      const ends = `\`${program} resume ${sink}\` ends that${until === null ? '' : ' sooner'}`;
      io.out(printable(`${sink} is paused${how}. What comes for it waits; ${ends}.`));
      return exit.ok;
    }),
});

export const resume = command({
  name: 'resume',
  description: 'end the pause of a sink that a person has paused; what waits goes out',
  examples: ['resume hiring'],
  options: { ...storeOptions, note: note() },
  argument: sinkArgument(),
  run: (options, io, sink) =>
    withStore(options, io, async (store, local) => {
      if (!(await store.resumeByPerson(sink, await store.now(), byUser(options, io)))) {
        await checkSink(sink, options, store);
        throw new CommandError(
          `${printable(sink)} is not paused by a person; \`${program} retry\` is for one that fails`,
        );
      }
      io.out(printable(`${sink} goes on${await goingOut(store, sink, local)}.`));
      return exit.ok;
    }),
});

/** Says what becomes of deliveries that wait for a sink whose pause has ended. */
async function goingOut(store: Store, sink: string, io: Io): Promise<string> {
  const served = await servedAs(store, sink);
  if (served === 'unserved')
    return ', and what waits for it goes out once a connector serves the store: none does now';
  if (served === 'gone')
    return ', but it is not in the config any more: what waits for it is given up where the sink is not put back before it is due, and can be replayed once the config is back that had it';
  if ((await store.pauses()).some((one) => one.sink === sink))
    return `, but is still paused, as it fails: it is probed until it works, and \`${program} retry ${sink}\` tries it now`;
  const until = askedUntil((await store.askedToWait(await store.now())).filter((one) => one.sink === sink));
  return `, and what waits for it goes out${until === null ? '' : `; ${toolsWish(when(until, io))}`}`;
}
