import { pino } from 'pino';
import type { Config } from '../../src/config/config.ts';
import { ConnectedSinks } from '../../src/deliveries/sinks/connected-sinks.ts';
import { Worker } from '../../src/deliveries/worker.ts';
import { eventIds } from '../../src/support/ids.ts';
import { VirtualClock } from '../../src/scenarios/virtual-clock.ts';
import { Deciding, withLookupSinks } from '../../src/deliveries/deciding.ts';
import { type CandidateEvent, lookupConnector, lookupOf } from '../../src/model.ts';
import { createIntake } from '../../src/intake.ts';
import type { Inbox } from '../../src/receiver/receive.ts';
import { lastSeenAt } from '../../src/ops/retention.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { seeded } from '../faults/random.ts';
import { ModelApi } from './api.ts';
import { arrivals, nameOf } from './arrivals.ts';
import { findBreaches, type Books } from './books.ts';
import { configWith } from './config.ts';
import { Pending, SimulatedProcess, type Death } from './process.ts';
import { sabotaged, type Sabotage } from './sabotage.ts';
import { ModelTool } from './tool.ts';

export interface SimulationReport {
  readonly seed: number;
  /** What broke the promise, in words; empty if it was kept. */
  readonly breaches: readonly string[];
  /** All that happened, in order. */
  readonly steps: readonly string[];
}

const start = Date.parse('2026-11-21T09:00:00Z');
const dayMs = 86_400_000;
const arrivalsForMs = 40_000;
/** Long enough for every retry to find its tool up again, on the next day where it has hours. */
const patienceMs = 40 * 3_600_000;

/** One run of the worker and the store with model tools under a simulated clock; the same seed gives the same run. */
export async function simulate(
  seed: number,
  sabotage: Sabotage | null = null,
  open: () => Promise<Store> = inMemory,
): Promise<SimulationReport> {
  const world = new World(seed, sabotage);
  await world.open(open);
  try {
    await world.run();
    return { seed, steps: world.steps, breaches: findBreaches(await world.books()) };
  } finally {
    await world.close();
  }
}

/** What it shows can be set forth and back, as a wall clock's can; alarms follow the time that really passes. */
class SettableClock extends VirtualClock {
  #setByMs = 0;

  override now(): number {
    return super.now() + this.#setByMs;
  }

  jump(byMs: number): void {
    this.#setByMs += byMs;
  }
}

class World {
  readonly clock = new SettableClock(start);
  readonly steps: string[] = [];
  readonly random: () => number;
  readonly tools: readonly ModelTool[];
  readonly accepted = new Set<string>();
  readonly #stored: string[] = [];
  readonly #decided: string[] = [];
  readonly #api: ModelApi;
  readonly #pending = new Pending();
  readonly #sabotage: Sabotage | null;
  readonly #deaths: Death[];
  readonly #sinks: ConnectedSinks[] = [];
  #store!: Store;
  #process!: SimulatedProcess;
  #worker!: Worker;
  #inbox!: Inbox;
  #toArrive = 0;
  #died = 0;
  #jumped = false;

