import { connectors } from '../../../connectors/index.ts';
import type { Config } from '../../../src/config/config.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { type ActionName, change, type ChangeResult, rehearse } from '../../../src/by-hand/change.ts';
import { planLate } from '../../../src/by-hand/late.ts';
import { selected, type Selection } from '../../../src/by-hand/selection.ts';
import { type Delivery, discardableStates, isStuck, stuckStates } from '../../../src/model.ts';
import { onlyStore, readStatus } from '../../../src/ops/status/status.ts';
import { VirtualClock } from '../../../src/scenarios/virtual-clock.ts';
import type { EventStory, Store } from '../../../src/store/store.ts';
import { sampleEvent } from '../../../src/templates/data.ts';
import { seeded } from '../../faults/random.ts';
import { type Connected, inMemory, startDeliveries } from '../connected.ts';
import { among } from '../foresight-cases.ts';
import { Pending } from '../process.ts';
import { Editor, type PlayedConfig, textOf } from './cases.ts';
import { type Kept, Tools } from './tool.ts';

/** What a person did, and what came of it. */
export interface Done {
  readonly action: ActionName;
  readonly before: ReadonlyMap<string, Delivery>;
  readonly keptBefore: readonly Kept[];
  /** By a dry run. */
  readonly said: readonly ChangeResult[];
  readonly results: readonly ChangeResult[];
}

export interface Applied {
  readonly rule: string;
  readonly discarded: boolean;
  readonly before: readonly EventStory[];
  /** The ids of what it planned. */
  readonly made: readonly string[];
}

const byHand = { who: 'a person', from: 'here', note: null };
/** How often the worker looks for what people ask (ms). */
const pollMs = 600_000;

/** Events come, tools fail, the config is edited, and a person does what is left to do. The same seed gives the same. */
export class Play {
  readonly random: () => number;
  readonly editor: Editor;
  readonly tools: Tools;
  /** What happened, for whoever reads of a breach. */
  readonly log: string[] = [];
  readonly paused = new Set<string>();
  readonly clock = new VirtualClock(Date.parse('2026-03-02T09:00:00Z'));
  store!: Store;
  readonly #configs = new Map<string, { readonly config: Config; readonly played: PlayedConfig }>();
  readonly #pending = new Pending();
  #config!: Config;
  #connected!: Connected;
  #bug: unknown = null;
  #candidates = 0;

  constructor(seed: number) {
    this.random = seeded(seed);
    this.editor = new Editor(this.random);
    this.tools = new Tools(this.random);
  }

