import type { Config, SinkConfig } from '../config/config.ts';
import type { Delivery, Event, Outcome } from '../model.ts';
import type { AttemptResult, Claimed, LaneHead } from '../store/store.ts';
import { carryOut, type CarryOutParts } from './carry-out.ts';
import { masked } from './masked.ts';
import { Occupancy } from './occupancy.ts';
import { settle, type Settlement } from './settle.ts';

export interface WorkerParts extends CarryOutParts {
  /** Gives [0, 1). */
  readonly random: () => number;
  /** Today's config: sinks, credentials, retry policies. */
  readonly config: () => Config;
  readonly observe: (report: AttemptReport) => void;
  /** Told when the store could not be used; the worker goes on trying. */
  readonly storeFailed: (error: unknown) => void;
}

/** What happened to one delivery in one attempt: for the log line and the metrics. */
export interface AttemptReport {
  readonly delivery: Delivery;
  readonly event: Event;
  readonly outcome: Outcome;
  readonly state: Settlement['state'];
  readonly dueAt: number | null;
  readonly durationMs: number;
  /** From acceptance to now (ms). */
  readonly ageMs: number;
}

/** Another process may have replayed something, so the store is looked at this often. */
const pollMs = 1000;
const storeRetryMs = 1000;

/**
 * Carries out what is due: claims it (which puts the intent to send on disk), attempts it once, records the outcome.
 * All waiting, retrying, giving up and resuming is here and in the store.
 */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #occupancy = new Occupancy();
  readonly #underWay = new Set<Promise<void>>();
  readonly #aborted = new AbortController();
  #pump: Promise<void> | null = null;
  #again = false;
  #stopping = false;
  #cancelAlarm: () => void = () => {};

  constructor(parts: WorkerParts) {
    this.#parts = parts;
  }

  /** Takes up what a process that is gone left under way, then begins. Returns how many it took up. */
  async start(): Promise<number> {
    const rescued = await this.#parts.store.rescue(this.#parts.clock.now());
    this.wake();
    return rescued;
  }

  /** Looks for what is due now. Cheap, and safe to call at any time. */
  wake(): void {
    if (this.#stopping) return;
    this.#again = true;
    this.#pump ??= this.#run().finally(() => {
      this.#pump = null;
      if (this.#again) this.wake();
    });
  }

  /** Claims nothing more, waits up to `graceMs` for the attempts under way, then aborts them and records how they ended. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    this.#cancelAlarm();
    await this.#pump;
    const cancel = this.#parts.clock.after(graceMs, () => this.#aborted.abort());
    await Promise.all(this.#underWay);
    cancel();
  }

  async #run(): Promise<void> {
    let lookAgainAt = 0;
    while (this.#again && !this.#stopping) {
      this.#again = false;
      lookAgainAt = await this.#claimDue();
    }
    this.#sleepUntil(lookAgainAt);
  }

  #sleepUntil(time: number): void {
    this.#cancelAlarm();
    if (this.#stopping) return;
    const { clock } = this.#parts;
    this.#cancelAlarm = clock.after(Math.max(0, time - clock.now()), () => this.wake());
  }

  /** Starts whatever is due and has a place; returns when to look again. */
  async #claimDue(): Promise<number> {
    const now = this.#parts.clock.now();
    try {
      const heads = await this.#parts.store.lanes();
      const due = heads.filter((head) => head.dueAt <= now);
      await Promise.all(due.map((head) => this.#claimLane(head, now)));
      return heads.reduce((next, { dueAt }) => (dueAt > now ? Math.min(next, dueAt) : next), now + pollMs);
    } catch (error) {
      this.#parts.storeFailed(error);
      return now + storeRetryMs;
    }
  }

  async #claimLane(head: LaneHead, now: number): Promise<void> {
    const sink = this.#parts.config().sinks.get(head.sink);
    const places = this.#occupancy.take(head, limitsOf(sink));
    if (places === 0) return;
    let claimed: Claimed[] = [];
    try {
      claimed = await this.#parts.store.claim({ lane: head.lane, now, limit: places });
    } finally {
      this.#occupancy.free(head, places - claimed.length);
    }
    for (const one of claimed) this.#begin(one);
  }

  #begin(claimed: Claimed): void {
    const done = this.#carryOutAndRecord(claimed).finally(() => {
      this.#occupancy.free(claimed.delivery, 1);
      this.#underWay.delete(done);
      this.wake();
    });
    this.#underWay.add(done);
  }

  async #carryOutAndRecord(claimed: Claimed): Promise<void> {
    const { clock, random } = this.#parts;
    const { delivery } = claimed;
    const startedAt = clock.now();
    const config = this.#parts.config();
    const sink = config.sinks.get(delivery.sink);
    const carried = await carryOut(this.#parts, claimed, sink, startedAt, this.#aborted.signal);
    const { prepared, ending } = masked(carried, (text) => config.mask(text));
    const endedAt = clock.now();
    const settlement = settle(delivery, ending, sink?.retry ?? noRetry, endedAt, random);
    await this.#record({
      deliveryId: delivery.id,
      attempt: { number: delivery.attempts, startedAt, endedAt, outcome: ending.outcome },
      ...settlement,
      message: prepared?.message ?? null,
      thread: prepared?.thread ?? null,
    });
    this.#parts.observe({
      ...claimed,
      outcome: ending.outcome,
      state: settlement.state,
      dueAt: settlement.dueAt,
      durationMs: endedAt - startedAt,
      ageMs: endedAt - claimed.event.receivedAt,
    });
  }

  /** An outcome that cannot be recorded now is recorded later: losing it would mean sending again. */
  async #record(result: AttemptResult): Promise<void> {
    for (;;) {
      try {
        return await this.#parts.store.record([result]);
      } catch (error) {
        this.#parts.storeFailed(error);
        // After a shutdown's grace the outcome stays unrecorded, and the next start takes it for unknown.
        if (this.#aborted.signal.aborted) return;
        await new Promise<void>((resolve) => this.#parts.clock.after(storeRetryMs, resolve));
      }
    }
  }
}

/** Deliveries to one place (a Slack channel, say) go one after the other, so that people read them in order. */
function limitsOf(sink: SinkConfig | undefined): { sink: number; lane: number } {
  const concurrency = sink?.concurrency ?? 1;
  return { sink: concurrency, lane: sink?.connector.lane ? 1 : concurrency };
}

/** For a sink that the config lacks: its deliveries are dead at once. */
const noRetry = { minDelayMs: 0, maxDelayMs: 0, giveUpAfterMs: 0 };
