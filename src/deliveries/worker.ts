import type { PlannedDelivery } from '../model.ts';
import type { Outcome } from '../model/outcomes.ts';
import { ClockJumps, leastSetMs, type Moment } from '../support/clock.ts';
import { Looks } from '../support/looks.ts';
import { StoreFaults } from '../store/store-faults.ts';
import { type LaneHead, type Lease } from '../store/store.ts';
import { Asking } from './limits/asking.ts';
import { StoredPauses, type SinkChange } from './limits/breaker.ts';
import { PersonPauses } from './limits/by-people.ts';
import { Deadlines } from './limits/deadlines.ts';
import type { CallParts } from './call.ts';
import { Calls, type Reservation } from './calls.ts';
import { DueLanes } from './due-lanes.ts';
import { leaseOfSink, soleReplica, type Holding, type Leases } from './leases.ts';
import { storeRetryMs } from './record.ts';
import { locked, Strays } from './strays.ts';
import { Traffic } from './traffic.ts';

/** The parts of its calls that the worker makes itself. */
type OwnParts =
  | 'clockJumps'
  | 'deadlines'
  | 'faults'
  | 'mayWait'
  | 'moved'
  | 'pausedMs'
  | 'shutdown'
  | 'unrecorded';

export interface WorkerParts extends Omit<CallParts, OwnParts> {
  /**
   * Called when a sink was paused or resumed, with the outcome that did it; undefined for a pause from before the
   * start.
   */
  readonly sinkChanged: (sink: string, change: SinkChange, because: Outcome | undefined) => void;
  /** Called when the clock was set back by `aheadMs` (ms). `deliveries`: how many were due too late by it, and are due sooner now. */
  readonly pulledIn: (aheadMs: number, deliveries: number) => void;
  /** Called when the store is unavailable. What was to be done with it is tried again. */
  readonly storeFailed: (error: unknown) => void;
  readonly pollMs?: number;
  /** Which sinks' deliveries this process carries out. Default: all. */
  readonly leases?: Leases;
}

/** How often to look into the store: another process may replay a delivery. */
const defaultPollMs = 1000;
const pollsBetweenStrays = 5;
/** So long a lane waits for more than its turn. */
const longWaitMs = 5000;
/** What is due within this time counts as work of a sink: most retries wait less. */
const soonMs = 10 * 60_000;

