import { isIP } from 'node:net';
import { networkOf } from '../../http/addresses.ts';
import { refusalReasons } from '../../model.ts';
import { refusals } from '../../ops/needs.ts';
import { printable } from '../../support/text.ts';
import { choiceOption, command, flag, note, storeOptions, textOption } from '../command.ts';
import { CommandError, exit } from '../output.ts';
import { byUser, withStore } from '../with-store.ts';

/** Puts away what is said of refused events. */
export const ignore = command({
  name: 'ignore',
  description: 'put away what is said of events that were refused, once somebody has seen to it',
  examples: ['ignore --all', 'ignore --from 203.0.113.9 --note "a test of ours"', 'ignore --reason store'],
  options: {
    ...storeOptions,
    all: flag('--all', 'whatever was refused until now').conflicts(['from', 'reason']),
    from: textOption('--from <address>', 'only what came from there, as `status` names it'),
    reason: choiceOption('--reason <reason>', 'only what was refused for this', refusalReasons),
    note: note('why; kept with who did it and when'),
  },
  async run({ all, from, reason, ...options }, io) {
    if (!all && from === undefined && reason === undefined)
      throw new CommandError('say which: --all, --from ADDRESS or --reason store', exit.usage);
    const which = {
      ...(from !== undefined && { from: isIP(from) ? networkOf(from) : from }),
      ...(reason && { reason }),
    };
    return withStore(options, io, async (store) => {
      const ignored = await store.ignoreRefused(which, await store.now(), byUser(options, io));
      if (ignored.length === 0) io.out('Nothing of this was refused, or it was put away before.');
      for (const { what } of refusals(ignored)) io.out(printable(`Put away: ${what}.`));
      return exit.ok;
    });
  },
});
