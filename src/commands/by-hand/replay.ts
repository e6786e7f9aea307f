import { type ActionName, change, rehearse } from '../../by-hand/change.ts';
import { NotThere, selected, type Selection } from '../../by-hand/selection.ts';
import { type DeliveryState, lookupOf, stuckStates } from '../../model.ts';
import { onlyStore } from '../../ops/status/status.ts';
import { inParts } from '../../store/paging.ts';
import type { Store } from '../../store/store.ts';
import { program } from '../../support/invocation.ts';
import { count, printable } from '../../support/text.ts';
import {
  ago,
  byHandOptions,
  command,
  flag,
  readOption,
  storeOptions,
  textOption,
  TypedArgument,
  type ValuesOf,
} from '../command.ts';
import { CommandError, exit, type Io } from '../output.ts';
import {
  byUser,
  checkRule,
  checkSink,
  saveToday,
  storedPlans,
  type Today,
  withStore,
  withStoreAndToday,
} from '../with-store.ts';
import { refuseWithoutConnector, tellKeptBack, waitFor } from './under-way.ts';

type ByHandOptions = ValuesOf<typeof byHandOptions>;

const stuckOptions = {
  ...byHandOptions,
  ...storeOptions,
  dead: flag('--dead', 'every dead delivery'),
  held: flag('--held', 'every held delivery'),
  event: textOption('--event <id>', 'every dead or held delivery of this event'),
  sink: textOption('--sink <name>', 'of these, only to this sink'),
  rule: textOption('--rule <name>', 'of these, only what this rule asked for'),
  cause: textOption('--cause <text>', 'with --dead: only these, as `status` names the cause'),
  since: readOption('--since <duration>', 'of these, only of events that came within this time', ago),
};
type StuckOptions = ValuesOf<typeof stuckOptions> & {
  readonly over?: boolean | undefined;
  readonly pending?: boolean | undefined;
};

const stuckIds = new TypedArgument<readonly string[]>(
  '[delivery...]',
  'delivery ids; or those of events, for all of them that are dead or held',
);

export const replay = command({
  name: 'replay',
  description: "send again what is dead or held, with today's config",
  examples: [
    'replay dlv_01jd3v5m8k2q4r6t8w0y1z3a5c_1',
    'replay --dead --sink hiring --since 7d --note "the channel is there now"',
    'replay --held --dry-run   # shows what would go out',
    'replay --event evt_01jd3v5m8k2q4r6t8w0y1z3a5c --wait   # and says how it ended',
  ],
  options: stuckOptions,
  argument: stuckIds,
  async run(options, io, ids) {
    refuseUnclear('replay', ids, options);
    return withStoreAndToday(options, io, (store, today, local) =>
      stuck('replay', ids, options, { store, today, io: local }),
    );
  },
});

export const discard = command({
  name: 'discard',
  description: 'end for good what is pending, dead or held: nothing is sent',
  examples: [
    'discard dlv_01jd3v5m8k2q4r6t8w0y1z3a5c_1 dlv_01jd3v5m8k2q4r6t8w0y1z3a5c_2',
    'discard --dead --rule told --since 7d --note "told by phone"',
    'discard --over   # what nobody has to be told of any more',
    'discard --pending --rule told --dry-run   # what waits, as after an `apply` by mistake',
  ],
  options: {
    ...stuckOptions,
    over: flag('--over', 'every dead or held notice of what is over by now').conflicts([
      'dead',
      'held',
      'event',
      'cause',
    ]),
    pending: flag('--pending', 'with --rule or --sink: every delivery that waits').conflicts([
      'dead',
      'held',
      'event',
      'cause',
      'over',
    ]),
  },
  argument: stuckIds,
  async run(options, io, ids) {
    refuseUnclear('discard', ids, options);
    return withStore(options, io, (store, local) =>
      stuck('discard', ids, options, { store, today: null, io: local }),
    );
  },
});

export const resend = command({
  name: 'resend',
  description: "send a delivered message a second time on purpose, as a new delivery by today's config",
  examples: ['resend dlv_01jd3v5m8k2q4r6t8w0y1z3a5c_1 --note "it was deleted in the channel"'],
  options: { ...byHandOptions, ...storeOptions },
  argument: new TypedArgument<readonly string[]>('<delivery...>', 'delivery ids'),
  async run(options, io, ids) {
    const other = ids.find((id) => !id.startsWith('dlv_'));
    if (other !== undefined) {
      const instead = `\`${program} event ${printable(other)}\` lists those of an event`;
      throw new CommandError(`name the deliveries one by one; ${instead}`, exit.usage);
    }
    return withStoreAndToday(options, io, async (store, today, local) => {
      await refuseLookups(ids, store);
      const { ok } = await toAll('resend', { ids, states: [] }, options, { store, today, io: local });
      return ok ? exit.ok : exit.problems;
    });
  },
});

