import { hostname, userInfo } from 'node:os';
import { type About, dataOf } from '../deliveries/prepare.ts';
import type { Delivery, PlannedDelivery } from '../model.ts';
import { type Action, allActions, type Plan, whyUnusable } from '../rules/plan.ts';
import type { By, ManualResult, Replay, Store } from '../store/store.ts';
import { printable } from '../support/text.ts';
import type { AnyTemplateData } from '../templates/data.ts';
import { deliveryPages } from './events.ts';
import { CommandError, exit, type Io } from './output.ts';
import { checkSink, type StoreOption, type Today, withStore, withStoreAndToday } from './with-store.ts';

interface ReplayOptions extends StoreOption {
  readonly dead?: boolean;
  readonly sink?: string;
  /** In milliseconds since the epoch. */
  readonly since?: number;
}

const replayed = { done: 'goes out again', possible: 'dead or held' };

export async function replay(ids: readonly string[], options: ReplayOptions, io: Io): Promise<number> {
  if (options.dead ? ids.length > 0 : ids.length === 0) {
    throw new CommandError('name the deliveries to replay, or give --dead for all that are dead', exit.usage);
  }
  if (!options.dead && (options.sink !== undefined || options.since !== undefined)) {
    throw new CommandError('--sink and --since narrow --dead; they do not go with delivery ids', exit.usage);
  }
  return withStoreAndToday(options, io, async (store, today) => {
    if (options.sink !== undefined) await checkSink(options.sink, options, store);
    const pages = options.dead ? deadOf(store, options) : [await named(store, ids)];
    await store.saveConfig({ id: today.plan.id, source: today.planSource, savedAt: Date.now() });
    let count = 0;
    let done = true;
    for await (const page of pages) {
      count += page.length;
      done = (await replayPage(page, store, today, io)) && done;
      // What was begun is done to its end, whether somebody reads on or not.
      await io.drained();
    }
    if (count === 0)
      io.out(
        options.sink === undefined
          ? 'There are no dead deliveries.'
          : `Sink ${options.sink} has no dead deliveries.`,
      );
    return done ? exit.ok : exit.problems;
  });
}

/** Page by page: what goes out again is no longer dead. */
function deadOf(store: Store, { sink, since }: ReplayOptions): AsyncGenerator<readonly Delivery[]> {
  return deliveryPages(store, {
    states: ['dead'],
    ...(sink !== undefined && { sink }),
    ...(since !== undefined && { since }),
  });
}

async function named(store: Store, ids: readonly string[]): Promise<Delivery[]> {
  const found = await Promise.all(
    [...new Set(ids)].map(async (id) => ({ id, delivery: await store.delivery(id) })),
  );
  const missing = found.filter(({ delivery }) => delivery === null).map(({ id }) => printable(id));
  if (missing.length > 0) {
    throw new CommandError(`there is no delivery ${missing.join(', ')}; nothing was sent again`);
  }
  return found.flatMap(({ delivery }) => delivery ?? []);
}

/** True if all of them go out again. */
async function replayPage(page: readonly Delivery[], store: Store, today: Today, io: Io): Promise<boolean> {
  const planned = await Promise.all(page.map((delivery) => planToday(store, today, delivery)));
  for (const one of planned) if (typeof one === 'string') io.err(one);
  const items = planned.filter((one) => typeof one !== 'string');
  const results = await store.replay(items, Date.now(), byUser(io));
  return printManual(results, replayed, io) && items.length === page.length;
}

/** The delivery as today's config plans it, or why it does not. */
async function planToday(store: Store, { plan }: Today, delivery: Delivery): Promise<Replay | string> {
  const { id, rule, sink } = delivery;
  const action = todaysAction(plan, delivery);
  if (!action) {
    return `${id}: today's config has no rule ${rule} with an action for ${sink}; put it back to replay this`;
  }
  const about = await aboutOf(store, delivery);
  if (!about) return `${id}: the event it is about is no longer stored`;
  const unusable = whyUnusable(plan, action, about.events);
  if (unusable !== undefined)
    return `${id}: the config in force cannot be used for it here: ${printable(unusable)}`;
  const now = Date.now();
  return {
    deliveryId: id,
    configId: plan.id,
    planned: plannedByHand(action, dataOf(action, about, plan, now), now),
  };
}

async function aboutOf(store: Store, { eventId, noticeId }: Delivery): Promise<About | null> {
  if (noticeId !== null) {
    const story = await store.notice(noticeId);
    return story && { events: [], notice: story.notice };
  }
  const story = eventId === null ? null : await store.event(eventId);
  return story && { events: [story.event], notice: null };
}

/**
 * Where today's plan has the action of an old delivery: under the same rule, at the same place if that still goes to
 * the same sink, else the rule's first action for the sink. Null when there is none. Pure.
 */
function todaysAction(plan: Plan, delivery: Delivery): Action | null {
  const ofRule = allActions(plan).filter((action) => action.rule === delivery.rule);
  const sameSink = ofRule.filter((action) => action.sink === delivery.sink);
  return sameSink.find((action) => action.action === delivery.action) ?? sameSink[0] ?? null;
}

/** An old delivery as today's action plans it, due at once: a person who replays does not wait for opening hours. */
function plannedByHand(action: Action, data: AnyTemplateData, now: number): PlannedDelivery {
  return {
    rule: action.rule,
    action: action.action,
    sink: action.sink,
    connector: action.connector,
    lane: action.lane(data),
    dueAt: now,
    group: null,
    groupMax: null,
  };
}

/** Whoever calls a command. */
function byUser({ env }: Io): By {
  return { who: env['USER'] || nameOfUser(), from: `a command on ${hostname()}`, note: null };
}

/** A container's user may have no name. */
function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    return 'somebody';
  }
}

const discarded = { done: 'is discarded', possible: 'pending, dead or held' };

export async function discard(ids: readonly string[], options: StoreOption, io: Io): Promise<number> {
  return withStore(options, io, async (store) => {
    const results = await store.discard([...new Set(ids)], Date.now(), byUser(io));
    return printManual(results, discarded, io) ? exit.ok : exit.problems;
  });
}

/** What a person's replay or discard is called, and what it can be done with. */
interface ManualWords {
  readonly done: string;
  readonly possible: string;
}

/** Prints what was done to each delivery, or why it was not; true if all went through. */
function printManual(results: readonly ManualResult[], words: ManualWords, io: Io): boolean {
  for (const result of results) {
    const id = printable(result.deliveryId);
    if (result.done) io.out(`${id} ${words.done}`);
    else if (result.state === null) io.err(`${id}: there is no such delivery; \`events\` lists them`);
    else io.err(`${id}: it is ${result.state}, and only ${words.possible} deliveries can be chosen`);
  }
  return results.every((result) => result.done);
}
