import { program } from '../../support/invocation.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { isUnderWay, lookupOf } from '../../model.ts';
import { askedUntil, keptBack, nameOf, toolsWish } from '../../ops/sink-states.ts';
import { pausesNow } from '../../ops/pauses.ts';
import { inParts } from '../../store/paging.ts';
import type { Store } from '../../store/store.ts';
import { printable } from '../../support/text.ts';
import { CommandError, type Io, nowAndThen, obstaclesOf, when } from '../output.ts';
import { isServed } from '../with-store.ts';

/** What commands say of the deliveries that they began: why these wait, and how they end. */

/** Says why these deliveries to these sinks wait, so that nobody believes they are out. */
export async function tellKeptBack(
  store: Store,
  sinks: Iterable<string>,
  ids: readonly string[],
  io: Io,
): Promise<void> {
  if (!(await isServed(store))) {
    io.out('Not yet: no connector serves this store, and it goes out once one does.');
    return;
  }
  const { pauses, asked } = await obstaclesOf(store);
  const sent = asked.size === 0 ? [] : await inParts(ids.slice(0, lookedAt), (id) => store.delivery(id));
  const lanes = new Set(sent.map((one) => one?.lane ?? ''));
  const waits = [...asked.values()].filter(({ lane }) => lanes.has(lane));
  for (const sink of sinks) {
    const until = askedUntil(waits.filter((one) => one.sink === sink));
    const wish = until === null ? null : `${nameOf(sink)} is not called now: ${toolsWish(when(until, io))}`;
    const why = keptBack(sink, pauses.get(sink) ?? null) ?? wish;
    if (why !== null) io.out(printable(`Not yet: ${why}.`));
  }
}

/** Fails if no connector serves the store. Called before anything is changed. */
export async function refuseWithoutConnector(store: Store): Promise<void> {
  if (await isServed(store)) return;
  throw new CommandError(
    `--wait needs a connector that serves this store, and none does (see \`${program} status\`); nothing was done`,
  );
}

const lookEveryMs = 200;
/** How many are looked at each time, so that of thousands the first to end are soon reported. */
const lookedAt = 200;

/** Waits until all deliveries have ended, and prints how. Resolves to whether all were delivered. */
export async function waitFor(store: Store, ids: readonly string[], io: Io): Promise<boolean> {
  const open = new Set(ids);
  const isTime = nowAndThen();
  let arrived = true;
  while (open.size > 0) {
    for (const id of [...open].slice(0, lookedAt)) {
      open.delete(id);
      const delivery = await store.delivery(id);
      const why = delivery?.lastError ? `: ${delivery.lastError}` : '';
      if (delivery && isUnderWay(delivery.state)) open.add(id);
      else {
        arrived &&= delivery?.state === 'delivered';
        const lookup = lookupOf(delivery?.sink ?? '');
        io.out(
          printable(
            lookup === null
              ? `${id} is ${delivery?.state ?? 'gone'}${why}`
              : `${delivery?.eventId}: look-up ${lookup} ${delivery?.state === 'delivered' ? 'is answered' : `has no answer${why}`}`,
          ),
        );
      }
    }
    if (open.size > 0 && isTime()) await tellWhy(store, open, io);
    if (open.size > 0) await sleep(lookEveryMs);
  }
  return arrived;
}

async function tellWhy(store: Store, open: ReadonlySet<string>, io: Io): Promise<void> {
  if (!(await isServed(store)))
    throw new CommandError(
      `no connector serves this store any more (see \`${program} status\`); ${open.size} still on the way will go when one does`,
    );
  const [first = ''] = open;
  const delivery = await store.delivery(first);
  const due = delivery && delivery.dueAt > (await store.now()) ? `, due ${when(delivery.dueAt, io)}` : '';
  const why = delivery?.lastError ? `: ${delivery.lastError}` : '';
  const sink = delivery?.sink ?? '';
  const kept = keptBack(sink, (await pausesNow(store, await store.now())).get(sink) ?? null);
  const how = kept === null ? `${due}${why}` : ` waits: ${kept}`;
  io.err(printable(`${open.size} still on the way; ${first}${how}`));
}
