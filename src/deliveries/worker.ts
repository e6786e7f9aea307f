import type { Config, SinkConfig } from '../config/config.ts';
import type { Delivery, Event, Outcome, RaisedNotice } from '../model.ts';
import type { AttemptResult, Claimed, LaneHead } from '../store/store.ts';
import { carryOut, type Carried, type CarryOutParts } from './carry-out.ts';
import { masked } from './masked.ts';
import { settle, type Settlement } from './settle.ts';
import { Traffic, type SinkChange, type Ticket } from './traffic.ts';

export interface WorkerParts extends CarryOutParts {
  /** Gives [0, 1). */
  readonly random: () => number;
  /** Today's config: sinks, credentials, retry policies. */
  readonly config: () => Config;
  readonly observe: (report: AttemptReport) => void;
  /** A sink was paused or resumed, by the outcome of an attempt. */
  readonly sinkChanged: (sink: string, change: SinkChange, because: Outcome | undefined) => void;
  readonly pollMs?: number;
  /** Told when the store could not be used; the worker goes on trying. */
  readonly storeFailed: (error: unknown) => void;
  /** Told of a bug in the middle of a call: what it carried stays `sending` until the next start. */
  readonly callFailed: (error: unknown) => void;
}

/** What happened to one delivery in one attempt: for the log line and the metrics. */
export interface AttemptReport {
  readonly delivery: Delivery;
  /** See Claimed. */
  readonly events: readonly Event[];
  readonly notice: RaisedNotice | null;
  readonly outcome: Outcome;
  readonly state: Settlement['state'];
  readonly dueAt: number | null;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Another process may have replayed something, so the store is looked at this often unless told otherwise. */
const defaultPollMs = 1000;
const storeRetryMs = 1000;

/**
 * Carries out what is due: claims it (which puts the intent to send on disk), attempts it once, records the outcome.
 * All waiting, retrying, giving up and resuming is here and in the store.
 */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #traffic: Traffic;
  readonly #underWay = new Set<Promise<void>>();
  readonly #aborted = new AbortController();
  #pump: Promise<void> | null = null;
  #again = false;
  #looks = 0;
  #stopping = false;
  #cancelAlarm: () => void = () => {};

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#traffic = new Traffic(parts.random);
  }

  /** The sinks that are paused, and since when (ms). */
  get paused(): readonly { readonly sink: string; readonly since: number }[] {
    const { clock } = this.#parts;
    const offsetMs = clock.now() - clock.elapsed();
    return this.#traffic.paused().map(({ sink, since }) => ({ sink, since: Math.round(offsetMs + since) }));
  }

  /** Takes up what a process that is gone left under way, then begins. Returns how many it took up. */
  async start(): Promise<number> {
    const timeouts = [...this.#parts.config().sinks.values()].map(({ timeoutMs }) => timeoutMs);
    const rescued = await this.#parts.store.rescue(this.#parts.clock.now(), Math.max(0, ...timeouts));
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

  /** `time` as Clock.elapsed's. */
  #sleepUntil(time: number): void {
    this.#cancelAlarm();
    if (this.#stopping) return;
    const { clock } = this.#parts;
    this.#cancelAlarm = clock.after(Math.max(0, time - clock.elapsed()), () => this.wake());
  }

  /** Starts whatever is due and may start; returns when to look again, as Clock.elapsed's. */
  async #claimDue(): Promise<number> {
    const moment = this.#moment();
    const { now, elapsed } = moment;
    this.#traffic.tidy(this.#parts.config().sinks, elapsed);
    try {
      const heads = await this.#parts.store.lanes();
      const looks = await Promise.all(
        this.#inTurn(heads).map(async (head) =>
          head.dueAt > now ? elapsed + head.dueAt - now : this.#claimLane(head, moment),
        ),
      );
      const { pollMs = defaultPollMs } = this.#parts;
      return Math.min(elapsed + pollMs, ...looks);
    } catch (error) {
      this.#parts.storeFailed(error);
      return elapsed + storeRetryMs;
    }
  }

  #moment(): Moment {
    const { clock } = this.#parts;
    return { now: clock.now(), elapsed: clock.elapsed() };
  }

  /** Another lane comes first each time, so that none waits for ever for its sink's places. */
  #inTurn(heads: readonly LaneHead[]): LaneHead[] {
    const first = heads.length === 0 ? 0 : this.#looks++ % heads.length;
    return [...heads.slice(first), ...heads.slice(0, first)];
  }

  /** Starts as many calls as the lane may; returns when to look at it again. */
  async #claimLane(head: LaneHead, { now, elapsed }: Moment): Promise<number> {
    const sink = this.#parts.config().sinks.get(head.sink);
    const { calls, probe, askAgainAt } = this.#traffic.permit(head, sink, elapsed);
    if (calls === 0) return askAgainAt;
    const batch = sink?.connector.batch?.max ?? 1;
    let started = 0;
    try {
      const claimed = await this.#parts.store.claim({ lane: head.lane, now, limit: calls * batch });
      for (const call of chunks(claimed, batch)) {
        this.#begin(call, sink, this.#traffic.started(head, sink, elapsed, probe));
        started += 1;
      }
    } finally {
      this.#traffic.giveBack(head, calls - started, probe);
    }
    return askAgainAt;
  }

  #begin(call: readonly Claimed[], sink: SinkConfig | undefined, ticket: Ticket): void {
    const done = this.#make(call, sink, ticket).finally(() => {
      this.#underWay.delete(done);
      this.wake();
    });
    this.#underWay.add(done);
  }

  /**
   * One call, from its start to what is learnt from it. Should a bug get in between, what was claimed stays `sending`, and the next
   * start takes it up as unknown: that is safer than to end the process with the attempts of others under way.
   */
  async #make(call: readonly Claimed[], sink: SinkConfig | undefined, ticket: Ticket): Promise<void> {
    const outcomes = await this.#carryOutAndRecord(call, sink).catch((error: unknown) => {
      this.#parts.callFailed(error);
      return [];
    });
    const change = this.#traffic.ended(ticket, outcomes, sink, this.#parts.clock.elapsed());
    if (change) this.#parts.sinkChanged(ticket.place.sink, change, outcomes[0]);
  }

  /** Returns the outcomes that say something of the sink. */
  async #carryOutAndRecord(call: readonly Claimed[], sink: SinkConfig | undefined): Promise<Outcome[]> {
    const { clock } = this.#parts;
    const config = this.#parts.config();
    const startedAt = clock.now();
    const unmasked = await carryOut(this.#parts, call, sink, startedAt, this.#aborted.signal);
    const carried = unmasked.map((one) => masked(one, (text) => config.mask(text)));
    const endedAt = clock.now();
    const results = carried.map((one) => this.#result(one, sink, startedAt, endedAt));
    await this.#record(results);
    for (const [index, { claimed, ending }] of carried.entries()) {
      const { state = 'dead', dueAt = null } = results[index] ?? {};
      this.#parts.observe({ ...claimed, outcome: ending.outcome, state, dueAt, startedAt, endedAt });
    }
    return carried.flatMap(({ ending }) => (ending.unsent ? [] : [ending.outcome]));
  }

  #result(
    { claimed: { delivery }, prepared, ending }: Carried,
    sink: SinkConfig | undefined,
    startedAt: number,
    endedAt: number,
  ): AttemptResult {
    const settlement = settle(delivery, ending, {
      policy: sink?.retry ?? noRetry,
      now: endedAt,
      quietAt: startedAt + (sink?.timeoutMs ?? 0),
      random: this.#parts.random,
    });
    return {
      deliveryId: delivery.id,
      attempt: { number: delivery.attempts, startedAt, endedAt, outcome: ending.outcome },
      ...settlement,
      message: prepared?.message ?? null,
      thread: prepared?.thread ?? null,
    };
  }

  /** An outcome that cannot be recorded now is recorded later: losing it would mean sending again. */
  async #record(results: readonly AttemptResult[]): Promise<void> {
    for (;;) {
      try {
        return await this.#parts.store.record(results);
      } catch (error) {
        this.#parts.storeFailed(error);
        // After a shutdown's grace the outcome stays unrecorded, and the next start takes it for unknown.
        if (this.#aborted.signal.aborted) return;
        await new Promise<void>((resolve) => this.#parts.clock.after(storeRetryMs, resolve));
      }
    }
  }
}

/** The same instant on both of Clock's scales (ms). */
interface Moment {
  readonly now: number;
  readonly elapsed: number;
}

/** For a sink that the config lacks: its deliveries are dead at once. */
const noRetry = { minDelayMs: 0, maxDelayMs: 0, giveUpAfterMs: 0 };

function* chunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
