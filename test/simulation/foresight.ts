import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import { type AnyConnector, type AttemptRequest, defineConnector, rejected } from '../../src/connector.ts';
import { planLate, planLookups } from '../../src/by-hand/late.ts';
import type { AttemptReport } from '../../src/deliveries/call.ts';
import { explained } from '../../src/deliveries/explained.ts';
import { foundBy } from '../../src/lookups/kept-facts.ts';
import { type Event, type Facts, type Json, noFacts } from '../../src/model.ts';
import type { Plan } from '../../src/rules/plan.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import { VirtualClock } from '../../src/scenarios/virtual-clock.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { sampleEvent } from '../../src/templates/data.ts';
import { seeded } from '../faults/random.ts';
import { startDeliveries } from './connected.ts';
import { Pending } from './process.ts';
import { agreement, compare, type Foreseen, type Got } from './foresight-books.ts';
import { among, type Case, laterRule, randomCase } from './foresight-cases.ts';

/** A step that is left out, to prove that it would be seen. */
export type Blindness = 'capitals' | 'due time' | 'facts then';

export interface ForesightReport {
  readonly config: string;
  /** How what the tools got differs from what `explain` said, in words. */
  readonly breaches: readonly string[];
  readonly messages: number;
}

const byHand = { who: 'a person', from: 'here', note: null };
/** The longest digest, and the closed days after it. */
const patienceMs = 30 * 86_400_000;
/**
 * Plays random events by a random config, and compares what the tools got with what `explain` says of each event at the time
 * when it is decided. The same seed gives the same run.
 */
export async function foresee(
  seed: number,
  connectors: ReadonlyMap<string, AnyConnector>,
  blindness: Blindness | null = null,
): Promise<ForesightReport> {
  const random = seeded(seed);
  const played = randomCase(random);
  const known =
    blindness === 'capitals'
      ? new Map([...connectors].map(([name, one]) => [name, { ...one, alike: (text: string) => text }]))
      : connectors;
  const read = (text: string) =>
    parseConfig(text, 'foresight.yaml', { env: { TOKEN: 'xoxb-1' }, connectors: known });
  const configs = [read(played.config), read(played.later)] as const;
  const { got, foreseen } = await new World(played, configs, random, blindness).run();
  return { config: played.later, breaches: compare(played, foreseen, got), messages: got.length };
}

class World {
  readonly #played: Case;
  readonly #configs: readonly [Config, Config];
  #config: Config;
  readonly #random: () => number;
  readonly #blindness: Blindness | null;
  readonly #clock: VirtualClock;
  readonly #pending = new Pending();
  readonly #arrived = new Map<string, { at: number; message: Json }>();
  readonly #got: Got[] = [];
  readonly #foreseen: Foreseen[] = [];
  /** With the config by which each came. */
  readonly #events = new Map<string, { event: Event; config: Config }>();
  #bug: unknown = null;