/** Claims due deliveries, which puts the intent to send on disk, attempts each once, and records the outcomes. */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #clockJumps: ClockJumps;
  readonly #traffic: Traffic;
  readonly #storedPauses: StoredPauses;
  readonly #byPeople: PersonPauses;
  readonly #leases: Leases;
  readonly #aborted = new AbortController();
  readonly #strays: Strays;
  readonly #asking: Asking;
  readonly #calls: Calls;
  readonly #dueLanes: DueLanes;
  readonly #looks: Looks;
  /** All sinks, in the config or not, with deliveries that are pending, or `sending` and not by this process. */
  sinksWithDeliveries: ReadonlySet<string> = new Set();
  /** The sinks with deliveries that are due now or soon. */
  #sinksWithWork: ReadonlySet<string> = new Set();
  /** When to look next for what people asked for, on the scale of Clock.elapsed. */
  #lookForAskedAt = -Infinity;
  /** Paused sinks to try at the next look: see tryPaused. */
  readonly #toTry = new Set<string>();
  #started = false;
  #stopping = false;
  /** The lanes of which nothing can be claimed. */
  readonly #unclaimed: StoreFaults<string>;
  /** What else fails: looks, writes of outcomes, and the clearing up of sinks (by their names). */
  readonly #faults: StoreFaults<unknown>;
  /** By how much Clock.now was ahead of Clock.elapsed at the last look (ms). */
  #offsetMs = -Infinity;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#unclaimed = new StoreFaults(parts.clock, parts.storeFailed);
    this.#faults = new StoreFaults(parts.clock, parts.storeFailed);
    this.#clockJumps = new ClockJumps(parts.clock);
    this.#leases = parts.leases ?? soleReplica;
    this.#traffic = new Traffic(parts.random);
    this.#dueLanes = new DueLanes(parts.store, parts.clock);
    this.#looks = new Looks(parts.clock, async () => (await this.#claimDue()) - parts.clock.elapsed());
    this.#storedPauses = new StoredPauses(parts);
    this.#byPeople = new PersonPauses(parts);
    const deadlines = new Deadlines(parts.clock, this.#aborted.signal);
    this.#strays = new Strays({
      ...parts,
      faults: this.#faults,
      everyMs: pollsBetweenStrays * (parts.pollMs ?? defaultPollMs),
      serving: (sink) => this.#serving(sink),
      idle: (sink) => this.#traffic.idle(sink),
      rescue: (sink, lease) => this.#rescue(sink, lease),
      isStopping: () => this.#stopping,
    });
    this.#asking = new Asking({
      ...parts,
      traffic: this.#traffic,
      deadlines,
      holding: (sink) => this.#holding(sink),
      wake: () => this.wake(),
    });
    this.#calls = new Calls({
      call: {
        ...parts,
        clockJumps: this.#clockJumps,
        deadlines,
        faults: this.#faults,
        shutdown: this.#aborted.signal,
        pausedMs: (sink, since) => this.#byPeople.pausedMs(sink, since),
        mayWait: () => !this.#dueLanes.isAnyCrowded && !this.#stopping,
        unrecorded: (id) => this.#strays.unrecorded(id),
        moved: (to) => this.#dueLanes.expect(to),
      },
      sinkChanged: parts.sinkChanged,
      traffic: this.#traffic,
      dueLanes: this.#dueLanes,
      strays: this.#strays,
      holding: (sink) => this.#holding(sink),
      isLooking: () => this.#looks.isUnderWay,
      wake: (stored) => this.wake(stored),
    });
  }

  /** Whether deliveries to a sink are due, now or soon. */
  hasWork(sink: string): boolean {
    return this.#sinksWithWork.has(sink);
  }

  /** Why what is due cannot be claimed, once that has lasted, or outcomes not recorded; null if they can. */
  get fault(): unknown {
    return this.#unclaimed.lasting ?? this.#faults.lasting ?? this.#strays.fault;
  }

  /**
   * Begins. Unless several replicas serve the store, where `takeOver` does this for each sink, it first restores pauses and
   * rescues deliveries that an earlier process left in `sending`. Returns how many it rescued. `lastSeenAt`: the clock when
   * the store was last in use (ms).
   */
  async start(lastSeenAt = -Infinity): Promise<number> {
    const { clock, config, store } = this.#parts;
    this.#offsetMs = lastSeenAt - clock.elapsed();
    await this.#byPeople.load();
    let rescued = 0;
    if (store.leases === null) {
      await this.#restorePauses();
      const timeouts = Array.from(config().sinks.values(), ({ timeoutMs }) => timeoutMs);
      rescued = await store.rescue(clock.now(), Math.max(0, ...timeouts));
    }
    this.#started = true;
    this.wake();
    return rescued;
  }

  /**
   * Takes a sink over from another replica: restores its pause, rescues what was left in `sending`, and begins without a
   * burst, since nobody knows how much of the sink's rate was used. Returns how many deliveries it rescued.
   */
  async takeOver(sink: string, lease: Lease): Promise<number> {
    const { clock } = this.#parts;
    // This replica may have lost the lease and got it again, while an attempt's outcome waited for the store.
    await this.#traffic.idle(sink);
    this.forget(sink);
    await this.#restorePauses(sink);
    await this.#byPeople.load();
    const rescued = await this.#rescue(sink, lease);
    this.#traffic.withoutBurst(sink, clock.elapsed());
    this.wake();
    return rescued;
  }

  /** Forgets a sink whose deliveries another replica carries out now. */
  forget(sink: string): void {
    this.#traffic.forget(sink);
    this.#storedPauses.forget(sink);
  }

  /** Resolves when no call to the sink is under way, and its pause is stored. Call it when no more calls may begin. */
  async idle(sink: string): Promise<void> {
    await this.#traffic.idle(sink);
    await this.#savePauses((own) => own === sink).catch(this.#parts.storeFailed);
  }

  /** See Calls. */
  reserve(deliveries: readonly PlannedDelivery[]): Reservation {
    return this.#calls.reserve(deliveries);
  }

  async #rescue(sink: string, lease?: Lease): Promise<number> {
    const { clock, config, store } = this.#parts;
    const of = { sink, ...(lease && { lease }) };
    const rescued = await store.rescue(clock.now(), config().sinks.get(sink)?.timeoutMs ?? 0, of);
    this.#dueLanes.forget();
    return rescued;
  }

  /** Stores pauses; by default of this replica's sinks, as another replica may have stored newer ones of the others. */
  #savePauses(which = (sink: string) => this.#isOurs(sink)): Promise<void> {
    return this.#storedPauses.save(this.#traffic.pauses(), which);
  }

  /** Looks for due deliveries, also in the lanes of those that were `stored` just now. Cheap, and safe to call at any time. */
  wake(stored: readonly PlannedDelivery[] = []): void {
    this.#dueLanes.expect(stored);
    // Not before the start, which rescues all that is `sending`: also what was claimed here.
    if (this.#started) this.#looks.wake();
  }

  /** Stops claiming, waits up to `graceMs` for the attempts under way, then aborts them and records the outcomes. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true;
    await this.#looks.stop();
    const cancel = this.#parts.clock.after(graceMs, () => this.#aborted.abort());
    await this.#traffic.idle();
    cancel();
    await this.#savePauses().catch(this.#parts.storeFailed);
  }

  async #restorePauses(only?: string): Promise<void> {
    const { config } = this.#parts;
    const policyOf = (sink: string) => config().sinks.get(sink)?.retry;
    for (const [sink, pause] of await this.#storedPauses.load(policyOf, only)) {
      this.#traffic.restore(sink, pause);
      if (config().sinks.has(sink)) this.#parts.sinkChanged(sink, 'paused', undefined);
    }
  }

  /** Starts the calls that are due and permitted. Returns when to look again, on the scale of Clock.elapsed. */
  async #claimDue(): Promise<number> {
    const { clock, pollMs = defaultPollMs } = this.#parts;
    const moment: Moment = { now: clock.now(), elapsed: clock.elapsed() };
    const { now, elapsed } = moment;
    this.#clockJumps.look();
    this.#traffic.tidy(this.#parts.config().sinks, elapsed);
    try {
      await this.#savePauses();
      await this.#followClock(moment);
      await this.#strays.look(elapsed);
      await this.#doAsAsked(moment);
      const heads = await this.#dueLanes.look();
      this.sinksWithDeliveries = new Set([...heads.map(({ sink }) => sink), ...this.#strays.sinks]);
      this.#sinksWithWork = new Set(
        heads.filter(({ dueAt }) => dueAt <= now + soonMs).map(({ sink }) => sink),
      );
      this.#asking.askIdle(heads, moment);
      const due = heads.filter(({ sink, dueAt }) => dueAt <= now && this.#holding(sink) !== null);
      // Claims of a sink that is being cleared up are only put off.
      const isToClaim = ({ sink, dueAt }: LaneHead) =>
        dueAt <= now && this.#isOurs(sink) && !this.#byPeople.isPaused(sink);
      this.#unclaimed.keepOnly((lane) => heads.some((head) => head.lane === lane && isToClaim(head)));
      this.#dueLanes.keepCrowded(due);
      const claims = this.#dueLanes.inTurn(due).map((head) => this.#claimLane(head, moment));
      const lookAgainAt = await Promise.all(claims);
      const nextDueAt = Math.min(...heads.map(({ dueAt }) => (dueAt > now ? dueAt : Infinity)));
      this.#faults.over(this.#looks);
      return Math.min(elapsed + pollMs, elapsed + (nextDueAt - now), ...lookAgainAt);
    } catch (error) {
      this.#faults.failed(this.#looks, error, elapsed);
      return elapsed + storeRetryMs;
    }
  }

  /**
   * After the clock was set back, pulls in what it had put off while it was ahead. The next look tries again what failed, as
   * where somebody keeps such a row locked: only what is put off waits for that.
   */
  async #followClock({ now, elapsed }: Moment): Promise<void> {
    const { store, pulledIn } = this.#parts;
    const aheadMs = Math.round(this.#offsetMs - (now - elapsed));
    if (aheadMs >= leastSetMs) {
      try {
        const deliveries = await store.pullIn(now, aheadMs);
        this.#dueLanes.forget();
        if (deliveries > 0) pulledIn(aheadMs, deliveries);
      } catch (error) {
        return this.#faults.failed(this.#clockJumps, error, elapsed);
      }
    }
    this.#faults.over(this.#clockJumps);
    this.#offsetMs = now - elapsed;
  }

  /** Tries a sink now if it is paused, as `retry` does: what was wrong with it may have been put right. */
  tryPaused(sink: string): void {
    if (!this.#traffic.pauses().has(sink)) return;
    this.#toTry.add(sink);
    this.#lookForAskedAt = -Infinity;
    this.wake();
  }

  isPausedByPerson(sink: string): boolean {
    return this.#byPeople.isPaused(sink);
  }

  /** Does what people asked for: pauses sinks, and tries sinks at once. Tries those of `tryPaused`, too. */
  async #doAsAsked({ now, elapsed }: Moment): Promise<void> {
    const { store, config, pollMs = defaultPollMs } = this.#parts;
    if (elapsed < this.#lookForAskedAt) return;
    this.#lookForAskedAt = elapsed + pollMs;
    await this.#byPeople.load();
    await this.#byPeople.take((sink) => this.#serving(sink) !== null);
    const tried = new Set([...this.#toTry, ...(await store.retriesAsked())]);
    this.#toTry.clear();
    for (const sink of tried) {
      if (this.#holding(sink) === null) continue;
      await store.takeRetry(sink, now, config().sinks.get(sink)?.timeoutMs ?? 0);
      this.#dueLanes.forget();
      this.#traffic.tryNow(sink, elapsed);
      this.#asking.askSoon(sink);
    }
  }

  /** Starts as many calls as the lane permits. Returns when to look at it again. */
  async #claimLane(head: LaneHead, { now, elapsed }: Moment): Promise<number> {
    const holding = this.#holding(head.sink);
    const sink = this.#parts.config().sinks.get(head.sink);
    // Deliveries to an unknown sink are rejected, but not while another replica's config may have the sink.
    if (holding === null || (sink === undefined && !holding.orphaned)) return Infinity;
    // Unless many wait in the lane, calls are left for deliveries that begin with their event.
    const sparing = !this.#dueLanes.isCrowded(head.lane);
    const { calls, probe, untriedFirst } = this.#traffic.permit(head, sink, elapsed, sparing);
    if (calls === 0) {
      this.#dueLanes.setCrowded(head.lane, true);
      const askAgainAt = this.#traffic.askAgainAt(head, sink, elapsed);
      // It is the tool or its rate that the lane waits for.
      if (askAgainAt !== Infinity && askAgainAt > elapsed + longWaitMs) this.#unclaimed.over(head.lane);
      return askAgainAt;
    }
    this.#dueLanes.served(head);
    const batch = sink?.connector.batch?.max ?? 1;
    let started = 0;
    try {
      // A probe takes one delivery: otherwise each probe of an outage would rewrite a whole batch.
      const limit = probe ? 1 : calls * batch;
      const claimed = await this.#parts.store.claim({
        lane: head.lane,
        now,
        limit,
        from: head,
        untriedFirst,
        ...(holding.lease && { lease: holding.lease }),
      });
      // What is due first is claimed first, unless it is locked; others may go beside it.
      const isTaken = claimed.some(({ row }) => row.seq === head.seq);
      if (isTaken || (untriedFirst && claimed.length > 0)) this.#unclaimed.over(head.lane);
      else this.#unclaimed.held(head.lane, locked(head.sink), elapsed);
      this.#dueLanes.setCrowded(head.lane, claimed.length === limit);
      for (let first = 0; first < claimed.length; first += batch) {
        const call = claimed.slice(first, first + batch);
        const ticket = this.#traffic.started(head, sink, this.#parts.clock.elapsed(), probe);
        this.#calls.carryOut(call, { sink, ticket, holding });
        started += 1;
      }
    } catch (error) {
      this.#unclaimed.failed(head.lane, error, elapsed);
      if (holding.lease) void this.#strays.clearUp(head.sink, holding.lease);
      return elapsed + storeRetryMs;
    } finally {
      this.#traffic.giveBack(head, calls - started, probe);
    }
    // If fewer were due than permitted, the next delivery will wake the worker.
    return started < calls ? Infinity : this.#traffic.askAgainAt(head, sink, elapsed);
  }

  #isOurs(sink: string): boolean {
    return this.#leases.holding(leaseOfSink(sink)) !== null;
  }

  /** The holding of a sink, if calls to it may begin here. */
  #holding(sink: string): Holding | null {
    return this.#byPeople.isPaused(sink) ? null : this.#serving(sink);
  }

  /** The holding of a sink, if this replica carries out its deliveries. People may have paused it. */
  #serving(sink: string): Holding | null {
    if (!this.#started || this.#stopping) return null;
    return this.#strays.isUnclear(sink) ? null : this.#leases.holding(leaseOfSink(sink));
  }
}
