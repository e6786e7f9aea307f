import type { Lease, LeaseState, LeaseStore } from '../store/store.ts';
import { aheadMs, type Clock, wasSuspended } from '../support/clock.ts';

/** Who of several replicas does what: each sink's deliveries, and the work of the connector itself, are one replica's. */
export interface Leases {
  /** Null while another replica does it. */
  holding(name: string): Holding | null;
}

export interface Holding {
  /** What a claim has to show. Undefined where this process alone serves the store. */
  readonly lease: Lease | undefined;
  /** On the scale of Clock.elapsed, and later after each renewal. No other replica takes it over before. */
  readonly until: number;
  /** For some time no replica has had it in its config, so that nobody else will ever carry it out. */
  readonly orphaned: boolean;
}

/** For a store that only one process may serve. */
export const soleReplica: Leases = { holding: () => ({ lease: undefined, until: Infinity, orphaned: true }) };

/** The name of the lease of a sink's deliveries. */
export const leaseOfSink = (sink: string): string => `sink ${sink}`;

export interface LeaseParts {
  readonly store: LeaseStore;
  readonly clock: Clock;
  /** This replica's name, other than that of every other process. */
  readonly replica: string;
  readonly configId: () => string;
  /** What this replica can do by its config. */
  readonly names: () => readonly string[];
  /** What waits without being in this replica's config. */
  readonly extra: () => readonly string[];
  /** Called when a lease was taken. It counts as held when this resolves. */
  readonly taken: (lease: Lease) => Promise<void>;
  /** Called when another replica has taken over a lease. */
  readonly lost: (name: string) => void;
  /** Resolves when nothing is under way that needs the lease. No more is begun from then on. */
  readonly idle: (name: string) => Promise<void>;
  readonly replicas: (replicas: LeaseState['replicas']) => void;
  /** How long (ms) a tool may be at work on what was begun with a lease. */
  readonly quietMs: (name: string) => number;
  /** Called when the database is in another place: it was promoted or restored, and so many deliveries are in doubt. */
  readonly moved: (distrusted: number) => void;
  /** Called when the database lacks this replica's config: no event can be stored without it. */
  readonly configLost: () => void;
  /** What the database's clock says, of which it was asked at that time on the scale of Clock.elapsed. */
  readonly told: (now: number, askedAt: number) => void;
  readonly failed: (error: unknown) => void;
}

const renewEveryMs = 1000;
/** By the database's clock. The next renewal of another replica takes it over then. */
const runsForMs = 12_000;
/** Its holder ends what is under way so long before: that takes a moment, and its clock may be slower. */
const marginMs = 2000;
/** When the database was away, leases have run out without their holders being dead. These renew them first. */
const graceMs = 3000;
/** A new config reaches the replicas one after the other, and each tells of it with its next renewal. */
const orphanedAfterMs = 60_000;

interface HeldLease {
  readonly epoch: number;
  until: number;
  /** `taking`: what the replica before left is looked after first. `leaving`: to be given back. */
  phase: 'taking' | 'held' | 'leaving';
}

