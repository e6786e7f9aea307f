import { program } from '../../support/invocation.ts';
import type { PlanningConfig } from '../../config/load.ts';
import { acceptanceWindowMs, acceptRefused, asReceived } from '../../intake.ts';
import type { RefusedEvent } from '../../model/notices.ts';
import { cautionOf } from '../../ops/refusals.ts';
import { contentName, type Store } from '../../store/store.ts';
import { count, printable } from '../../support/text.ts';
import {
  ago,
  command,
  flag,
  note,
  readOption,
  sourceOption,
  TypedArgument,
  type ValuesOf,
} from '../command.ts';
import { CommandError, exit, type Io, isAgreed, needsPerson, refusedLine } from '../output.ts';
import { byUser, withStoreAndConfig } from '../with-store.ts';
import { AskedFor, takingIn } from './taking-in.ts';

const declared = {
  from: sourceOption('every event that is kept from there'),
  since: readOption('--since <duration>', 'with --from: only those that came within this time', ago),
  dryRun: flag('--dry-run', 'only show what would be taken in'),
  yes: flag('--yes', 'do not ask'),
  note: note(),
};
type Options = ValuesOf<typeof declared>;

/** Takes in events that were refused for who sent them, or where to. */
export const accept = command({
  name: 'accept',
  description:
    'take in events that were refused for their address, token or path, as if they came now; asks first',
  examples: [
    'accept rej_01jd3v5m8k2q4r6t8w0y1z3a5c --dry-run',
    'accept --from 203.0.113.9 --since 7d --note "a new address of the service"',
  ],
  options: declared,
  argument: new TypedArgument<readonly string[]>('[refused...]', 'ids, as `events --refused` lists them'),
  async run(options, io, ids) {
    const { from, since, dryRun } = options;
    if (ids.length > 0 === (from !== undefined) || (since !== undefined && from === undefined))
      throw new CommandError(
        'name the events to take in, or give --from ADDRESS for all from there',
        exit.usage,
      );
    needsPerson(io, options, 'give --dry-run to look, or --yes');
    return withStoreAndConfig(options, io, async (store, config, local) => {
      const meant = await meantBy(options, ids, store);
      for (const one of meant) io.out(refusedLine(one, local));
      if (meant.length === 0) {
        io.out('Nothing is kept from there.');
        return exit.ok;
      }
      for (const line of await foretold(meant, store, config)) io.out(line);
      const caution = from === undefined ? null : cautionOf(from);
      if (caution !== null) io.out(printable(caution));
      if (dryRun || !(await isAgreed(io, options, `Take in ${count(meant.length, 'event')}?`))) {
        io.out(`Nothing was taken in${dryRun ? ' (--dry-run)' : ''}.`);
        return exit.ok;
      }
      io.out(await takeIn(meant, store, config, options, io));
      return exit.ok;
    });
  },
});

/** The refused events that are meant, the oldest first, as they would have come. */
async function meantBy(
  { from, since = 0 }: Options,
  ids: readonly string[],
  store: Store,
): Promise<RefusedEvent[]> {
  const all = (await store.refusedEvents({ ...(from !== undefined && { from }) })).toReversed();
  const unknown = ids.find((id) => !all.some((one) => one.id === id));
  if (unknown !== undefined)
    throw new CommandError(
      `${printable(unknown)} is not kept, or not any more; \`${program} events --refused\` lists what is`,
    );
  return ids.length > 0 ? all.filter(({ id }) => ids.includes(id)) : all.filter(({ at }) => at >= since);
}

/** Says what would come of them. */
async function foretold(
  meant: readonly RefusedEvent[],
  store: Store,
  config: PlanningConfig,
): Promise<string[]> {
  const asked = new AskedFor(config.plan);
  const receivedAt = await store.now();
  const coming = meant.map((one) => ({
    ...one,
    receivedAt,
    windowMs: acceptanceWindowMs(config, one, receivedAt),
  }));
  const areRepeats = await store.areRepeats(coming);
  const areOvertaken = await store.haveFollowers(meant);
  const seen = new Set<string>();
  let repeated = 0;
  for (const [place, one] of meant.entries()) {
    const whole = await store.refusedEvent(one.id);
    if (!whole) continue;
    const content = contentName(one);
    if (areRepeats[place] || seen.has(content)) repeated += 1;
    else asked.add(asReceived(whole, receivedAt), areOvertaken[place]!);
    seen.add(content);
  }
  const told = repeated === 1 ? 'has come already, so it tells' : 'have come already, so they tell';
  return [asked.words, ...(repeated === 0 ? [] : [`${count(repeated, 'event')} ${told} nobody.`])];
}

async function takeIn(
  meant: readonly RefusedEvent[],
  store: Store,
  config: PlanningConfig,
  options: Options,
  io: Io,
): Promise<string> {
  const into = await takingIn(store, config);
  let taken = 0;
  let repeated = 0;
  let gone = 0;
  // In order: a later event of a candidate may depend on an earlier one.
  for (const { id } of meant) {
    const accepted = await acceptRefused(id, byUser(options, io), into);
    if (accepted === null) gone += 1;
    else if (accepted.duplicate) repeated += 1;
    else taken += 1;
  }
  return [
    `Taken in: ${count(taken, 'event')}.`,
    ...(repeated === 0 ? [] : [`${count(repeated, 'event')} had come already.`]),
    ...(gone === 0 ? [] : [`Not kept any more, as when somebody else takes in or puts away: ${gone}.`]),
  ].join(' ');
}
