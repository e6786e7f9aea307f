import { refusalReasons } from '../../model/notices.ts';
import { refusals } from '../../ops/refusals.ts';
import { count, printable } from '../../support/text.ts';
import { choiceOption, command, flag, note, sourceOption, storeOptions, TypedArgument } from '../command.ts';
import { CommandError, exit, isAgreed, refusedLine } from '../output.ts';
import { byUser, withStore } from '../with-store.ts';

/** Puts away what is said of refused events. */
export const ignore = command({
  name: 'ignore',
  description: 'put away what is said of events that were refused, once somebody has seen to it',
  examples: [
    'ignore --all',
    'ignore --from 203.0.113.9 --note "a test of ours"',
    'ignore --reason store',
    'ignore rej_01jd3v5m8k2q4r6t8w0y1z3a5c',
  ],
  options: {
    ...storeOptions,
    all: flag('--all', 'whatever was refused until now').conflicts(['from', 'reason']),
    from: sourceOption('only what came from there, as `status` names it'),
    reason: choiceOption('--reason <reason>', 'only what was refused for this', refusalReasons),
    yes: flag('--yes', 'do not ask where events are kept of it'),
    note: note(),
  },
  argument: new TypedArgument<readonly string[]>(
    '[refused...]',
    'only these events, as `events --refused` lists them',
  ),
  async run({ all, from, reason, yes, ...options }, io, ids) {
    const isAny = all === true || from !== undefined || reason !== undefined;
    if (isAny === ids.length > 0)
      throw new CommandError(
        'say which: --all, --from ADDRESS or --reason store; or name the events',
        exit.usage,
      );
    const which = { ...(from !== undefined && { from }), ...(reason && { reason }) };
    return withStore(options, io, async (store, local) => {
      if (ids.length > 0) {
        const doing = { action: 'ignore', at: await store.now(), by: byUser(options, io) } as const;
        const away = await store.putAwayRefused(ids, doing);
        const missing = ids.filter((id) => !away.some((one) => one.id === id));
        for (const one of away) io.out(`Put away: ${refusedLine(one, local)}`);
        if (missing.length === 0) return exit.ok;
        throw new CommandError(`not kept, or not any more: ${printable(missing.join(', '))}`);
      }
      // Fails if the store cannot be written: it would not know of the events that are refused meanwhile.
      await store.probe();
      const now = await store.now();
      const kept = yes || !io.ask ? [] : await store.refusedEvents(which);
      if (kept.length > 0 && !(await isAgreed(io, { yes }, questionOf(kept.length)))) {
        io.out('Nothing was put away.');
        return exit.ok;
      }
      // What came while somebody was asked stays.
      const filter = kept.length > 0 ? { ...which, until: now } : which;
      const { totals, events } = await store.ignoreRefused(filter, now, byUser(options, io));
      if (totals.length + events === 0) io.out('Nothing of this was refused, or it was put away before.');
      for (const { what } of refusals(totals)) io.out(printable(`Put away: ${what}.`));
      if (events > 0)
        io.out(
          `${count(events, 'event')} that ${events === 1 ? 'was' : 'were'} kept of it cannot be taken in any more.`,
        );
      return exit.ok;
    });
  },
});

/** What a person is asked before what could still be taken in is thrown away. */
const questionOf = (kept: number): string =>
  `${count(kept, 'event')} ${kept === 1 ? 'is' : 'are'} kept of it, and could not be taken in any more. Put all of it away?`;