/** Holds this replica's leases, renews them, and takes its share of what is free. */
export class LeaseKeeper implements Leases {
  readonly #parts: LeaseParts;
  readonly #held = new Map<string, HeldLease>();
  readonly #leaving = new Set<Promise<void>>();
  /** Since when no replica has these in its config, on the scale of Clock.elapsed. */
  readonly #unknownSince = new Map<string, number>();
  #cancel: () => void = () => {};
  #renewing: Promise<void> | null = null;
  #stopping = false;
  /** On the scale of Clock.elapsed; Infinity while it cannot renew. */
  #takesFrom = -Infinity;
  /** Whether the machine was, after the last renewal: then another replica may have everything. */
  #wasSuspended: () => boolean = () => false;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
  }

  holding(name: string): Holding | null {
    const held = this.#held.get(name);
    const elapsed = this.#parts.clock.elapsed();
    const until = () => (held === undefined || this.#wasSuspended() ? -Infinity : held.until);
    if (held?.phase !== 'held' || until() <= elapsed) return null;
    return {
      lease: this.#leaseOf(name, held),
      orphaned: this.#isOrphaned(name, elapsed),
      get until() {
        return until();
      },
    };
  }

  #leaseOf(name: string, { epoch }: HeldLease): Lease {
    return { name, replica: this.#parts.replica, epoch };
  }

  #isOrphaned(name: string, elapsed: number): boolean {
    return elapsed - (this.#unknownSince.get(name) ?? Infinity) >= orphanedAfterMs;
  }

  /** Gives everything back as soon as it is idle. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#cancel();
    await this.#renewing;
    await Promise.all(Array.from(this.#held.keys(), (name) => this.#giveBack(name)));
    await Promise.all(this.#leaving);
    await this.#parts.store.leave(this.#parts.replica).catch(this.#parts.failed);
  }

  /** Takes what is free. Failures are reported, and it is tried again. */
  async start(): Promise<void> {
    const { clock, failed } = this.#parts;
    this.#renewing = this.#ask().catch((error: unknown) => {
      this.#takesFrom = Infinity;
      failed(error);
    });
    await this.#renewing;
    if (!this.#stopping) this.#cancel = clock.after(renewEveryMs, () => void this.start());
  }

  async #ask(): Promise<void> {
    const { store, clock, replica, configId, names, extra, replicas, quietMs, moved, configLost, told } =
      this.#parts;
    // The database counts from later on, so it never thinks that a lease ended before this process does.
    const askedAt = clock.elapsed();
    const before = aheadMs(clock);
    const state = await store.renew({
      replica,
      configId: configId(),
      names: names(),
      extra: extra(),
      orphans: [...this.#unknownSince.keys()].filter((name) => this.#isOrphaned(name, askedAt)),
      takes: askedAt >= this.#takesFrom,
      forMs: runsForMs,
      quietMs,
    });
    told(state.now, askedAt);
    this.#wasSuspended = () => wasSuspended(clock, before);
    if (this.#takesFrom === Infinity) this.#takesFrom = clock.elapsed() + graceMs;
    for (const [name, epoch] of state.held) this.#keep(name, epoch, askedAt + runsForMs - marginMs);
    for (const name of this.#held.keys()) if (!state.held.has(name)) this.#lose(name);
    for (const name of state.surplus) void this.#giveBack(name);
    for (const name of this.#unknownSince.keys())
      if (!state.unknown.includes(name)) this.#unknownSince.delete(name);
    for (const name of state.unknown) this.#unknownSince.getOrInsert(name, askedAt);
    replicas(state.replicas);
    if (state.distrusted !== null) moved(state.distrusted);
    if (!state.isConfigKept) configLost();
  }

  #keep(name: string, epoch: number, until: number): void {
    const held = this.#held.get(name);
    if (held?.epoch === epoch) {
      held.until = until;
      return;
    }
    if (held) this.#lose(name);
    const taken: HeldLease = { epoch, until, phase: 'taking' };
    this.#held.set(name, taken);
    void this.#take(name, taken);
  }

  async #take(name: string, taken: HeldLease): Promise<void> {
    try {
      await this.#parts.taken(this.#leaseOf(name, taken));
      if (taken.phase === 'taking') taken.phase = 'held';
    } catch (error) {
      // It is looked after again with the next renewal.
      if (this.#held.get(name) === taken) this.#lose(name);
      this.#parts.failed(error);
    }
  }

  #lose(name: string): void {
    const held = this.#held.get(name);
    if (held) held.until = -Infinity;
    this.#held.delete(name);
    this.#parts.lost(name);
  }

  /** Nothing is begun any more; what is under way ends first. */
  async #giveBack(name: string): Promise<void> {
    const held = this.#held.get(name);
    if (!held || held.phase === 'leaving') return;
    held.phase = 'leaving';
    const left = this.#leave(name, held).finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
    await left;
  }

  async #leave(name: string, held: HeldLease): Promise<void> {
    const { store, idle, failed } = this.#parts;
    await idle(name);
    await store.release(this.#leaseOf(name, held)).catch(failed);
    if (this.#held.get(name) === held) this.#lose(name);
  }
}