  constructor(
    played: Case,
    configs: readonly [Config, Config],
    random: () => number,
    blindness: Blindness | null,
  ) {
    this.#played = played;
    this.#random = random;
    this.#blindness = blindness;
    this.#clock = new VirtualClock(played.startsAt);
    const [before, after] = configs;
    this.#configs = [this.#withoutTools(before), this.#withoutTools(after)];
    [this.#config] = this.#configs;
  }

  async run() {
    const memory = await openSqlite(':memory:', { serve: false });
    const store = this.#watched(memory);
    const clock = this.#clock;
    const config = () => this.#config;
    const failed = (error: unknown) => void (this.#bug ??= error);
    const plan = async (id: string) => this.#configs.find((one) => one.plan.id === id)!.plan;
    const connected = startDeliveries({
      store,
      clock,
      random: this.#random,
      config,
      plan,
      observe: (report) => void this.#pending.run(() => this.#observe(report, memory)),
      failed,
      pollMs: 86_400_000,
    });
    const { worker, inbox } = connected;
    try {
      for (const one of this.#configs)
        await store.saveConfig({ id: one.plan.id, source: one.planSource, savedAt: clock.now() });
      await worker.start();
      let toCome = this.#played.events.length + this.#played.asksAgainAt.length + 1;
      const coming = (at: number, run: () => Promise<unknown>) =>
        clock.after(at - clock.now(), () => void run().then(() => (toCome -= 1), failed));
      for (const { at, ...event } of this.#played.events)
        coming(at, () => {
          const { raw, receivedAt } = sampleEvent(event, at);
          return inbox.accept({
            event: { ...event, candidateNumericalId: null },
            raw,
            correlationId: null,
            traceparent: null,
            receivedAt,
          });
        });
      for (const at of this.#played.asksAgainAt)
        coming(at, async () => {
          await this.#askAgain(store, at);
          worker.wake();
        });
      coming(this.#played.changesAt, async () => {
        await this.#change(store, plan);
        worker.wake();
      });
      const isOver = async () =>
        toCome === 0 &&
        worker.sinksWithDeliveries.size === 0 &&
        (await memory.nextGiveUp()) === null &&
        (await memory.counts()).every(({ states }) => states.pending + states.sending === 0);
      await this.#pending.settled();
      while (!(await isOver())) {
        if (this.#bug) throw this.#bug;
        if (clock.elapsed() > patienceMs || !clock.ring()) throw new Error('it never came to an end');
        await this.#pending.settled();
      }
      if (this.#bug) throw this.#bug;
      return { got: this.#got, foreseen: this.#foreseen };
    } finally {
      await connected.stop();
      await memory.close();
    }
  }

  /** A person asks the look-ups of some events again. */
  async #askAgain(store: Store, now: number): Promise<void> {
    const stories = (await store.events({ limit: 1000 })).filter(({ decided }) => decided);
    const items = stories
      .filter(() => this.#random() < 0.6)
      .map((story) => planLookups(this.#config.plan, story, now))
      .filter((one) => 'deliveries' in one);
    await store.lookUp(items, now, byHand);
  }

  /** A further rule is added, and applied to what was decided before. */
  async #change(store: Store, findPlan: (id: string) => Promise<Plan>): Promise<void> {
    const now = this.#clock.now();
    [, this.#config] = this.#configs;
    for (const story of await store.events({ limit: 1000 })) {
      const late = await planLate(this.#config.plan, findPlan, story, laterRule, now);
      if (late === null || 'fault' in late) continue;
      await store.apply([late], now, byHand);
      this.#foresee(this.#config, story.event, now, foundBy(story.lookups), laterRule);
    }
  }

  async #observe(report: AttemptReport, store: Store): Promise<void> {
    const { delivery, events, outcome } = report;
    const { rule, action } = delivery;
    const arrived = this.#arrived.get(delivery.id);
    if (outcome.outcome !== 'delivered' || !arrived)
      return void (this.#bug ??= new Error(`${delivery.sink}: ${JSON.stringify(outcome)}`));
    const lookups = await store.lookupsOf(events.map(({ id }) => id));
    this.#got.push({ rule, action, ...arrived, events, latest: lookups.map((some) => foundBy(some)) });
  }

  /** `only`: of this rule. */
  #foresee(config: Config, event: Event, decidedAt: number, facts: Facts, only?: string): void {
    for (const one of explained(config, event, decidedAt, facts).deliveries) {
      const { rule, action, dueAt, groupMax } = one.planned;
      if (only !== undefined && rule !== only) continue;
      if (one.problem !== undefined) throw new Error(one.problem);
      const agreed = agreement(this.#played, one, event, facts);
      const max = groupMax ?? 1;
      this.#foreseen.push({
        config,
        rule,
        action,
        event,
        decidedAt,
        dueAt,
        max,
        message: one.message,
        agreed,
      });
    }
  }

  /** Counts what is under way, and notes when each event is decided, and by which facts. */
  #watched(real: Store): Store {
    const whole: Store = {
      ...real,
      accept: async (arrival) => {
        const { event } = arrival;
        const deliveries =
          this.#blindness === 'due time'
            ? arrival.deliveries.map((one) => ({
                ...one,
                group: one.group && `${one.group} ${Math.floor(event.receivedAt / 86_400_000)}`,
              }))
            : arrival.deliveries;
        const { config } = this.#events.getOrInsertComputed(event.id, () => ({
          event,
          config: this.#config,
        }));
        const accepted = await real.accept({ ...arrival, deliveries });
        if (!accepted.undecided && !accepted.duplicate)
          this.#foresee(config, event, event.receivedAt, noFacts);
        return accepted;
      },
      decide: async (id, how, now) => {
        let facts = noFacts;
        const decide: typeof how.decide = (lookups) => {
          facts = foundBy(lookups);
          return how.decide(lookups);
        };
        const decided = await real.decide(id, { ...how, decide }, now);
        if (decided === 'decided') {
          const { event, config } = this.#events.get(id)!;
          this.#foresee(config, event, now, facts);
        }
        return decided;
      },
      event: async (id) => {
        const story = await real.event(id);
        return this.#blindness === 'facts then' && story
          ? { ...story, lookups: story.lookups.map((one) => ({ ...one, id: one.id.replace(/\d+$/, '1') })) }
          : story;
      },
    };
    return this.#pending.counted(whole);
  }

  /** Each connector composes as it does, and its tool takes everything. The API of the look-up says what it likes. */
  #withoutTools(config: Config): Config {
    const take = async ({ deliveryId, message }: AttemptRequest<Json>): Promise<Outcome> => {
      this.#arrived.set(deliveryId, { at: this.#clock.now(), message });
      return { outcome: 'delivered', receipt: {} };
    };
    const check = async () => [];
    const close = async () => {};
    const sinks = [...config.sinks].map(([name, sink]) => {
      const { batch } = sink.connector;
      const connect = async () => ({
        deliver: take,
        ...(batch && {
          deliverMany: (requests: readonly AttemptRequest<Json>[]) => Promise.all(requests.map(take)),
          findMany: async (requests: readonly AttemptRequest<Json>[]) =>
            requests.map(() => ({ found: null })),
        }),
        check,
        close,
      });
      return [name, { ...sink, connector: defineConnector({ ...sink.connector, connect }) }] as const;
    });
    const deliver = async (): Promise<Outcome> => {
      await new Promise<void>((resolve) => this.#clock.after(1 + this.#random() * 300, resolve));
      const roll = this.#random();
      if (roll < 0.3) return rejected('invalid', 'It answered 422.', 'Look at the url.');
      const recruiter = roll < 0.4 ? null : among(this.#random, this.#played.people);
      const facts = { state: 'answered', at: null, reason: null, fields: { recruiter } };
      return { outcome: 'delivered', receipt: { status: 200, facts } };
    };
    const lookups = [...config.lookups].map(([name, one]) => {
      const connector = defineConnector({
        ...one.connector,
        connect: async () => ({ deliver, check, close }),
      });
      return [name, { ...one, connector }] as const;
    });
    return { ...config, sinks: new Map(sinks), lookups: new Map(lookups) };
  }
}
