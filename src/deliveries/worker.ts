import type { Config, SinkConfig } from '../config/config.ts';
import type { Delivery, Event, Outcome, RaisedNotice } from '../model.ts';
import {
  StoreUnavailable,
  type AttemptResult,
  type Claimed,
  type Deferral,
  type LaneHead,
} from '../store/store.ts';
import { carryOut, type Carried, type CarryOutParts, type Deferred } from './carry-out.ts';
import { masked } from './masked.ts';
import { settle, type Settlement } from './settle.ts';
import type { SinkChange } from './breaker.ts';
import { Traffic, type Ended, type Ticket } from './traffic.ts';

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
  /** The lane of each sink that a call was last started in. */
  readonly #lastLanes = new Map<string, string>();
  /** The sinks that something waits for. */
  #waitedFor: ReadonlySet<string> = new Set();
  #stopping = false;
  #cancelAlarm: () => void = () => {};

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#traffic = new Traffic(parts.random);
  }

  /** The sinks that are paused while something waits for them, and since when (ms). */
  get paused(): readonly { readonly sink: string; readonly since: number }[] {
    const { clock } = this.#parts;
    const offsetMs = clock.now() - clock.elapsed();
    const waitedFor = this.#traffic.paused().filter(({ sink }) => this.#waitedFor.has(sink));
    return waitedFor.map(({ sink, since }) => ({ sink, since: Math.round(offsetMs + since) }));
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
      this.#waitedFor = new Set(heads.map(({ sink }) => sink));
      const due = heads.filter(({ dueAt }) => dueAt <= now);
      const looks = await Promise.all(this.#inTurn(due).map((head) => this.#claimLane(head, moment)));
      const { pollMs = defaultPollMs } = this.#parts;
      const nextDueAt = Math.min(...heads.map(({ dueAt }) => (dueAt > now ? dueAt : Infinity)));
      return Math.min(elapsed + pollMs, elapsed + (nextDueAt - now), ...looks);
    } catch (error) {
      this.#parts.storeFailed(error);
      return elapsed + storeRetryMs;
    }
  }

  #moment(): Moment {
    const { clock } = this.#parts;
    return { now: clock.now(), elapsed: clock.elapsed() };
  }

  /** Each sink's lanes from the one on that follows the last one served, so that none waits for ever for a place. */
  #inTurn(due: readonly LaneHead[]): LaneHead[] {
    return [...Map.groupBy(due, ({ sink }) => sink)].flatMap(([sink, heads]) => {
      const last = this.#lastLanes.get(sink) ?? '';
      const lanes = heads.toSorted((a, b) => (a.lane < b.lane ? -1 : 1));
      const next = Math.max(
        0,
        lanes.findIndex(({ lane }) => lane > last),
      );
      return [...lanes.slice(next), ...lanes.slice(0, next)];
    });
  }

  /** Starts as many calls as the lane may; returns when to look at it again. */
  async #claimLane(head: LaneHead, { now, elapsed }: Moment): Promise<number> {
    const sink = this.#parts.config().sinks.get(head.sink);
    const { calls, probe } = this.#traffic.permit(head, sink, elapsed);
    if (calls === 0) return this.#traffic.askAgainAt(head, sink, elapsed);
    this.#lastLanes.set(head.sink, head.lane);
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
    // Where less was due than might have started, whatever comes next wakes us.
    return started < calls ? Infinity : this.#traffic.askAgainAt(head, sink, elapsed);
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
    const ended = await this.#carryOutAndRecord(call, sink).catch((error: unknown) => {
      this.#parts.callFailed(error);
      return [];
    });
    const change = this.#traffic.ended(ticket, ended, sink, this.#parts.clock.elapsed());
    if (change) this.#parts.sinkChanged(ticket.place.sink, change, ended[0]?.outcome);
  }

  /** Returns what became of those that the tool was asked about. */
  async #carryOutAndRecord(call: readonly Claimed[], sink: SinkConfig | undefined): Promise<Ended[]> {
    const { clock, store } = this.#parts;
    const config = this.#parts.config();
    const startedAt = clock.now();
    const all = await carryOut(this.#parts, call, sink, startedAt, this.#aborted.signal);
    const deferrals = all.filter((one) => 'until' in one).map(deferralOf);
    if (deferrals.length > 0) await this.#insist(() => store.defer(deferrals, startedAt));
    const carried = all
      .filter((one) => 'ending' in one)
      .map((one) => masked(one, (text) => config.mask(text)));
    const endedAt = clock.now();
    const results = carried.map((one) => this.#result(one, sink, startedAt, endedAt));
    await this.#insist(() => store.record(results));
    for (const [index, { claimed, ending }] of carried.entries()) {
      const { state = 'dead', dueAt = null } = results[index] ?? {};
      this.#parts.observe({ ...claimed, outcome: ending.outcome, state, dueAt, startedAt, endedAt });
    }
    return carried
      .filter(({ ending }) => !ending.unsent)
      .map(({ claimed, ending }) => ({ deliveryId: claimed.delivery.id, outcome: ending.outcome }));
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

  /** What cannot be written now is written later: to lose an outcome would mean sending again. */
  async #insist(write: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await write();
      } catch (error) {
        // A bug would fail for ever, and hold the sink's place.
        if (!(error instanceof StoreUnavailable)) throw error;
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

const deferralOf = ({ claimed, until }: Deferred): Deferral => ({ deliveryId: claimed.delivery.id, until });

function* chunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