  async run(play: () => Promise<void>, open: () => Promise<Store> = inMemory): Promise<void> {
    const real = await open();
    const { clock, random } = this;
    this.store = this.#pending.counted({ ...real, leases: null, now: async () => clock.now() });
    await this.#takeConfig();
    this.#connected = startDeliveries({
      store: this.store,
      clock,
      random,
      config: () => this.#config,
      plan: this.#plan,
      observe: () => {},
      failed: (error) => (this.#bug ??= error),
      pollMs,
    });
    try {
      await this.#connected.worker.start();
      await play();
    } finally {
      await this.#connected.stop();
      await real.close();
    }
  }

  readonly #plan = async (id: string) => this.#configs.get(id)!.config.plan;

  /** The config by which something was planned. */
  played(configId: string): PlayedConfig {
    return this.#configs.get(configId)!.played;
  }

  async #takeConfig(): Promise<void> {
    const played = structuredClone(this.editor.today);
    const config = parseConfig(textOf(played), 'by-hand.yaml', {
      env: { TOKEN: 'xoxb-1' },
      connectors: this.tools.connectors(connectors),
    });
    const { id } = config.plan;
    this.#config = config;
    this.#configs.set(id, { config, played });
    await this.store.saveConfig({ id, source: config.planSource, savedAt: this.clock.now() });
  }

  async edit(): Promise<void> {
    this.log.push(`edited: ${this.editor.edit().join('; ')}`);
    await this.#takeConfig();
    await this.#settled();
  }

  /** Opens a place that took nothing. */
  open(): void {
    const places = this.editor.today.rules.flatMap(({ then }) => then).map(({ place }) => place);
    this.tools.opened.add(among(this.random, places));
  }

  async come(): Promise<void> {
    for (let left = 1 + Math.floor(this.random() * 4); left > 0; left -= 1) {
      this.#candidates += 1;
      const candidateId = `c${this.#candidates}`;
      const testId = 1 + Math.floor(this.random() * 2);
      const { raw, receivedAt } = sampleEvent({ candidateId, testId, status: 'Completed' }, this.clock.now());
      const event = { candidateId, testId, status: 'Completed', candidateNumericalId: null } as const;
      const inbox = this.#connected.inbox;
      await inbox.accept({ event, raw, correlationId: null, traceparent: null, receivedAt });
      this.log.push(`comes: ${candidateId}`);
      // Some come while others are under way, or wait for their digest.
      if (this.random() < 0.5) {
        await this.#pending.settled();
        this.clock.ring();
      }
    }
    await this.#settled();
  }

  /** A person pauses a sink, or resumes it. */
  async toggle(sink = among(this.random, Object.values(this.editor.today.sinks))): Promise<void> {
    const isPaused = this.paused.delete(sink);
    this.log.push(`${isPaused ? 'resumed' : 'paused'}: ${sink}`);
    if (isPaused) await this.store.resumeByPerson(sink, this.clock.now(), byHand);
    else await this.store.pauseByPerson(sink, null, this.clock.now(), byHand);
    if (!isPaused) this.paused.add(sink);
    const until = this.clock.elapsed() + pollMs + 1000;
    this.clock.after(pollMs + 1000, () => {});
    while (this.clock.elapsed() < until && this.clock.ring()) await this.#pending.settled();
    await this.#settled();
  }

  stories(): Promise<EventStory[]> {
    return this.store.events({ limit: 1000 });
  }

  async deliveries(): Promise<Delivery[]> {
    return (await this.stories()).flatMap(({ deliveries }) => deliveries);
  }

  /** Does the action to something, as command, page and API do; null where there is nothing for it. */
  async byHand(action: ActionName): Promise<Done | null> {
    const { store } = this;
    const all = await this.deliveries();
    const states = { resend: ['delivered'], discard: discardableStates, replay: stuckStates }[action];
    const open = all.filter(({ state }) => (states as readonly string[]).includes(state));
    if (open.length === 0) return null;
    const which = await this.#selection(action, among(this.random, open));
    const hands = { reads: store, store, plan: this.#plan };
    const plan = action === 'discard' ? null : this.#config.plan;
    const said: ChangeResult[] = [];
    const results: ChangeResult[] = [];
    for await (const { page } of selected(onlyStore(store), action, which))
      said.push(...(await rehearse(hands, action, page, plan)));
    for await (const { page } of selected(onlyStore(store), action, which))
      results.push(...(await change(hands, action, page, plan, byHand)));
    this.log.push(`${action} ${JSON.stringify(which)}`, ...results.map(({ id, says }) => `  ${id}: ${says}`));
    const before = new Map(all.map((each) => [each.id, each]));
    const keptBefore = [...this.tools.kept];
    await this.#settled();
    return { action, before, keptBefore, said, results };
  }

  /** What a person may mean who looks at one delivery. */
  async #selection(action: ActionName, { id, eventId, state, sink, rule }: Delivery): Promise<Selection> {
    const own: Selection = { ids: [id], states: [] };
    if (action === 'resend') return own;
    if (!isStuck(state))
      return among(this.random, [
        own,
        { ids: [], states: ['pending'], sink },
        { ids: [], states: ['pending'], rule },
      ]);
    const { dead } = await readStatus(onlyStore(this.store), this.clock.now(), 'UTC');
    return among<Selection>(this.random, [
      own,
      { ids: [eventId!], states: [state] },
      { ids: [], states: stuckStates },
      { ids: [], states: [state] },
      { ids: [], states: [state], sink },
      { ids: [], states: [state], rule, until: this.clock.now() },
      { ids: [], states: ['dead'], sink, cause: dead.find((one) => one.sink === sink)?.cause },
    ]);
  }

  /** Applies a rule to what came before. */
  async apply(): Promise<Applied> {
    const rule = among(this.random, this.editor.today.rules).name;
    const discarded = this.random() < 0.6;
    const now = this.clock.now();
    const before = await this.stories();
    const made: string[] = [];
    for (const story of before) {
      const late = await planLate(this.#config.plan, this.#plan, story, rule, now, discarded);
      if (late !== null && 'deliveries' in late) made.push(...(await this.store.apply([late], now, byHand)));
    }
    this.log.push(`apply ${rule}${discarded ? ' --discarded' : ''}: ${made.join(' ')}`);
    await this.#settled();
    return { rule, discarded, before, made };
  }

  /** Until nothing is under way, apart from what a person's pause keeps back. */
  async #settled(): Promise<void> {
    const isOver = async () =>
      (await this.store.counts()).every(
        ({ sink, states }) => states.sending === 0 && (states.pending === 0 || this.paused.has(sink)),
      );
    const startedAt = this.clock.elapsed();
    this.#connected.worker.wake();
    await this.#pending.settled();
    while (!this.#bug && !(await isOver())) {
      if (this.clock.elapsed() - startedAt > 86_400_000 || !this.clock.ring())
        throw new Error('it never came to an end');
      await this.#pending.settled();
    }
    if (this.#bug) throw this.#bug;
  }
}
