import type { Operation } from './operation.ts';
import type { Tallies } from './tallies.ts';

export interface OpenOptions {
  /** Whether to take the exclusive right to serve this store. Other processes may still read and write. */
  readonly serve: boolean;
  /** Whether a missing store is an error. Default: it is created. */
  readonly mustExist?: boolean;
  /**
   * Whether a store of an older version is an error, as another process may serve it. Default: it is brought up to
   * date.
   */
  readonly asItIs?: boolean;
  /**
   * Called when a file of the store was removed, replaced or cut short while it was open, or could not be written. From then
   * on nothing is stored. `over`: all that could be saved was saved, and the process has to end. Otherwise the store tries
   * each second to save it.
   */
  readonly damaged?: (error: StoreUnavailable, over: boolean) => void;
  /** Called when that has succeeded, and the store goes on. */
  readonly repaired?: () => void;
}

/** Thrown when the store cannot be read or written for now. `message` says why in plain words. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** The error of every use of a store after it was closed. */
export const storeClosed = (): StoreUnavailable => new StoreUnavailable('The store is closed.');

/** Thrown instead of changing a schema for a command while a connector that needs the older one serves the store. */
export class ServedByOlder extends StoreUnavailable {
  constructor(version: number, known: number) {
    super(
      `A connector of an older version serves this store (schema ${version}, this one knows ${known}), and could not start again after this command. Use the commands of that version until \`serve\` of this one has taken its place.`,
    );
  }
}

/** Thrown when the store's disk is full. Space that the store already has may take some more writes. */
export class NoRoom extends StoreUnavailable {}

/** Thrown when a part of the store cannot be used, such as a table without a right to it, or a locked row. Writes to others may succeed. */
export class PartUnavailable extends StoreUnavailable {}

/** Thrown when a part of the store's file is damaged. What does not need that part can still be read. */
export class Damaged extends PartUnavailable {}

/** The place of a store, which a copy of the store does not share. */
export interface Home {
  /** Whether the store is in this place, which was kept earlier. */
  readonly isAt: (place: string) => boolean;
  /** The place to keep in the store. */
  readonly next: () => string;
  /** To be called when the place is stored. */
  readonly kept: () => Promise<void>;
}

/** Runs the store's operations on a database. */
export interface Driver {
  /** How many transactions this process has committed. Writes share transactions. */
  readonly commits: number;
  /** How many writes of this process wait for their commit. */
  readonly queued: number;
  /** Whether several processes may serve the store at the same time. */
  readonly shared: boolean;
  /**
   * Runs an operation in a transaction, which others may share, and resolves when the commit is on disk. After a failed
   * transaction it may run again, so it must change nothing but the store. `mayWait`: it may wait a few ms for others.
   */
  readonly write: <T>(work: (tallies: Tallies) => Operation<T>, mayWait?: boolean) => Promise<T>;
  /** As `write`, for what a sender waits for. It waits for no other writes, where the database can do several at a time. */
  readonly receive: <T>(work: (tallies: Tallies) => Operation<T>) => Promise<T>;
  /** Runs an operation that only reads. */
  readonly read: <T>(work: () => Operation<T>) => Promise<T>;
  /** Null if the store is not served, or leases notice that it was restored. */
  readonly home: Home | null;
  /** The time by the clock that all processes of this store go by (ms). */
  readonly now: () => Promise<number>;
  /** The size of the store on its disk. */
  bytes(): Promise<number>;
  /** The file with all that the store had when it was replaced in use; null if there is none. */
  readonly rescued: () => string | null;
  /** Rejects with NoRoom if the disk is known to be full. */
  seeRoom(): Promise<void>;
  /** For how long the oldest transaction in the database has been open (ms); null for SQLite. */
  oldestTransactionMs(): Promise<number | null>;
  /**
   * Counts how often erased texts are still in the store's files, after the WAL was emptied; null if the files cannot be
   * read. `being read`: another process reads, which keeps old pages in the WAL until a later round of `prune`. `rewrite`:
   * first writes the whole file anew, and writes wait.
   */
  readonly traces: (texts: readonly string[], rewrite: boolean) => Promise<number | 'being read' | null>;
  /** Empties the WAL, in which deleted data may be left, unless another process reads. */
  tidy(): Promise<void>;
  /** Finishes the current writes. Idempotent. */
  readonly close: () => Promise<void>;
}