function refuseUnclear(action: ActionName, ids: readonly string[], options: StuckOptions): void {
  const { dead, held, event, sink, rule, cause, since, over, pending } = options;
  if (cause !== undefined && (dead !== true || held === true || event !== undefined))
    throw new CommandError('--cause narrows --dead alone', exit.usage);
  const isAny = [dead, held, over, pending].includes(true) || event !== undefined;
  if (pending && (rule ?? sink) === undefined)
    throw new CommandError('--pending wants --rule or --sink: messages wait in good order, too', exit.usage);
  const isNamed = ids.length > 0;
  if (isNamed === isAny)
    throw new CommandError(
      `name the deliveries to ${action}, or give --dead, --held or --event for all of these`,
      exit.usage,
    );
  if (isNamed && (sink ?? rule ?? since) !== undefined)
    throw new CommandError(
      '--sink, --rule and --since narrow --dead, --held and --event; they do not go with ids',
      exit.usage,
    );
}

interface Context {
  readonly store: Store;
  /** Null where nothing is planned. */
  readonly today: Today | null;
  readonly io: Io;
}

async function stuck(
  action: ActionName,
  ids: readonly string[],
  options: StuckOptions,
  at: Context,
): Promise<number> {
  const { event, sink, rule, cause, since, over } = options;
  if (sink !== undefined) await checkSink(sink, options, at.store);
  await refuseLookups(ids, at.store);
  const states = statesOf(options);
  const all = { ids: event === undefined ? ids : [event], states, sink, rule, cause, since, over };
  const { found, leftOut, ok } = await toAll(action, all, options, at);
  if (leftOut > 0)
    at.io.out(
      `${count(leftOut, 'notice')} of what is over left out: ${program} discard --over ends what nobody has to be told any more.`,
    );
  else if (found === 0) {
    if (rule !== undefined && at.today) checkRule(rule, at.today.plan);
    const which = rule === undefined ? '' : ` of rule ${printable(rule)}`;
    const what = `${states.join(' or ')} ${over ? 'notices of what is over' : 'deliveries'}${which}`;
    const one = event ?? (ids.length === 1 ? ids[0] : undefined);
    const where = one === undefined ? sink && `Sink ${sink} has` : `${printable(one)} has`;
    at.io.out(`${where ?? 'There are'} no ${what}.`);
  }
  return ok ? exit.ok : exit.problems;
}

function statesOf({ dead, held, pending }: StuckOptions): readonly DeliveryState[] {
  if (pending) return ['pending'];
  return dead === held ? stuckStates : [dead ? 'dead' : 'held'];
}

/** Refuses ids of look-ups, which `lookup` prints: they are no messages. */
async function refuseLookups(ids: readonly string[], store: Store): Promise<void> {
  for (const delivery of await inParts(ids, (id) => store.delivery(id)))
    if (delivery && lookupOf(delivery.sink) !== null)
      throw new CommandError(
        printable(
          `${delivery.id} is a look-up and no message; \`${program} lookup ${delivery.eventId}\` asks again once its event is decided. Nothing was done`,
        ),
      );
}

/** Carries out an action on all deliveries that are meant, page by page. Waits for them with `--wait`. */
async function toAll(
  action: ActionName,
  which: Selection,
  options: ByHandOptions,
  { store, today, io }: Context,
): Promise<{ found: number; leftOut: number; ok: boolean }> {
  const { dryRun, wait } = options;
  const waits = wait === true && action !== 'discard' && !dryRun;
  if (waits) await refuseWithoutConnector(store);
  if (today && !dryRun) await saveToday(store, today);
  const plan = today?.plan ?? null;
  const plans = storedPlans(store, io);
  const hands = { reads: store, store, plan: (configId: string) => plans.get(configId) };
  const by = byUser(options, io);
  const sent: string[] = [];
  const sinks = new Set<string>();
  let found = 0;
  let leftOut = 0;
  try {
    for await (const { page, over } of selected(onlyStore(store), action, which)) {
      leftOut += over.length;
      const results = dryRun
        ? await rehearse(hands, action, page, plan)
        : await change(hands, action, page, plan, by);
      for (const { id, ok, says, madeId } of results) {
        found += 1;
        if (ok) sent.push(madeId ?? id);
        if (ok) sinks.add(page.find((one) => one.id === id)!.sink);
        if (ok) io.out(`${printable(id)} ${printable(says)}`);
        else io.err(`${printable(id)}: ${printable(says)}`);
      }
      // The action goes on to its end even if nobody reads the output any more.
      await io.drained();
    }
  } catch (error) {
    throw error instanceof NotThere ? new CommandError(error.message) : error;
  }
  if (!dryRun && action !== 'discard' && sent.length > 0) await tellKeptBack(store, sinks, sent, io);
  const arrived = waits ? await waitFor(store, sent, io) : true;
  return { found, leftOut, ok: arrived && sent.length === found };
}
