import type { Delivery, DeliveryState } from '../model.ts';
import { readStatus, type StatusParts } from '../ops/status/status.ts';
import { deliveryPages, inParts } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { printable } from '../support/text.ts';
import type { ActionName } from './change.ts';

/** Which deliveries a person means. */
export interface Selection {
  /**
   * The ids of deliveries; or of events and notices, whose deliveries are chosen by the rest. Empty: all deliveries.
   */
  readonly ids: readonly string[];
  readonly states: readonly DeliveryState[];
  readonly sink?: string | undefined;
  readonly rule?: string | undefined;
  /** Only deliveries of events that are dead for this cause; not together with ids. */
  readonly cause?: string | undefined;
  /** Only of events and notices that came at this time or later (ms). */
  readonly since?: number | undefined;
  /** Only what was dead or held by this time (ms), as on the page that a person looked at; not together with ids. */
  readonly until?: number | undefined;
  /** Only of notices whose trouble is over. */
  readonly over?: boolean | undefined;
}

/** Thrown when an id that was named does not exist. Nothing was done. */
export class NotThere extends Error {
  override readonly name = 'NotThere';
}

/**
 * Reads the selected deliveries in pages, each to be changed before the next is read. A replay without ids leaves out the
 * notices of troubles that are over, which are in `over`: people would read of them as if they were new. Throws NotThere.
 */
export async function* selected(
  parts: StatusParts,
  action: ActionName,
  selection: Selection,
): AsyncGenerator<{ readonly page: readonly Delivery[]; readonly over: readonly Delivery[] }> {
  const isBulk = action === 'replay' && selection.ids.length === 0;
  let known: ReadonlySet<string> | null = null;
  for await (const page of meant(parts, selection)) {
    if (isBulk && page.some(({ noticeId }) => noticeId !== null))
      known ??= new Set((await overNotices(parts)).map(({ id }) => id));
    const { over = [], others = [] } = Object.groupBy(page, ({ id }) => (known?.has(id) ? 'over' : 'others'));
    yield { page: others, over };
  }
}

async function overNotices(parts: StatusParts): Promise<Delivery[]> {
  const { stuckNotices } = await readStatus(parts, await parts.store.now(), 'UTC');
  return stuckNotices.filter(({ isOver }) => isOver).map(({ delivery }) => delivery);
}

async function* meant(
  parts: StatusParts,
  { ids, states, sink, rule, cause, since, until, over }: Selection,
): AsyncGenerator<readonly Delivery[]> {
  const isMeant = (one: Delivery): boolean =>
    states.includes(one.state) &&
    (sink === undefined || one.sink === sink) &&
    (rule === undefined || one.rule === rule) &&
    (since === undefined || one.createdAt >= since);
  if (ids.length > 0) yield await named(parts.reads, [...new Set(ids)], isMeant);
  else if (over) yield (await overNotices(parts)).filter(isMeant);
  else
    for await (const page of deliveryPages(parts.reads, { states, sink, cause, since, until }))
      yield page.filter(isMeant);
}

async function named(
  store: Pick<Store, 'event' | 'notice' | 'delivery'>,
  ids: readonly string[],
  isMeant: (one: Delivery) => boolean,
): Promise<Delivery[]> {
  const found = await inParts(ids, async (id): Promise<readonly Delivery[] | string> => {
    if (/^(evt|ntc)_/.test(id)) {
      const story = await (id.startsWith('evt_') ? store.event(id) : store.notice(id));
      return story?.deliveries.filter(isMeant) ?? `${id.startsWith('evt_') ? 'event' : 'notice'} ${id}`;
    }
    const delivery = await store.delivery(id);
    return delivery ? [delivery] : `delivery ${id}`;
  });
  const missing = found.filter((one) => typeof one === 'string');
  if (missing.length > 0)
    throw new NotThere(`there is no ${missing.map(printable).join(' and no ')}; nothing was done`);
  const each = found.flatMap((one) => (typeof one === 'string' ? [] : one));
  return [...new Map(each.map((delivery) => [delivery.id, delivery])).values()];
}