  constructor(seed: number, sabotage: Sabotage | null) {
    this.random = seeded(seed);
    this.#api = new ModelApi(this.clock, this.random);
    this.#sabotage = sabotage;
    const faults = [0.01, 0.1, 0.3][Math.floor(this.random() * 3)] ?? 0.1;
    const shared = { faults, holds: false };
    const asked = sabotage !== 'no find';
    this.tools = [
      { name: 'chat', canBeAsked: true, asked, batched: false, limit: { perMs: 1000, burst: 3 }, ...shared },
      { name: 'sheet', canBeAsked: true, asked, batched: true, limit: { perMs: 1000, burst: 1 }, ...shared },
      {
        name: 'mail',
        canBeAsked: false,
        asked: false,
        batched: false,
        limit: null,
        ...shared,
        holds: seed % 2 === 0,
      },
    ].map(
      (options) =>
        new ModelTool(
          { ...options, flaky: this.random() < 0.2 },
          { clock: this.clock, random: this.random, note: (step) => this.note(step) },
        ),
    );
    this.#deaths = Array.from({ length: Math.floor(this.random() * 4) }, () => ({
      operation: Math.floor(this.random() * 60),
      committed: this.random() < 0.5,
    }));
  }

  note(step: string): void {
    this.steps.push(`${(this.clock.elapsed() / 1000).toFixed(3)} s  ${step}`);
  }

  async open(open: () => Promise<Store>): Promise<void> {
    this.#store = ofOneProcess(await open(), this.#pending);
    this.#scheduleArrivals();
    this.#scheduleOutages();
    this.#scheduleJumps();
    await this.#startProcess();
  }

  async run(): Promise<void> {
    await this.#pending.settled();
    while (!(await this.#done())) {
      if (this.clock.elapsed() > patienceMs || !this.clock.ring()) {
        this.note('it never came to an end');
        return;
      }
      await this.#pending.settled();
    }
  }

  async books(): Promise<Books> {
    return {
      stories: await this.#store.events({ limit: 1000 }),
      counts: await this.#store.counts(),
      accepted: this.accepted,
      stored: this.#stored,
      decided: this.#decided,
      tools: this.tools,
      deaths: this.#died,
      jumped: this.#jumped,
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#sinks.map((sinks) => sinks.close()));
    await this.#store.close();
  }

  async #startProcess(): Promise<void> {
    const death = this.#deaths.shift() ?? null;
    const process = new SimulatedProcess(death, this.#pending, (operation) => {
      this.note(`the process dies at ${operation}`);
      this.#died += 1;
      // Longer than a burst, as a real restart takes.
      this.clock.after(4000 + this.random() * 5000, () => void this.#startProcess());
    });
    this.#process = process;
    const life = this.#died;
    const store = process.store(this.#watching(sabotaged(this.#store, this.#sabotage, this.random), life));
    const config = this.#config((run) => process.outside(run), life);
    const sinks = new ConnectedSinks();
    this.#sinks.push(sinks);
    await this.#store.saveConfig({
      id: config.plan.id,
      source: config.planSource,
      savedAt: this.clock.now(),
    });
    const deciding: Deciding = new Deciding({
      store,
      clock: this.clock,
      config: () => config,
      plan: async () => config.plan,
      wake: () => worker.wake(),
      failed: (error) => this.note(`BUG in deciding: ${String(error)}`),
    });
    const worker = (this.#worker = new Worker({
      store,
      sinks,
      clock: this.clock,
      random: this.random,
      config: () => withLookupSinks(config),
      plan: async () => config.plan,
      observe: ({ delivery, outcome }) => {
        this.note(`${delivery.id} ${outcome.outcome}`);
        if (delivery.connector === lookupConnector) deciding.wake();
      },
      sinkChanged: (sink, change, because) => {
        this.note(`${sink} is ${change}`);
        if (because && lookupOf(sink) === null) this.#tool(sink).changed(change);
      },
      pulledIn: (aheadMs, count) => this.note(`${count} deliveries are pulled in by ${aheadMs / 1000} s`),
      clockDoubted: () => Math.abs(this.clock.now() - this.clock.elapsed() - start) > dayMs,
      storeFailed: (error) => this.note(`the store failed: ${String(error)}`),
      callFailed: (error) => this.note(`BUG in a call: ${String(error)}`),
      pollMs: 3_600_000,
    }));
    const [newest] = await this.#store.events({ limit: 1 });
    this.note('the process starts');
    void lastSeenAt(this.#store)
      .then((time) => worker.start(time))
      .then(() => deciding.wake());
    this.#inbox = createIntake({
      store,
      config: () => config,
      worker,
      undecided: () => deciding.wake(),
      log: silent,
      nextId: eventIds({
        after: newest?.event.id,
        random: (end) => Math.floor(this.random() * end),
      }),
    });
  }

  #tool(name: string): ModelTool {
    return this.tools.find((tool) => tool.options.name === name)!;
  }

  #config(outside: <T>(run: () => Promise<T>) => Promise<T>, life: number): Config {
    const lookup = this.#api.connector(outside);
    const connectors = new Map(
      this.tools.map((tool) => [tool.options.name, { ...tool.connector(outside, life), lookup }]),
    );
    return configWith(connectors, lookup, this.#tool('mail').options.holds);
  }

  #scheduleArrivals(): void {
    const coming = arrivals(this.random, arrivalsForMs);
    this.#toArrive = coming.length;
    for (const [atMs, together] of Map.groupBy(coming, (one) => one.atMs))
      this.clock.after(atMs, () => {
        for (const { event } of together) void this.#arrive(event);
      });
  }

  /** Twins now and then; and the sender's one retry where no answer came. */
  async #arrive(event: CandidateEvent): Promise<void> {
    const once = (correlationId: string) => this.#post(event, correlationId);
    const tries =
      this.random() < 0.3 ? [once('first'), once(this.random() < 0.5 ? 'first' : 'second')] : [once('first')];
    const answered = await Promise.race([
      Promise.any(tries).then(() => true),
      new Promise<boolean>((resolve) => this.clock.after(30_000, () => resolve(false))),
    ]);
    if (!answered)
      await Promise.race([
        once('first'),
        new Promise((resolve) => this.clock.after(30_000, () => resolve(null))),
      ]);
    this.#toArrive -= 1;
  }

  async #post(event: CandidateEvent, correlation: string): Promise<void> {
    const name = nameOf(event);
    const correlationId = `${name}-${correlation}`;
    await this.#inbox.accept({
      event,
      raw: { ...event },
      correlationId,
      traceparent: null,
      receivedAt: this.clock.now(),
    });
    this.note(`${name} is accepted`);
    this.accepted.add(name);
  }

  #scheduleOutages(): void {
    if (this.random() < 0.3) {
      this.clock.after(this.random() * arrivalsForMs, () => (this.#api.down = true));
      this.clock.after(arrivalsForMs + this.random() * 60_000, () => (this.#api.down = false));
    }
    for (const tool of this.tools) {
      if (tool.options.flaky || this.random() > 0.3) continue;
      this.clock.after(this.random() * arrivalsForMs, () => {
        tool.down = true;
        this.note(`${tool.options.name} goes down`);
        const lastsMs = this.random() * 120_000;
        this.clock.after(lastsMs, () => {
          tool.down = false;
          this.note(`${tool.options.name} is up again`);
        });
        // Where it hurts: a restart must not begin to call it anew.
        if (this.random() < 0.3) this.clock.after(this.random() * lastsMs, () => this.#process.kill());
      });
    }
  }

  #scheduleJumps(): void {
    if (this.random() > 0.3) return;
    const byMs = Math.round((this.random() - 0.5) * 600_000);
    this.clock.after(this.random() * arrivalsForMs, () => this.#jump(byMs));
    if (this.random() < 0.5) this.#scheduleFarJump();
  }

  /** By more than a year and back, which whoever sees to it does with a restart or without. */
  #scheduleFarJump(): void {
    const byMs = Math.round((400 + this.random()) * dayMs);
    this.clock.after(this.random() * arrivalsForMs, () => {
      this.#jump(byMs);
      // As retention does within ten minutes.
      void this.#store.keepSignOfLife({ seenAt: start, doubt: { seenAt: this.clock.now(), agreedMs: 0 } });
      this.clock.after(this.random() * 2 * arrivalsForMs, () => {
        if (this.random() < 0.5) this.#process.kill();
        this.#jump(-byMs);
      });
    });
  }

  #jump(byMs: number): void {
    this.note(`the clock is set by ${byMs / 1000} s`);
    this.clock.jump(byMs);
    this.#jumped = true;
  }

  /** Notes what is stored and decided, and tells the tools what the store has of their pauses. */
  #watching(store: Store, life: number): Store {
    return {
      ...store,
      accept: async (arrival) => {
        const accepted = await store.accept(arrival);
        if (!accepted.duplicate) this.#stored.push(accepted.eventId);
        if (!accepted.duplicate && !accepted.undecided) this.#decided.push(accepted.eventId);
        return accepted;
      },
      decide: async (eventId, ...how) => {
        const decided = await store.decide(eventId, ...how);
        if (decided === 'decided') {
          this.note(`${eventId} is decided`);
          this.#decided.push(eventId);
        }
        return decided;
      },
      keepPause: async (pause) => {
        await store.keepPause(pause);
        if (lookupOf(pause.sink) !== null) return;
        const probeAt = pause.probeAt - this.clock.now() + this.clock.elapsed();
        this.#tool(pause.sink).keptPause = { life, probeAt };
      },
      endPause: async (sink) => {
        await store.endPause(sink);
        if (lookupOf(sink) === null) this.#tool(sink).keptPause = null;
      },
    };
  }

  async #done(): Promise<boolean> {
    if (this.#toArrive > 0 || this.#process.dead) return false;
    // What is known without the store is not asked for after every alarm.
    if (this.#decided.length < this.#stored.length || this.#worker.sinksWithDeliveries.size > 0) return false;
    if ((await this.#store.eventCounts()).undecided > 0) return false;
    const counts = await this.#store.counts();
    return counts.every(({ states }) => states.pending + states.sending === 0);
  }
}

const inMemory = () => openSqlite(':memory:', { serve: false });

/** Leases run by the server's clock, so PostgreSQL is tried without them. The world waits for each operation. */
const ofOneProcess = (real: Store, pending: Pending): Store => pending.counted({ ...real, leases: null });

const silent = pino({ level: 'silent' });
