import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import {
  type Holding,
  leaseOfSink,
  LeaseKeeper,
  type LeaseParts,
  type Leases,
  soleReplica,
} from '../deliveries/leases.ts';
import { fingerprintOf } from '../deliveries/sinks/fingerprint.ts';
import type { Worker } from '../deliveries/worker.ts';
import type { ReadinessPart } from '../http/health.ts';
import type { LeaseState, LeaseStore, Store } from '../store/store.ts';
import { aheadMs, type Clock, setBackMs, systemClock, wasSuspended } from '../support/clock.ts';
import { seldom } from './log.ts';

export interface BaseParts {
  readonly store: Store;
  readonly config: () => Config;
  readonly log: Logger;
}

type Parts = BaseParts & {
  readonly worker: Worker;
  /** Called with how many replicas run this one's config, and how many another one. */
  readonly counted: (same: number, others: number) => void;
};

export const alertsLease = 'alerts';
export const retentionLease = 'retention';
/** Clocks that are kept in step may still differ by so much. */
const leastAheadMs = 1000;

/** The replicas that serve the store, and which of their work is this one's. With SQLite there is one, which does all. */
export class Replicas implements Leases {
  /** Of this replica. */
  readonly id = `${hostname()} ${process.pid} ${randomUUID().slice(0, 8)}`;
  readonly #store: LeaseStore | null;
  #keeper: LeaseKeeper | null = null;
  readonly #log: Logger;
  /** By how much this machine's clock is ahead of PostgreSQL's. */
  #aheadMs = 0;
  /** The difference between this machine's clock and its monotonic one when PostgreSQL last told the time. */
  #toldAt: number | null = null;
  #count = 0;
  /** How many replicas run another config than this one. */
  #others = 0;
  #isLeaving = false;
  /** See ReplicaState. */
  movedAt: number | null = null;
  /**
   * The clock that all replicas share: PostgreSQL's, where that of this machine is off. With different clocks, the next
   * replica would ask for an attempt while the tool is at work on it, or look for its message in the wrong hour.
   */
  readonly clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + this.#setBackMs - this.#aheadMs,
  };

  constructor({ leases }: Pick<Store, 'leases'>, log: Logger) {
    this.#store = leases;
    this.#log = log;
  }

  /** To be called before anything goes by `clock`. */
  async lookAtClock(store: Pick<Store, 'now'>): Promise<void> {
    if (this.#store === null) return;
    const askedAt = systemClock.elapsed();
    this.#told(await store.now(), askedAt);
  }

  /** Whether this machine's clock was set ahead since PostgreSQL told the time: until it does again, `clock` may be far off. */
  get isClockUnsure(): boolean {
    return this.#toldAt !== null && wasSuspended(systemClock, this.#toldAt);
  }

  /** By how much the clock was set back since PostgreSQL told the time. Setting it ahead looks like a suspended machine. */
  get #setBackMs(): number {
    return this.#toldAt === null ? 0 : setBackMs(systemClock, this.#toldAt);
  }

  get isAlone(): boolean {
    return this.#count <= 1;
  }

  holding(name: string): Holding | null {
    return this.#store === null ? soleReplica.holding(name) : (this.#keeper?.holding(name) ?? null);
  }

  /** See LeaseKeeper. */
  get fault(): unknown {
    return this.#keeper?.fault ?? null;
  }

  readiness(): readonly ReadinessPart[] {
    if (this.#isLeaving)
      return [{ part: 'copy', ok: false, detail: 'It is stopping. Other replicas go on.' }];
    if (this.#others === 0) return [];
    return [{ part: 'copy', ok: true, detail: 'Not all replicas run the same config; the log names them.' }];
  }

  async join(parts: Parts): Promise<void> {
    const { store, config, log, worker } = parts;
    if (this.#store === null) return;
    const failed = seldom((err: unknown, times) =>
      log.error({ err, times }, 'the leases could not be renewed; trying again'),
    );
    this.#keeper = new LeaseKeeper({
      store: this.#store,
      clock: systemClock,
      replica: this.id,
      asked: () => ({
        configId: config().plan.id,
        callsBy: fingerprintOf(config()),
        names: [...Array.from(config().sinks.keys(), leaseOfSink), alertsLease, retentionLease],
        extra: Array.from(worker.sinksWithDeliveries, leaseOfSink),
      }),
      ...handing(parts),
      replicas: (replicas) => this.#are(replicas, parts),
      quietMs: (name) => config().sinks.get(sinkOf(name) ?? '')?.timeoutMs ?? 0,
      told: (now, askedAt) => this.#told(now, askedAt),
      moved: (deliveries) => {
        this.movedAt = this.clock.now();
        log.warn(
          { deliveries },
          'PostgreSQL was promoted, restored or moved: what it was told last may be missing, so each tool is asked before what waits is sent',
        );
      },
      configLost: () => {
        const { plan, planSource: source } = config();
        store.saveConfig({ id: plan.id, source, savedAt: this.clock.now() }).catch(failed);
      },
      failed,
    });
    await this.#keeper.start();
  }

  /**
   * Gives the leases back. Where other replicas go on, this one is unready for `delayMs` before it resolves, so that callers
   * learn to go to the others while it still answers. A single one has nobody to send them to.
   */
  async leave(delayMs: number): Promise<void> {
    this.#isLeaving = !this.isAlone;
    await Promise.all([this.#keeper?.stop(), this.#isLeaving && sleep(delayMs)]);
  }

  /** Compares the clocks. `now`: PostgreSQL's; the answer may be as old as it took since `askedAt`. */
  #told(now: number, askedAt: number): void {
    this.#toldAt = aheadMs(systemClock);
    const tookMs = systemClock.elapsed() - askedAt;
    const ofServer = Math.round(systemClock.now() - tookMs / 2 - now);
    if (Math.abs(ofServer - this.#aheadMs) < leastAheadMs + tookMs) return;
    this.#aheadMs = ofServer;
    this.#log.warn(
      { aheadSeconds: Math.round(ofServer / 1000) },
      "this machine's clock and PostgreSQL's differ: times are PostgreSQL's. Keep both in step (NTP)",
    );
  }

  /** Logs when replicas come and go, and when they run different configs. */
  #are(replicas: LeaseState['replicas'], { config, log, counted }: Parts): void {
    const { id } = config().plan;
    const own = fingerprintOf(config());
    const decideOtherwise = replicas.filter(({ configId }) => configId !== id);
    // Null from an older version.
    const callOtherwise = replicas.filter(({ callsBy }) => callsBy !== null && callsBy !== own);
    const others = new Set([...decideOtherwise, ...callOtherwise]).size;
    counted(replicas.length - others, others);
    if (replicas.length !== this.#count)
      log.info({ copies: replicas.length }, 'copies that serve this store');
    if (others > 0 && others !== this.#others) {
      log.warn(
        { copies: replicas },
        decideOtherwise.length > 0
          ? 'the copies run different configs: each event is decided by the config of the copy it reaches'
          : 'the copies call a sink by different settings or secrets: a message goes by those of the copy that makes the call',
      );
    }
    this.#count = replicas.length;
    this.#others = others;
  }
}

function handing({ worker, log }: Parts): Pick<LeaseParts, 'taken' | 'lost' | 'idle'> {
  return {
    async taken(lease) {
      const sink = sinkOf(lease.name);
      const rescued = sink === null ? 0 : await worker.takeOver(sink, lease);
      log.info(
        { lease: lease.name, ...(rescued > 0 && { rescued }) },
        'taken: this copy does it from now on',
      );
    },
    lost(lease) {
      const sink = sinkOf(lease);
      if (sink !== null) worker.forget(sink);
      log.info({ lease }, 'given up: another copy does it');
    },
    async idle(lease) {
      const sink = sinkOf(lease);
      if (sink !== null) await worker.idle(sink);
    },
  };
}

function sinkOf(lease: string): string | null {
  return lease.startsWith('sink ') ? lease.slice('sink '.length) : null;
}
