import type { Operation } from './operation.ts';
import { StoreUnavailable } from './driver.ts';
import type { Tallies } from './tallies.ts';

export type Work = (tallies: Tallies) => Operation<unknown>;
/** `since`: when the first of them was asked for, by performance.now(). */
type Commit = (works: readonly Work[], since: number) => Promise<readonly unknown[]>;

/** A write that waits for its commit. */
interface QueuedWrite {
  readonly work: Work;
  /** By performance.now(). */
  readonly queuedAt: number;
  readonly ended: PromiseWithResolvers<unknown>;
}

export interface GroupCommitLimits {
  /** Writes that wait; more are refused, so that a store that hangs cannot eat the memory. */
  readonly maxQueued: number;
  /** Writes in one transaction. */
  readonly maxBatch: number;
  /** Transactions at the same time. */
  readonly maxWriters: number;
  /** How long a write waits for others to share their commit, if it may wait. */
  readonly mayWaitMs: number;
}

/** Of the event loop, as long as each brings more. */
const gatheringTurns = 4;

const defaultLimits: GroupCommitLimits = { maxQueued: 5000, maxBatch: 500, maxWriters: 1, mayWaitMs: 0 };
/** A burst's outcomes share the commits of its events so, and nobody waits for them. */
export const mayWaitMs = 5;
/** As many gain nothing more by waiting. */
const manyWaiting = 64;

/**
 * Puts the writes of many requests into one transaction, so that they share its round trips and its fsync. While one
 * runs, further writes gather for the next. A write resolves after its commit. One that fails does not fail the others.
 */
export class GroupCommit {
  readonly #on: string;
  readonly #commit: Commit;
  readonly #limits: GroupCommitLimits;
  readonly #queue: QueuedWrite[] = [];
  #scheduled = false;
  /** Something in the queue waits for nobody. */
  #urgent = false;
  #timer: NodeJS.Timeout | null = null;
  #writers = 0;
  #closed: StoreUnavailable | null = null;
  readonly #drained = Promise.withResolvers<void>();
  /** Transactions committed so far. */
  commits = 0;
  /** Writes that wait, or whose transaction runs. */
  queued = 0;

  /**
   * `on`: what the writes wait for, to say so. `commit`: one transaction; resolves to its results. Where the store cannot be
   * written, it throws StoreUnavailable.
   */
  constructor(on: string, commit: Commit, limits: Partial<GroupCommitLimits> = {}) {
    this.#on = on;
    this.#commit = commit;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** `mayWait`: see GroupCommitLimits. Not an async function, as it runs for each event. */
  write<T>(work: (tallies: Tallies) => Operation<T>, mayWait = false): Promise<T> {
    if (this.#closed) return Promise.reject(this.#closed);
    const { length } = this.#queue;
    if (length >= this.#limits.maxQueued)
      return Promise.reject(new StoreUnavailable(`${length} writes wait for ${this.#on} already.`));
    this.queued += 1;
    const ended = Promise.withResolvers<unknown>();
    this.#queue.push({ work, queuedAt: performance.now(), ended });
    if (!mayWait || this.#limits.mayWaitMs === 0 || length >= manyWaiting) this.#hurry();
    else this.#timer ??= setTimeout(() => this.#hurry(), this.#limits.mayWaitMs);
    return ended.promise as Promise<T>;
  }

  #hurry(): void {
    this.#urgent = true;
    this.#schedule();
  }

  /** Refuses further writes with this error, and resolves when those that wait have ended. */
  close(error: StoreUnavailable): Promise<void> {
    this.#closed ??= error;
    if (this.#queue.length > 0) this.#hurry();
    this.#endIfDrained();
    return this.#drained.promise;
  }

  /** At the end of this turn of the event loop: every request that has arrived by then shares the transaction. */
  #schedule(): void {
    if (!this.#urgent || this.#scheduled || this.#writers >= this.#limits.maxWriters) return;
    this.#scheduled = true;
    this.#gather(gatheringTurns);
  }

  /** Those who were answered together come again together, but not all in one turn. */
  #gather(turns: number): void {
    const { length } = this.#queue;
    setImmediate(() => {
      if (turns > 0 && this.#queue.length > length) return this.#gather(turns - 1);
      this.#scheduled = false;
      void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    const batch = this.#queue.splice(0, this.#limits.maxBatch);
    this.#writers += 1;
    this.#urgent = this.#queue.length > 0;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#schedule();
    await this.#commitAll(batch);
    this.#writers -= 1;
    this.#schedule();
    this.#endIfDrained();
  }

  async #commitAll(batch: readonly QueuedWrite[]): Promise<void> {
    try {
      const works = batch.map(({ work }) => work);
      const results = await this.#commit(works, batch[0]!.queuedAt);
      this.commits += 1;
      this.queued -= batch.length;
      batch.forEach(({ ended }, place) => ended.resolve(results[place]));
    } catch (error) {
      if (batch.length > 1 && !(error instanceof StoreUnavailable)) {
        // A bug in one of them. Slower, and seldom.
        for (const write of batch) await this.#commitAll([write]);
        return;
      }
      this.queued -= batch.length;
      for (const { ended } of batch) ended.reject(error);
    }
  }

  #endIfDrained(): void {
    if (this.#closed && this.#queue.length === 0 && this.#writers === 0) this.#drained.resolve();
  }
}
