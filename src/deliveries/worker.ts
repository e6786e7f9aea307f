import type { SinkConfig } from '../config/config.ts';
import type { Outcome } from '../model.ts';
import type { Claimed, LaneHead } from '../store/store.ts';
import { KeptPauses, type SinkChange } from './breaker.ts';
import { type CallParts, makeCall } from './call.ts';
import { storeRetryMs } from './record.ts';
import { type Ticket, Traffic } from './traffic.ts';

export interface WorkerParts extends CallParts {
  /** A sink was paused or resumed, by the outcome of an attempt; by none where it was paused before the start. */
  readonly sinkChanged: (sink: string, change: SinkChange, because: Outcome | undefined) => void;
  readonly pollMs?: number;
}

/** Another process may have replayed something, so the store is looked at this often unless told otherwise. */
const defaultPollMs = 1000;
/** What a failure put off is due again by then, mostly. */
const soonMs = 10 * 60_000;

/**
 * Carries out what is due: claims it (which puts the intent to send on disk), attempts it once, records the outcome.
 * All waiting, retrying, giving up and resuming is here and in the store.
 */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #traffic: Traffic;
  readonly #keptPauses: KeptPauses;
  readonly #underWay = new Set<Promise<void>>();
  readonly #aborted = new AbortController();
  #pump: Promise<void> | null = null;
  #again = false;
  readonly #turns = new Turns();
  /** The sinks that something waits for, or will soon. */
  #waitedFor: ReadonlySet<string> = new Set();
  #started = false;
  #stopping = false;
  #cancelAlarm: () => void = () => {};

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#traffic = new Traffic(parts.random);
    this.#keptPauses = new KeptPauses(parts);
  }

  /** The sinks that are paused while something waits for them, and since when (ms). */
  get paused(): readonly { readonly sink: string; readonly since: number }[] {
    const { now, elapsed } = this.#moment();
    const waitedFor = [...this.#traffic.pauses()].filter(([sink]) => this.#waitedFor.has(sink));
    return waitedFor.map(([sink, { since }]) => ({ sink, since: Math.round(now - elapsed + since) }));
  }

  /**
   * Takes up what a process that is gone left under way, and the pauses that it knew of, then begins. Returns how many
   * deliveries it took up.
   */
  async start(): Promise<number> {
    await this.#restorePauses();
    const timeouts = [...this.#parts.config().sinks.values()].map(({ timeoutMs }) => timeoutMs);
    const rescued = await this.#parts.store.rescue(this.#parts.clock.now(), Math.max(0, ...timeouts));
    this.#started = true;
    this.wake();
    return rescued;
  }

  /** Looks for what is due now. Cheap, and safe to call at any time: what is under way before the start would be taken for left over. */
  wake(): void {
    if (!this.#started || this.#stopping) return;
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
    await this.#keptPauses.keep(this.#traffic.pauses()).catch(this.#parts.storeFailed);
  }

  async #restorePauses(): Promise<void> {
    for (const [sink, pause] of await this.#keptPauses.load()) {
      this.#traffic.restore(sink, pause);
      if (this.#parts.config().sinks.has(sink)) this.#parts.sinkChanged(sink, 'paused', undefined);
    }
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
      await this.#keptPauses.keep(this.#traffic.pauses());
      const heads = await this.#parts.store.lanes();
      this.#waitedFor = new Set(heads.filter(({ dueAt }) => dueAt <= now + soonMs).map(({ sink }) => sink));
      const due = heads.filter(({ dueAt }) => dueAt <= now);
      const looks = await Promise.all(this.#turns.inTurn(due).map((head) => this.#claimLane(head, moment)));
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

  /** Starts as many calls as the lane may; returns when to look at it again. */
  async #claimLane(head: LaneHead, { now, elapsed }: Moment): Promise<number> {
    const sink = this.#parts.config().sinks.get(head.sink);
    const { calls, probe, untriedFirst } = this.#traffic.permit(head, sink, elapsed);
    if (calls === 0) return this.#traffic.askAgainAt(head, sink, elapsed);
    this.#turns.served(head);
    const batch = sink?.connector.batch?.max ?? 1;
    let started = 0;
    try {
      // A probe carries one delivery: a whole batch would be written down at each probe of an outage.
      const limit = probe ? 1 : calls * batch;
      const claimed = await this.#parts.store.claim({ lane: head.lane, now, limit, untriedFirst });
      for (const call of chunks(claimed, batch)) {
        this.#begin(call, sink, this.#traffic.started(head, sink, this.#parts.clock.elapsed(), probe));
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
   * One call, from its start to what is learnt from it. Should a bug keep its outcome from being recorded, it stays
   * `sending`, and the next start takes it up as unknown: that is safer than to end the process with the attempts of others
   * under way.
   */
  async #make(call: readonly Claimed[], sink: SinkConfig | undefined, ticket: Ticket): Promise<void> {
    const { clock, callFailed, sinkChanged } = this.#parts;
    const ended = await makeCall(this.#parts, call, sink, this.#aborted.signal).catch((error: unknown) => {
      callFailed(error);
      return [];
    });
    // What the shutdown broke off says nothing of the sink.
    const learnt = this.#aborted.signal.aborted ? [] : ended;
    const change = this.#traffic.ended(ticket, learnt, sink, clock.elapsed());
    if (change) sinkChanged(ticket.place.sink, change, learnt[0]?.outcome);
  }
}

/** The same instant on both of Clock's scales (ms). */
interface Moment {
  readonly now: number;
  readonly elapsed: number;
}

function* chunks<T>(items: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

/** Whose turn it is among the lanes of each sink, so that none waits for ever for its sink's places. */
class Turns {
  /** The lane that was last served, by sink. */
  readonly #last = new Map<string, string>();

  served({ sink, lane }: LaneHead): void {
    this.#last.set(sink, lane);
  }

  /** Each sink's lanes, from the one on that follows the last one served. */
  inTurn(heads: readonly LaneHead[]): LaneHead[] {
    const bySink = Map.groupBy(heads, ({ sink }) => sink);
    return [...bySink].flatMap(([sink, own]) => startingAfter(this.#last.get(sink) ?? '', own));
  }
}

function startingAfter(last: string, heads: readonly LaneHead[]): LaneHead[] {
  const inOrder = heads.toSorted((a, b) => (a.lane < b.lane ? -1 : 1));
  const next = inOrder.findIndex(({ lane }) => lane > last);
  return next <= 0 ? inOrder : inOrder.slice(next).concat(inOrder.slice(0, next));
}
