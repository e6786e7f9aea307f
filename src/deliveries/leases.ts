import { StoreFaults } from '../store/store-faults.ts';
import type { Lease, LeaseRequest, LeaseState, LeaseStore } from '../store/store.ts';
import { aheadMs, type Clock, wasSuspended } from '../support/clock.ts';

/** Which work is this replica's: the deliveries of a sink, or work of the connector itself. */
export interface Leases {
  /** Null while another replica does the work. */
  holding(name: string): Holding | null;
}

export interface Holding {
  /** The lease for claims. Undefined if this process alone serves the store. */
  readonly lease: Lease | undefined;
  /** Until when no other replica takes the work over, on the scale of Clock.elapsed. Renewals move it on. */
  readonly until: number;
  /** Whether the work has been in no replica's config for some time, so that nobody else will ever do it. */
  readonly orphaned: boolean;
}

/** The leases of a process that alone serves the store. */
export const soleReplica: Leases = { holding: () => ({ lease: undefined, until: Infinity, orphaned: true }) };

/** The name of the lease of a sink's deliveries. */
export const leaseOfSink = (sink: string): string => `sink ${sink}`;

export interface LeaseParts {
  readonly store: LeaseStore;
  readonly clock: Clock;
  /** This replica's name, which no other process has. */
  readonly replica: string;
  /** What to ask for, as it is now. */
  readonly asked: () => Pick<LeaseRequest, 'configId' | 'callsBy' | 'names' | 'extra'>;
  /** Called when a lease was taken. It counts as held when this resolves. */
  readonly taken: (lease: Lease) => Promise<void>;
  /** Called when another replica has taken over a lease. */
  readonly lost: (name: string) => void;
  /** Resolves when nothing that needs the lease is under way. Nothing more is begun with it by then. */
  readonly idle: (name: string) => Promise<void>;
  readonly replicas: (replicas: LeaseState['replicas']) => void;
  /** See LeaseRequest. */
  readonly quietMs: (name: string) => number;
  /** Called when the database was promoted or restored, with how many deliveries are uncertain because of that. */
  readonly moved: (distrusted: number) => void;
  /** Called when the database lacks this replica's config, without which no event can be stored. */
  readonly configLost: () => void;
  /** Called with the database's time, and when it was asked for on the scale of Clock.elapsed. */
  readonly told: (now: number, askedAt: number) => void;
  readonly failed: (error: unknown) => void;
}

const renewEveryMs = 1000;
/** How long a lease runs by the database's clock, before another replica may take it over. */
const runsForMs = 12_000;
/** How long before that its holder ends calls under way: that takes a moment, and its clock may be slower. */
const marginMs = 2000;
/** After the database was away, or its clock was set, leases seem free while their holders live. These can renew them for so long. */
const graceMs = 3000;
/** Longer than a new config takes to reach all replicas, which tell of it with their next renewals. */
const orphanedAfterMs = 60_000;
/** The renewal of all leases, beside the names of single ones. */
const renewal = 'renewal';

interface HeldLease {
  readonly epoch: number;
  until: number;
  /** taking: what the former holder left is rescued first. leaving: it is to be given back. */
  phase: 'taking' | 'held' | 'leaving';
}

/** Holds this replica's leases, renews them, and takes its share of free ones. */
export class LeaseKeeper implements Leases {
  readonly #parts: LeaseParts;
  readonly #held = new Map<string, HeldLease>();
  readonly #leaving = new Set<Promise<void>>();
  /** The leases that are in no replica's config, and since when, on the scale of Clock.elapsed. */
  readonly #unknownSince = new Map<string, number>();
  #cancel: () => void = () => {};
  #renewing: Promise<void> | null = null;
  #stopping = false;
  /** That leases are not renewed, and the names of those that cannot be taken. */
  readonly #faults: StoreFaults<string>;
  /** From when on it takes leases, on the scale of Clock.elapsed; Infinity while it cannot renew. */
  #takesFrom = -Infinity;
  /** By how much the database's clock was ahead of Clock.elapsed when it was asked last. */
  #databaseAheadMs: number | null = null;
  /** Whether the machine was suspended since the last renewal: another replica may hold everything by now. */
  #wasSuspended: () => boolean = () => false;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
    this.#faults = new StoreFaults(parts.clock, parts.failed);
  }

  /** Why leases cannot be renewed or taken, once that has lasted; null if they can. */
  get fault(): unknown {
    return this.#faults.lasting;
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

  /** Gives each lease back as soon as it is idle. Resolves when all are given back. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#cancel();
    await this.#renewing;
    await Promise.all(Array.from(this.#held.keys(), (name) => this.#giveBack(name)));
    await Promise.all(this.#leaving);
    await this.#parts.store.leave(this.#parts.replica).catch(this.#parts.failed);
  }

  /** Renews leases and takes free ones, again and again. Failures are reported. */
  async start(): Promise<void> {
    const { clock } = this.#parts;
    const askedAt = clock.elapsed();
    this.#renewing = this.#ask().catch((error: unknown) => {
      this.#takesFrom = Infinity;
      this.#faults.failed(renewal, error, askedAt);
    });
    await this.#renewing;
    if (!this.#stopping) this.#cancel = clock.after(renewEveryMs, () => void this.start());
  }

  async #ask(): Promise<void> {
    const { store, clock, replica, asked, replicas, quietMs, moved, configLost, told } = this.#parts;
    // Before the question, so that the lease ends here before it ends for the database.
    const askedAt = clock.elapsed();
    const before = aheadMs(clock);
    const state = await store.renew({
      ...asked(),
      replica,
      orphans: [...this.#unknownSince.keys()].filter((name) => this.#isOrphaned(name, askedAt)),
      takes: askedAt >= this.#takesFrom,
      nowAbout: this.#databaseAheadMs === null ? undefined : askedAt + this.#databaseAheadMs,
      forMs: runsForMs,
      quietMs,
    });
    this.#faults.over(renewal);
    this.#faults.keepOnly((name) => state.held.has(name));
    told(state.now, askedAt);
    this.#wasSuspended = () => wasSuspended(clock, before);
    this.#databaseAheadMs = state.now - askedAt;
    if (this.#takesFrom === Infinity || state.wasSet) this.#takesFrom = clock.elapsed() + graceMs;
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
      this.#faults.over(name);
      if (taken.phase === 'taking') taken.phase = 'held';
    } catch (error) {
      // The next renewal tries again.
      if (this.#held.get(name) === taken) this.#lose(name);
      this.#faults.failed(name, error);
    }
  }

  #lose(name: string): void {
    const held = this.#held.get(name);
    if (held) held.until = -Infinity;
    this.#held.delete(name);
    this.#parts.lost(name);
  }

  /** Gives a lease back once it is idle. Nothing is begun with it from now on. */
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
