import { connectors } from '../../../connectors/index.ts';
import { lookup } from '../../../connectors/webhook/lookup/index.ts';
import type { Config } from '../../../src/config/config.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { change } from '../../../src/by-hand/change.ts';
import { planLookups } from '../../../src/by-hand/late.ts';
import type { AnyConnector, AttemptRequest } from '../../../src/connector.ts';
import { lastSeenAt } from '../../../src/ops/retention.ts';
import { type Delivery, isStuck, statuses } from '../../../src/model.ts';
import type { Clock } from '../../../src/support/clock.ts';
import { VirtualClock } from '../../../src/scenarios/virtual-clock.ts';
import type { EventStory, Store } from '../../../src/store/store.ts';
import { sampleEvent } from '../../../src/templates/data.ts';
import { seeded } from '../../faults/random.ts';
import { type Connected, inMemory, startDeliveries } from '../connected.ts';
import { among } from '../foresight-cases.ts';
import { Pending, SimulatedProcess } from '../process.ts';
import { Restorable } from './restorable.ts';

const byHand = { who: 'a person', from: 'here', note: null };
const minuteMs = 60_000;
const offices = ['berlin', 'zagreb'];
const found = '{{ candidate.office | default: "others" }}';
/** The place by what a look-up found, by none, and by the day. */
export const placeTexts = [found, found, found, 'berlin', 'd-{{ now | date: "%d" }}'];

/** Who a message is about. */
export const candidate = '{{ event.candidateId }}';
export const told = `${candidate}/{{ event.status }} `;

interface WrittenRule<Action> {
  readonly name: string;
  readonly then: readonly Action[];
}

/** A tool that is played, with what a config may ask of it. */
export interface Played<Action> {
  /** Of the connector. */
  readonly name: string;
  /** The sink's options. */
  readonly options: object;
  action(random: () => number): Action;
  /** How likely a call goes wrong. */
  faults: number;
  /** The connector for one life of the process. */
  connector(outside: Outside): AnyConnector;
  close?(): Promise<void>;
}

/** Runs what a process does in the world. A dead one hears nothing of it any more. */
export type Outside = <T>(run: () => Promise<T>) => Promise<T>;

/** What a tool that is played needs of its world. */
export interface World {
  readonly clock: Clock;
  readonly random: () => number;
  /** Keeps what happens, in words. */
  note(what: string): void;
  /** Runs what takes time in truth, and none by the clock. */
  atOnce<T>(run: () => Promise<T>): Promise<T>;
}

function randomRules<Action>(random: () => number, tool: Played<Action>): WrittenRule<Action>[] {
  const action = () => ({
    sink: 'tool',
    ...tool.action(random),
    ...(random() < 0.3 && { hours: 'day' }),
  });
  const some = () => 1 + Math.floor(random() * 2);
  return Array.from({ length: some() }, (_, index) => ({
    name: `rule-${index}`,
    when: {},
    then: Array.from({ length: some() }, action),
  }));
}

/** Closed around midnight, so that what waits does so until the next day. */
const hours = { days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '00:05', to: '23:55' };

const configOf = (rules: readonly object[], { name, options }: Played<unknown>, retry: object): string =>
  JSON.stringify({
    timezone: 'Etc/UTC',
    store: { retention: '365d' },
    hours: { day: hours },
    sinks: { tool: { connector: name, ...options, timeout: '5s', retry } },
    lookups: {
      candidate: {
        url: 'https://api.example.com/{{ event.candidateId }}',
        fields: { office: { at: '/office' } },
        waitFor: '60s',
      },
    },
    rules,
  });

export interface PlayOptions {
  readonly open?: (() => Promise<Store>) | undefined;
  readonly forgetful?: boolean | undefined;
  readonly restores?: boolean | undefined;
}

