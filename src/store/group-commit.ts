import type { Operation } from './operation.ts';
import { PartUnavailable, storeClosed, StoreUnavailable } from './driver.ts';
import type { Tallies } from './tallies.ts';

export type Work = (tallies: Tallies) => Operation<unknown>;
/** Runs writes in one transaction. `since`: when the first of them was asked for, by performance.now(). */
type Commit = (works: readonly Work[], since: number) => Promise<readonly unknown[]>;

interface QueuedWrite {
  readonly work: Work;
  /** When it was asked for, by performance.now(). */
  readonly queuedAt: number;
  readonly ended: PromiseWithResolvers<unknown>;
}

export interface GroupCommitLimits {
  /** How many writes may wait. Further ones are refused, so that a store that hangs does not use up the memory. */
  readonly maxQueued: number;
  /** How many writes may share a transaction. */
  readonly maxBatch: number;
  /** How long a write that may wait waits for others to share its commit. */
  readonly mayWaitMs: number;
}

/** How many turns of the event loop a batch waits for, as long as each turn brings more writes. */
const gatheringTurns = 4;

const defaultLimits: GroupCommitLimits = { maxQueued: 5000, maxBatch: 500, mayWaitMs: 0 };
/** So the outcomes of a burst share the commits of its events. Nobody waits for outcomes. */
export const mayWaitMs = 5;
/** So many writes gain nothing more by waiting. */
const manyWaiting = 64;

/**
 * Puts the writes of many requests into one transaction, so that they share its round trips and its fsync. While a
 * transaction runs, further writes gather for the next. A write resolves after its commit. A bug in one does not
 * fail others, nor does a part of the store that only one of them needs.
 */
export class GroupCommit {
  readonly #on: string;
  readonly #commit: Commit;
  readonly #limits: GroupCommitLimits;
  readonly #queue: QueuedWrite[] = [];
  #scheduled = false;
  /** Whether a write in the queue must not wait for others. */
  #urgent = false;
  #timer: NodeJS.Timeout | null = null;
  #isWriting = false;
  #closed: StoreUnavailable | null = null;
  readonly #drained = Promise.withResolvers<void>();
  /** Transactions committed so far. */
  commits = 0;
  /** How many writes wait, or are in a transaction that runs. */
  queued = 0;

  /**
   * `on`: what writes wait for, for messages. `commit` resolves to the results of the writes, and rejects with
   * StoreUnavailable if the store cannot be written; PartUnavailable: nothing was, and others of the writes may succeed.
   */
  constructor(on: string, commit: Commit, limits: Partial<GroupCommitLimits> = {}) {
    this.#on = on;
    this.#commit = commit;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** Queues a write. `mayWait`: see `mayWaitMs`. Not an async function, as it runs for each event. */
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

  /** Refuses further writes, and resolves when all earlier ones have ended. */
  close(): Promise<void> {
    this.#closed ??= storeClosed();
    if (this.#queue.length > 0) this.#hurry();
    this.#endIfDrained();
    return this.#drained.promise;
  }

  /** Flushes after this turn of the event loop, so that every request of the turn shares the transaction. */
  #schedule(): void {
    if (!this.#urgent || this.#scheduled || this.#isWriting) return;
    this.#scheduled = true;
    this.#gather(gatheringTurns);
  }

  /** Clients that were answered together send their next requests within a few turns. */
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
    this.#isWriting = true;
    this.#urgent = this.#queue.length > 0;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#commitAll(batch);
    this.#isWriting = false;
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
      const isOfOne = error instanceof PartUnavailable || !(error instanceof StoreUnavailable);
      if (batch.length > 1 && isOfOne) {
        // One of them has a bug, or is refused. Alone, the others succeed.
        for (const write of batch) await this.#commitAll([write]);
        return;
      }
      this.queued -= batch.length;
      for (const { ended } of batch) ended.reject(error);
    }
  }

  #endIfDrained(): void {
    if (this.#closed && this.#queue.length === 0 && !this.#isWriting) this.#drained.resolve();
  }
}
