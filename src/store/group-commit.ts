import type { Operation } from './operation.ts';
import { StoreUnavailable } from './store.ts';
import type { Tallies } from './tallies.ts';

/** A write that waits for its commit. */
export interface QueuedWrite {
  /** By performance.now(). */
  readonly queuedAt: number;
  readonly work: (tallies: Tallies) => Operation<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupCommitLimits {
  /** Writes that wait; more are refused, so that a store that hangs cannot eat the memory. */
  readonly maxQueued: number;
  /** Writes in one transaction. */
  readonly maxBatch: number;
  /** Transactions at the same time. */
  readonly maxWriters: number;
}

export const groupCommitLimits: GroupCommitLimits = { maxQueued: 5000, maxBatch: 500, maxWriters: 1 };

/**
 * Puts the writes of many requests into one transaction, so that they share its round trips and its fsync. While one
 * runs, further writes gather for the next. A write resolves after its commit. One that fails does not fail the others.
 */
export abstract class GroupCommit {
  readonly #limits: GroupCommitLimits;
  readonly #queue: QueuedWrite[] = [];
  #scheduled = false;
  #writers = 0;
  #waiting = 0;
  #closed: StoreUnavailable | null = null;
  readonly #drained = Promise.withResolvers<void>();
  /** Transactions committed so far. */
  commits = 0;

  constructor(limits: Partial<GroupCommitLimits> = {}) {
    this.#limits = { ...groupCommitLimits, ...limits };
  }

  /** What the writes wait for, to say so. */
  protected abstract readonly on: string;

  /** Resolves or rejects each write but those that it returns, which are tried again with the next. Throws nothing. */
  protected abstract commitAll(batch: readonly QueuedWrite[]): Promise<readonly QueuedWrite[]>;

  get queued(): number {
    return this.#waiting;
  }

  /** Not an async function: each event is one of these. */
  write<T>(work: (tallies: Tallies) => Operation<T>): Promise<T> {
    if (this.#closed) return Promise.reject(this.#closed);
    const { length } = this.#queue;
    if (length >= this.#limits.maxQueued)
      return Promise.reject(new StoreUnavailable(`${length} writes wait for ${this.on} already.`));
    this.#waiting += 1;
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({
        queuedAt: performance.now(),
        work,
        resolve: (result) => {
          this.#waiting -= 1;
          resolve(result as T);
        },
        reject: (error) => {
          this.#waiting -= 1;
          reject(error);
        },
      });
      this.#schedule();
    });
  }

  /** Refuses further writes with this error, and resolves when those that wait have ended. */
  close(error: StoreUnavailable): Promise<void> {
    this.#closed ??= error;
    this.#endIfDrained();
    return this.#drained.promise;
  }

  /** At the end of this turn of the event loop: every request that has arrived by then shares the transaction. */
  #schedule(): void {
    if (this.#scheduled || this.#writers >= this.#limits.maxWriters) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    const batch = this.#queue.splice(0, this.#limits.maxBatch);
    this.#writers += 1;
    if (this.#queue.length > 0) this.#schedule();
    this.#queue.unshift(...(await this.commitAll(batch)));
    this.#writers -= 1;
    if (this.#queue.length > 0) this.#schedule();
    this.#endIfDrained();
  }

  #endIfDrained(): void {
    if (this.#closed && this.#queue.length === 0 && this.#writers === 0) this.#drained.resolve();
  }
}
