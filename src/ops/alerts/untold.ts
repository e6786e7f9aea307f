import type { Config } from '../../config/config.ts';
import { lookupOf } from '../../model.ts';
import type { Notice } from '../../model/notices.ts';
import type { Plan } from '../../rules/plan.ts';
import type { Store } from '../../store/store.ts';
import { mayNotify } from './conditions.ts';
import type { Told } from './over.ts';

/** Events are counted up to here. */
const mostCounted = 1000;

/**
 * Outages of look-ups that were over before people were told of them. Events that were decided without an answer meanwhile
 * may have told nobody, so the end of such an outage is told if there are any. Kept in memory: `status` counts these events
 * for a week.
 */
export class UntoldOutages {
  readonly #store: Pick<Store, 'matches'>;
  /** Since when each look-up is or was down (ms). */
  readonly #since = new Map<string, number>();

  constructor(store: Pick<Store, 'matches'>) {
    this.#store = store;
  }

  /** The untold outages, over or not. `down`: the sinks that are down now; `told`: the troubles that people know of. */
  look(
    down: readonly Pick<Told & { sink: string }, 'sink' | 'since'>[],
    told: readonly Told[],
    { sinks }: Pick<Config, 'sinks'>,
  ): Told[] {
    for (const { sink, since } of down)
      if (lookupOf(sink) !== null && !this.#since.has(sink)) this.#since.set(sink, since);
    for (const sink of this.#since.keys())
      if (!sinks.has(sink) || told.some((one) => one.alert === 'paused' && one.sink === sink))
        this.#since.delete(sink);
    return Array.from(this.#since, ([sink, since]) => ({ id: sink, alert: 'paused', sink, since }));
  }

  /** The notice of an end, for a look-up with the number of events that were decided without it. Null where nobody is told. */
  async asTold(
    over: Notice,
    { lookups, wording }: Pick<Plan, 'lookups' | 'wording'>,
    notified: ReadonlyMap<string, number>,
    now: number,
  ): Promise<Notice | null> {
    if (over.sink === null || lookupOf(over.sink) === null) return over;
    const isUntold = this.#since.has(over.sink);
    // The next notice counts these events, too.
    if (isUntold && !mayNotify(notified.get(over.cause), now)) return null;
    const count = await this.unanswered(over.sink, over.since, lookups);
    this.#since.delete(over.sink);
    if (count === 0) return isUntold ? null : over;
    const events = wording.say('events', { count });
    return { ...over, count, detail: `${over.detail} ${wording.say('lookupUnanswered', { events })}` };
  }

  /** How many events were decided without an answer of a look-up since it was down (ms). 0 for any other sink. */
  async unanswered(sink: string, downSince: number, lookups: Plan['lookups']): Promise<number> {
    const lookup = lookupOf(sink);
    if (lookup === null) return 0;
    // Events from before the outage may have been waiting for an answer.
    const since = downSince - (lookups.get(lookup)?.waitForMs ?? 0);
    return (await this.#store.matches({ unanswered: true, lookup: sink, since }, mostCounted)).count;
  }
}
