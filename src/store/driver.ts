import type { Operation } from './operation.ts';
import type { Tallies } from './tallies.ts';

/** What a store needs of a database, and what it says where that fails. */

export interface OpenOptions {
  /** Takes the exclusive right to serve this store. Other processes may still read and write. */
  readonly serve: boolean;
  /** Do not create a missing store. */
  readonly mustExist?: boolean;
  /** Do not bring one of an older version up to date, either: others may serve it. */
  readonly asItIs?: boolean;
  /**
   * Called when somebody removed, replaced or cut short one of the store's files while it was open, or the disk could not
   * write one. From then on nothing is stored. `over`: all was saved that could be, and the process has to end; otherwise that is tried each second.
   */
  readonly damaged?: (error: StoreUnavailable, over: boolean) => void;
  /** Called when that has succeeded, or all that the disk could not write is on it: the store goes on. */
  readonly repaired?: () => void;
}

/** The store cannot be read or written at the moment. `message` says why in plain words. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** Its disk is full. What it has of the disk already takes some more for a while. */
export class NoRoom extends StoreUnavailable {}

/** Where a store is, of what a copy of it has another one. */
export interface Home {
  /** Whether it is where it was when this was kept. */
  readonly isAt: (place: string) => boolean;
  /** To be kept. */
  readonly next: () => string;
  /** Called when it is. */
  readonly kept: () => Promise<void>;
}

/** What runs the store's operations on a database. */
export interface Driver {
  /** Transactions committed by this process. Fewer than writes, which share transactions. */
  readonly commits: number;
  /** Writes of this process that wait for their commit. */
  readonly queued: number;
  /** Whether several processes may serve the store at the same time. */
  readonly shared: boolean;
  /**
   * Runs an operation in a transaction, which others may share, and resolves after its commit is on disk. An operation
   * may run again after a failed transaction, so it changes only the store. `mayWait`: for a few ms, for others to share it.
   */
  readonly write: <T>(work: (tallies: Tallies) => Operation<T>, mayWait?: boolean) => Promise<T>;
  /** Runs an operation that only reads. */
  readonly read: <T>(work: () => Operation<T>) => Promise<T>;
  /** Null where something else notices that the store was restored. */
  readonly home: Home | null;
  /** What time it is (ms), by the clock that all who use this store go by. */
  readonly now: () => Promise<number>;
  /** What the store takes on its disk. */
  bytes(): Promise<number>;
  /** Throws NoRoom where its disk is known to be full. */
  seeRoom(): Promise<void>;
  /** For how long the oldest transaction in its database has been open (ms); null where it has no such thing. */
  oldestTransactionMs(): Promise<number | null>;
  /**
   * Looks in the store's files for texts that were erased, once nothing is left of them in the WAL. Resolves to how often
   * they are there, or null where the files cannot be looked at. `being read`: another process reads, which keeps the old
   * pages in the WAL; the next round of `prune` after that lets go of them. `rewrite`: first writes the whole file anew;
   * writes wait.
   */
  readonly traces: (texts: readonly string[], rewrite: boolean) => Promise<number | 'being read' | null>;
  /** Lets go of what was deleted and is still in a file; now and then. */
  tidy(): Promise<void>;
  /** Finishes the current writes. Idempotent. */
  readonly close: () => Promise<void>;
}
