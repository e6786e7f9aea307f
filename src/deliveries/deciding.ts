import type { Config, SinkConfig } from '../config/config.ts';
import type { FindPlan } from '../config/live/stored-plans.ts';
import {
  type Delivery,
  type Event,
  lookupConnector,
  lookupOf,
  lookupSink,
  noFacts,
  type PlannedDelivery,
} from '../model.ts';
import { decide } from '../rules/decide.ts';
import type { Plan } from '../rules/plan.ts';
import { StoreFaults } from '../store/store-faults.ts';
import type { Decided, DueEvent, Lookups, Store } from '../store/store.ts';
import type { Clock } from '../support/clock.ts';
import { Looks } from '../support/looks.ts';
import { foundBy, givenUp } from '../lookups/kept-facts.ts';

/** The look-ups to make before an event is decided. Undefined if the plan has none: then no event waits. */
export function lookupsOf(plan: Plan, event: Event): Lookups | undefined {
  if (plan.lookups.size === 0) return undefined;
  const subject = { event, test: plan.test(event.testId), facts: noFacts };
  const asked = [...plan.lookups.values()].filter(({ applies }) => applies(subject));
  const until = Math.min(...asked.map(({ waitForMs }) => event.receivedAt + waitForMs));
  return {
    asked: asked.map(({ name }) => {
      const sink = lookupSink(name);
      const dueAt = event.receivedAt;
      const alone = { group: null, groupMax: null };
      return { rule: sink, action: 0, sink, connector: lookupConnector, lane: sink, dueAt, ...alone };
    }),
    until: asked.length === 0 ? null : until,
  };
}

const wholes = new WeakMap<Config, Config>();

/** A config whose sinks include its look-ups, for carrying out deliveries. The same object for the same config. */
export function withLookupSinks(config: Config): Config {
  if (config.lookups.size === 0) return config;
  return wholes.getOrInsertComputed(config, () => ({
    ...config,
    sinks: new Map<string, SinkConfig>([...config.sinks, ...config.lookups]),
  }));
}

interface DecidingParts {
  readonly store: Store;
  readonly clock: Clock;
  /** Whether `clock` may be wrong for the moment. No event is decided meanwhile. */
  readonly isClockUnsure?: () => boolean;
  /** Today's config. */
  readonly config: () => Config;
  /** Finds the plan that was in force when an event came. */
  readonly plan: FindPlan;
  /** Called for a look-up whose `waitFor` is over. */
  readonly gaveUp?: (lookup: string) => void;
  /** Called with deliveries that were stored. */
  readonly wake: (stored: readonly PlannedDelivery[]) => void;
  readonly failed: (error: unknown) => void;
}

const mostAtOnce = 200;
/** How often to look: other replicas may leave something to decide, and the store may have been away. */
const pollMs = 1000;
const longestMs = 60_000;

/**
 * Decides the events whose look-ups have ended or are to be given up. They are found in the store, by every replica; only one
 * of them can decide an event.
 */
export class Deciding {
  readonly #parts: DecidingParts;
  readonly #looks: Looks;
  /** Whether an event waited at the last look. */
  #waited = true;
  /** That the store cannot be asked for events, or that one of them cannot be decided. */
  readonly #faults: StoreFaults<'looking' | 'deciding'>;

  constructor(parts: DecidingParts) {
    this.#parts = parts;
    this.#faults = new StoreFaults(parts.clock, parts.failed);
    this.#looks = new Looks(parts.clock, () => this.#look());
  }

  /** Whether an event may be waiting, also by an earlier config. A later one of its candidate must not overtake it. */
  get mayWait(): boolean {
    return this.#waited || this.#looks.isUnderWay;
  }

  /** Why events cannot be decided, once that has lasted; null if they can. */
  get fault(): unknown {
    return this.#faults.lasting;
  }

  /** Looks for events to decide. Cheap, and safe to call at any time. */
  wake(): void {
    this.#looks.wake();
  }

  stop(): Promise<void> {
    return this.#looks.stop();
  }

  async #look(): Promise<number | null> {
    try {
      const waitMs = await this.#decideDue();
      this.#faults.over('looking');
      this.#waited = waitMs !== null;
      // Another replica, whose config has look-ups, may leave an event and end.
      return waitMs ?? (this.#parts.store.leases === null ? null : longestMs);
    } catch (error) {
      this.#faults.failed('looking', error);
      this.#waited = true;
      return pollMs;
    }
  }

  /** Decides what is due. Returns how long to wait before the next look (ms); null if no event waits. */
  async #decideDue(): Promise<number | null> {
    const { store, clock, isClockUnsure, config, wake } = this.#parts;
    for (;;) {
      if (isClockUnsure?.()) return pollMs;
      const now = clock.now();
      const due = await store.dueEvents(now, mostAtOnce);
      const planned: PlannedDelivery[] = [];
      const done = await Promise.all(due.map((one) => this.#decide(one, now, planned)));
      if (!done.includes('failed')) this.#faults.over('deciding');
      // Events that waited for these may be next.
      if (done.includes('decided')) wake(planned);
      else if (done.length > 0) return pollMs;
      else break;
    }
    if (store.leases !== null && config().plan.lookups.size > 0) return pollMs;
    const until = await store.nextGiveUp();
    return until === null ? null : Math.min(Math.max(0, until - clock.now()), longestMs);
  }

  /** Decides an event, and adds its deliveries to `planned`. */
  async #decide(
    { event, configId }: DueEvent,
    now: number,
    planned: PlannedDelivery[],
  ): Promise<Decided | 'failed'> {
    const { store, config, gaveUp } = this.#parts;
    const over = new Set<string>();
    try {
      const own = await this.#parts.plan(configId);
      // Today's plan, if its own cannot be used: it must not wait for ever.
      const plan = 'fault' in own ? config().plan : own;
      const until = ({ sink, createdAt }: Delivery) =>
        createdAt + (plan.lookups.get(lookupOf(sink) ?? '')?.waitForMs ?? 0);
      const decided = await store.decide(
        event.id,
        {
          configId: plan.id,
          until,
          givenUp(lookup) {
            const name = lookupOf(lookup.sink) ?? '';
            over.add(name);
            return givenUp(lookup, config().plan.lookups.get(name), now);
          },
          decide(lookups) {
            const deliveries = decide(plan, event, foundBy(lookups), now);
            planned.push(...deliveries);
            return deliveries;
          },
        },
        now,
      );
      if (decided !== 'gone') for (const name of over) gaveUp?.(name);
      return decided;
    } catch (error) {
      this.#faults.failed('deciding', error);
      return 'failed';
    }
  }
}
