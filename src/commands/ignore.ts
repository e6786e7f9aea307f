import { isIP } from 'node:net';
import { networkOf } from '../http/addresses.ts';
import type { RefusedEvents } from '../model.ts';
import { refusals } from '../needs.ts';
import { printable } from '../support/text.ts';
import { CommandError, exit, type Io } from './output.ts';
import { byUser } from './replay.ts';
import { type StoreOption, withStore } from './with-store.ts';

interface IgnoreOptions extends StoreOption {
  readonly all?: boolean;
  readonly from?: string;
  readonly reason?: RefusedEvents['reason'];
  readonly note?: string;
}

/** Puts away what is said of refused events. */
export function ignore({ all, from, reason, ...options }: IgnoreOptions, io: Io): Promise<number> {
  if (!all && from === undefined && reason === undefined)
    throw new CommandError('say which: --all, --from ADDRESS or --reason store', exit.usage);
  const which = {
    ...(from !== undefined && { from: isIP(from) ? networkOf(from) : from }),
    ...(reason && { reason }),
  };
  return withStore(options, io, async (store) => {
    const ignored = await store.ignoreRefused(which, Date.now(), byUser(options, io));
    if (ignored.length === 0) io.out('Nothing of this was refused, or it was put away before.');
    for (const { what } of refusals(ignored)) io.out(printable(`Put away: ${what}.`));
    return exit.ok;
  });
}