/** Candidates are told of in a tool. It fails, processes die, and people do what they may do. */
export class Play<Action, Tool extends Played<Action>> implements World {
  readonly clock = new VirtualClock(Date.parse('2026-03-02T23:50:00Z'));
  readonly log: string[] = [];
  /** The ids of what a person replayed; of digests, those of their carriers. */
  readonly replayed = new Set<string>();
  /** Those of them that a person was told may come twice, and that were replayed once more: a look-up may have moved them between. */
  readonly risked = new Set<string>();
  readonly #mayComeTwice = new Set<string>();
  /** The ids of digests that could not be replayed, as their events have parted. */
  readonly parted = new Set<string>();
  readonly random: () => number;
  readonly tool: Tool;
  readonly text: string;
  readonly #written: readonly WrittenRule<Action>[];
  #config!: Config;
  store!: Store;
  readonly #pending = new Pending();
  #process!: SimulatedProcess;
  #connected!: Connected;
  #bug: unknown = null;
  #left = 0;
  readonly #forgetful: boolean;
  readonly #restorable: Restorable | null;
  #real!: Store;
  /** Whether a backup was put in the store's place. What came since is not in it. */
  restored = false;

  /**
   * `forgetful`: as if nobody kept when a message was composed that may have arrived, nor saw that the store was restored.
   * `restores`: a backup is put in the store's place, and look-ups find the same each time.
   */
  constructor(
    seed: number,
    toolIn: (world: World) => Tool,
    { forgetful = false, restores = false }: PlayOptions = {},
  ) {
    this.#forgetful = forgetful;
    this.#restorable = restores ? new Restorable() : null;
    this.random = seeded(seed);
    this.tool = toolIn(this);
    this.tool.faults = among(this.random, [0.1, 0.4, 0.7]);
    this.#written = randomRules(this.random, this.tool);
    this.text = configOf(this.#written, this.tool, {
      minDelay: '1s',
      maxDelay: among(this.random, ['20s', '10m']),
      giveUpAfter: among(this.random, ['2m', '20h']),
    });
  }

  note(what: string): void {
    this.log.push(`${new Date(this.clock.now()).toISOString()} ${what}`);
  }

  atOnce<T>(run: () => Promise<T>): Promise<T> {
    return this.#pending.run(run);
  }

  #use(real: Store): void {
    const { clock } = this;
    const claim: Store['claim'] = async (query) => {
      const claims = await real.claim(query);
      if (!this.#forgetful) return claims;
      return claims.map((one) => Object.assign({}, one, { delivery: { ...one.delivery, composedAt: null } }));
    };
    this.#real = real;
    this.store = this.#pending.counted({ ...real, claim, leases: null, now: async () => clock.now() });
  }

  async run(open: () => Promise<Store> = inMemory): Promise<EventStory[]> {
    const { clock, random } = this;
    this.#use(await (this.#restorable ? this.#restorable.open() : open()));
    try {
      await this.#start();
      const some = (most: number, withinMs: number, run: () => Promise<unknown>) => {
        for (let left = Math.floor(random() * (most + 1)); left > 0; left -= 1) {
          this.#left += 1;
          clock.after(
            random() * withinMs,
            () =>
              void run().then(
                () => (this.#left -= 1),
                (error: unknown) => (this.#bug ??= error),
              ),
          );
        }
      };
      const forMs = among(random, [2, 20]) * minuteMs;
      await this.#come();
      some(5, forMs, () => this.#come());
      if (this.#restorable) this.#restoreIn(forMs);
      else some(8, 2 * forMs, () => this.#lookUp());
      some(3, 2 * forMs, () => this.#pause());
      some(3, 2 * forMs, () => this.#replay());
      some(2, 2 * forMs, async () => this.#process.kill());
      await this.#settled();
      this.tool.faults = 0;
      this.note('all works again');
      for (let tries = 3; tries > 0; tries -= 1) {
        await this.#replay(1);
        await this.#settled();
      }
      return await this.store.events({ limit: 1000 });
    } finally {
      await this.#connected.stop();
      await this.#real.close();
      await this.tool.close?.();
      this.#restorable?.remove();
    }
  }

  /** Makes a backup within this time, and puts it in the store's place some time later. */
  #restoreIn(withinMs: number): void {
    const { clock, random } = this;
    this.#left += 1;
    const restorable = this.#restorable!;
    const backup = async () => {
      await this.store.keepSignOfLife({ seenAt: clock.now(), doubt: null });
      await restorable.backup();
      this.note('a backup is made');
    };
    const restore = async () => {
      await this.#real.close();
      restorable.restore();
      this.#use(await restorable.open());
      // The backup may have a pause that has ended since.
      await this.store.resumeByPerson('tool', clock.now(), byHand);
      this.restored = true;
      this.#left -= 1;
      this.note('the backup is put in the place of the store');
    };
    const failed = (error: unknown) => (this.#bug ??= error);
    const backupAt = random() * withinMs;
    const restoreAt = backupAt + random() * withinMs;
    clock.after(backupAt, () => void this.#pending.run(backup).catch(failed));
    clock.after(restoreAt, () => {
      this.#process.kill();
      // What was under way in the store has ended then.
      clock.after(1000, () => void this.#pending.run(restore).catch(failed));
    });
  }

  async #start(): Promise<void> {
    const { clock, random } = this;
    const process = new SimulatedProcess(null, this.#pending, (operation) => {
      this.note(`the process dies at ${operation}`);
      clock.after(5000, () => void this.#start());
    });
    this.#process = process;
    const outside = <T>(run: () => Promise<T>) => process.outside(run);
    const config = parseConfig(this.text, 'played.yaml', {
      env: { TOKEN: 'xoxb-1' },
      connectors: new Map([...connectors, [this.tool.name, this.tool.connector(outside)]]),
    });
    const lookups = [...config.lookups].map(
      ([name, one]) => [name, { ...one, connector: this.#api(outside) }] as const,
    );
    this.#config = { ...config, lookups: new Map(lookups) };
    const { plan } = config;
    const store = process.store(this.store);
    if (!this.#forgetful) await this.store.settleIn(clock.now());
    await this.store.saveConfig({ id: plan.id, source: config.planSource, savedAt: clock.now() });
    const [newest] = await this.store.events({ limit: 1 });
    const connected = startDeliveries({
      store,
      clock,
      random,
      config: () => this.#config,
      plan: async () => plan,
      observe: ({ delivery, outcome, state }) =>
        this.note(`${delivery.id} ${JSON.stringify(outcome)}: ${state}`),
      failed: (error) => (this.#bug ??= error),
      pollMs: 30_000,
      after: newest?.event.id,
    });
    this.#connected = connected;
    void lastSeenAt(this.store)
      .then((time) => connected.worker.start(time))
      .then(() => connected.deciding.wake());
  }

  #api(outside: <T>(run: () => Promise<T>) => Promise<T>) {
    const deliver = ({ message }: AttemptRequest<unknown>) =>
      outside(async () => {
        await new Promise<void>((resolve) => this.clock.after(1 + this.random() * 300, resolve));
        const drawn = this.random() < 0.1 ? null : among(this.random, offices);
        const office = this.#restorable ? offices[Number(JSON.stringify(message).includes('ana'))]! : drawn;
        const facts = { state: 'answered', at: null, reason: null, fields: { office } };
        this.note(`looked up: ${office}`);
        return { outcome: 'delivered', receipt: { status: 200, facts } } as const;
      });
    return { ...lookup, connect: async () => ({ deliver, check: async () => [], close: async () => {} }) };
  }

  async #come(): Promise<void> {
    if (this.#process.dead) return;
    const candidateId = among(this.random, ['ana', 'ben']);
    const given = { candidateId, testId: 1, status: among(this.random, statuses) };
    const { raw, receivedAt } = sampleEvent(given, this.clock.now());
    const event = { ...given, candidateNumericalId: null };
    this.note(`comes: ${candidateId}/${given.status}`);
    const { inbox } = this.#connected;
    const accepted = inbox.accept({ event, raw, correlationId: null, traceparent: null, receivedAt });
    // Whoever waits for a process that died waits in vain.
    await Promise.race([accepted, new Promise<void>((resolve) => this.clock.after(30_000, resolve))]);
  }

  async #lookUp(): Promise<void> {
    const stories = (await this.store.events({ limit: 1000 })).filter(({ decided }) => decided);
    const items = stories
      .filter(() => this.random() < 0.7)
      .map((story) => planLookups(this.#config.plan, story, this.clock.now()))
      .filter((one) => 'deliveries' in one);
    await this.store.lookUp(items, this.clock.now(), byHand);
    this.note(`look-ups are made again: ${items.map(({ eventId }) => eventId).join(' ')}`);
    this.#connected.worker.wake();
  }

  async #pause(): Promise<void> {
    const { clock } = this;
    this.note('a person pauses');
    await this.store.pauseByPerson('tool', null, clock.now(), byHand);
    await new Promise<void>((resolve) => clock.after(this.random() * 5 * minuteMs, resolve));
    this.note('a person resumes');
    await this.store.resumeByPerson('tool', clock.now(), byHand);
    this.#connected.worker.wake();
  }

  async #replay(share = 0.7): Promise<void> {
    const { store } = this;
    const plan = async () => this.#config.plan;
    const stuck = (await this.deliveries()).filter(({ state }) => isStuck(state) && this.random() < share);
    const results = await change({ reads: store, store, plan }, 'replay', stuck, this.#config.plan, byHand);
    const warnedOf = new Set(this.#mayComeTwice);
    for (const { id, ok, says } of results) {
      this.note(`replay ${id}: ${says}`);
      const message = stuck.find((one) => one.id === id)!.carrier ?? id;
      if (ok && warnedOf.has(message)) this.risked.add(message);
      if (ok) this.replayed.add(message);
      if (says.includes('may come twice')) this.#mayComeTwice.add(message);
      if (says.includes('different places')) this.parted.add(id);
    }
    this.#connected.worker.wake();
  }

  /**
   * Whether a message is in one of these places twice, and no person risked that; or in a second one, where no person replayed it
   * and the store was not restored.
   */
  isTwice(id: string, where: readonly string[]): boolean {
    const places = new Set(where).size;
    return (
      (places < where.length && !this.risked.has(id)) ||
      (places > 1 && !this.replayed.has(id) && !this.restored)
    );
  }

  /** An action as it is written in the config. */
  written(rule: string, action: number): Action {
    return this.#written.find(({ name }) => name === rule)!.then[action]!;
  }

  async deliveries(): Promise<Delivery[]> {
    return (await this.store.events({ limit: 1000 })).flatMap(({ deliveries }) => deliveries);
  }

  async #settled(): Promise<void> {
    const startedAt = this.clock.elapsed();
    const isOver = async () =>
      this.#left === 0 &&
      !this.#process.dead &&
      (await this.store.eventCounts()).undecided === 0 &&
      (await this.store.counts()).every(({ states }) => states.pending + states.sending === 0);
    await this.#pending.settled();
    while (!this.#bug && !(await isOver())) {
      if (this.clock.elapsed() - startedAt > 5 * 86_400_000 || !this.clock.ring())
        throw new Error('it never came to an end');
      await this.#pending.settled();
    }
    if (this.#bug) throw this.#bug;
  }
}

/**
 * A play of one seed with a tool. It returns what is wrong with what the tool has in the end, and the config and what had
 * happened, in words.
 */
export function playOf<Action, Tool extends Played<Action>>(
  toolIn: (world: World, forgetful: boolean | undefined) => Tool,
  findBreaches: (play: Play<Action, Tool>, stories: readonly EventStory[]) => string[],
) {
  return async (seed: number, { open, ...options }: PlayOptions = {}) => {
    const play = new Play<Action, Tool>(seed, (world) => toolIn(world, options.forgetful), options);
    const breaches = await play.run(open).then(
      (stories) => findBreaches(play, stories),
      (error: unknown) => [error instanceof Error ? error.stack! : String(error)],
    );
    return { breaches, steps: [play.text, ...play.log] };
  };
}

/** The first seed that breaks the promise, with how; null if none does. */
export async function firstBroken(
  play: ReturnType<typeof playOf>,
  seeds: readonly number[],
  options?: PlayOptions,
) {
  for (const seed of seeds) {
    const { breaches, steps } = await play(seed, options);
    if (breaches.length > 0) return { seed, breaches, steps };
  }
  return null;
}
