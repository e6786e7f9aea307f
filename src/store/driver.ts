import type { Operation } from './operations/operation.ts';
import type { Tallies } from './tallies.ts';

/** Runs the store's operations on a database. */
export interface Driver {
  /** Transactions committed by this process. */
  readonly commits: number;
  /**
   * In a transaction, which other writes may share. Resolves after its commit is on disk. It may run again after a failed
   * transaction.
   */
  write<T>(work: (tallies: Tallies) => Operation<T>): Promise<T>;
  /** Outside a transaction. */
  read<T>(work: () => Operation<T>): Promise<T>;
  /** Finishes the current writes. Idempotent. */
  close(): Promise<void>;
}
