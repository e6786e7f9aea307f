import type { Config } from '../config/config.ts';
import { plannedByHand, todaysAction } from '../deliveries/replay.ts';
import { templateData } from '../templates/data.ts';
import type { Delivery } from '../model.ts';
import type { Replay, Store } from '../store/store.ts';
import { CommandError, exit, type Io } from './io.ts';
import { printManual } from './manual.ts';
import { sinceTime } from './since.ts';
import { withStore, type ConfigOption } from './with-store.ts';

interface ReplayOptions extends ConfigOption {
  readonly dead?: boolean;
  readonly sink?: string;
  readonly since?: string;
}

export async function replay(ids: readonly string[], options: ReplayOptions, io: Io): Promise<number> {
  if (options.dead ? ids.length > 0 : ids.length === 0) {
    throw new CommandError('name the deliveries to replay, or give --dead for all that are dead', exit.usage);
  }
  if (!options.dead && (options.sink !== undefined || options.since !== undefined)) {
    throw new CommandError('--sink and --since narrow --dead; they do not go with delivery ids', exit.usage);
  }
  return withStore(options, io, async (store, config) => {
    const chosen = options.dead ? await allDead(store, options) : await named(store, ids);
    await store.saveConfig({ id: config.plan.id, source: config.planSource, savedAt: Date.now() });
    const replays = await planAll(store, config, chosen, io);
    const results = await store.replay(replays.items, Date.now());
    const done = printManual(results, 'goes out again', io);
    if (options.dead && chosen.length === 0) io.out('Nothing is dead.');
    return done && replays.refused === 0 ? exit.ok : exit.problems;
  });
}

async function allDead(store: Store, { sink, since }: ReplayOptions): Promise<Delivery[]> {
  const filter = {
    states: ['dead'] as const,
    ...(sink !== undefined && { sink }),
    ...(since !== undefined && { since: sinceTime(since) }),
  };
  const dead: Delivery[] = [];
  for (let page = await store.deliveries(filter); page.length > 0;) {
    dead.push(...page);
    page = await store.deliveries({ ...filter, after: page.at(-1)!.id });
  }
  return dead;
}

async function named(store: Store, ids: readonly string[]): Promise<Delivery[]> {
  const found = await Promise.all(ids.map((id) => store.delivery(id)));
  const missing = ids.filter((_, index) => found[index] === null);
  if (missing.length > 0) throw new CommandError(`there is no delivery ${missing.join(', ')}`);
  return found.filter((delivery) => delivery !== null);
}

/** Plans each delivery by today's config; says which have no place in it any more. */
async function planAll(store: Store, config: Config, deliveries: readonly Delivery[], io: Io) {
  const items: Replay[] = [];
  let refused = 0;
  for (const delivery of deliveries) {
    const action = todaysAction(config.plan, delivery);
    const event = await store.event(delivery.eventId);
    if (!action || !event) {
      refused += 1;
      io.err(
        `${delivery.id}: today's config has no rule ${delivery.rule} with an action for ${delivery.sink}; put it back to replay this`,
      );
      continue;
    }
    const now = Date.now();
    const data = templateData(event.event, config.plan.test(event.event.testId), delivery.rule, now);
    items.push({
      deliveryId: delivery.id,
      configId: config.plan.id,
      planned: plannedByHand(action, data, now),
    });
  }
  return { items, refused };
}
