import { planLookups } from '../../deliveries/by-hand.ts';
import { inParts } from '../../store/paging.ts';
import { printable } from '../../support/text.ts';
import { byHandOptions, command, storeOptions, TypedArgument } from '../command.ts';
import { CommandError, exit } from '../output.ts';
import { byUser, withStoreAndToday } from '../with-store.ts';
import { refuseWithoutConnector, saveToday, waitFor } from './replay.ts';

/** Has look-ups made again, by the connector that serves the store. */
export const lookup = command({
  name: 'lookup',
  description: 'look up again what events are about; sends nothing: apply, or resend, does then',
  examples: [
    'lookup evt_01jd3v5m8k2q4r6t8w0y1z3a5c --wait',
    'lookup evt_01jd3v5m8k2q4r6t8w0y1z3a5c --note "the API was down"',
  ],
  options: { ...byHandOptions, ...storeOptions },
  argument: new TypedArgument<readonly string[]>('<event...>', 'event ids'),
  run: (options, io, ids) =>
    withStoreAndToday(options, io, async (store, today) => {
      const { dryRun, wait } = options;
      const now = await store.now();
      const planned = await inParts(ids, async (id) => {
        const story = await store.event(id);
        if (!story) throw new CommandError(`there is no event ${printable(id)}; nothing was done`);
        return { id, ...planLookups(today.plan, story, now) };
      });
      const late = planned.flatMap((one) => ('fault' in one ? [] : [one]));
      for (const one of planned) if ('fault' in one) io.err(printable(`${one.id}: ${one.fault}`));
      if (dryRun) {
        for (const { eventId, deliveries } of late)
          io.out(
            printable(`${eventId} would be asked for: ${deliveries.map(({ sink }) => sink).join(', ')}`),
          );
        return late.length === planned.length ? exit.ok : exit.problems;
      }
      if (wait) await refuseWithoutConnector(store);
      await saveToday(store, today);
      const made = await store.lookUp(late, now, byUser(options, io));
      const told =
        made.length === 0
          ? 'Nothing is to be asked, or it is under way already.'
          : `Asked again: ${made.join(', ')}.`;
      io.out(printable(told));
      const arrived = !wait || (await waitFor(store, made, io));
      return arrived && late.length === planned.length ? exit.ok : exit.problems;
    }),
});
