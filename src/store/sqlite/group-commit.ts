import { writeTallies } from '../operations/housekeeping.ts';
import type { Operation } from '../operations/operation.ts';
import { StoreUnavailable } from '../store.ts';
import { Tallies } from '../tallies.ts';
import type { Connection } from './connection.ts';
import { runOn, type Database } from './database.ts';
import { failureKind } from './failures.ts';

interface Queued {
  readonly queuedAt: number;
  run(db: Database, tallies: Tallies): void;
  resolve(): void;
  reject(error: unknown): void;
  /** Set by a write that failed alone while its neighbours went through. */
  fault: unknown;
}

export interface GroupCommitLimits {
  /** Writes that wait; more are refused, so that a store that hangs cannot eat the memory. */
  readonly maxQueued: number;
  /** Writes in one transaction. */
  readonly maxBatch: number;
  /** How long a write waits for another process that holds the lock. */
  readonly busyForMs: number;
}

export const defaultLimits: GroupCommitLimits = { maxQueued: 5000, maxBatch: 500, busyForMs: 10_000 };

const firstRetryMs = 2;
const maxRetryMs = 50;

/**
 * Puts the writes of many requests into one transaction, so that they share its fsync. A write resolves after its
 * commit. One that fails does not fail the others.
 */
export class GroupCommit {
  readonly #connection: Connection;
  readonly #limits: GroupCommitLimits;
  #queue: Queued[] = [];
  #scheduled = false;
  #retryMs = firstRetryMs;
  #commits = 0;
  #closed: StoreUnavailable | null = null;
  readonly #drained = Promise.withResolvers<void>();

  constructor(connection: Connection, limits: GroupCommitLimits = defaultLimits) {
    this.#connection = connection;
    this.#limits = limits;
  }

  /** Transactions committed so far. */
  get commits(): number {
    return this.#commits;
  }

  get queued(): number {
    return this.#queue.length;
  }

  write<T>(work: (tallies: Tallies) => Operation<T>): Promise<T> {
    if (this.#closed) return Promise.reject(this.#closed);
    if (this.#queue.length >= this.#limits.maxQueued) {
      return Promise.reject(new StoreUnavailable(`${this.#queue.length} writes wait for the disk already.`));
    }
    return new Promise<T>((resolve, reject) => {
      let result: T;
      this.#queue.push({
        queuedAt: performance.now(),
        run: (db, tallies) => {
          result = runOn(db, work(tallies));
        },
        resolve: () => resolve(result),
        reject,
        fault: undefined,
      });
      this.#schedule();
    });
  }

  /** Refuses further writes with this error, and resolves when those that wait have ended. */
  close(error: StoreUnavailable): Promise<void> {
    this.#closed ??= error;
    if (this.#queue.length === 0) this.#drained.resolve();
    return this.#drained.promise;
  }

  /** At the end of this turn of the event loop: every request that has arrived by then shares the transaction. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#scheduled = false;
    const batch = this.#queue.splice(0, this.#limits.maxBatch);
    try {
      this.#commitAll(batch);
      this.#retryMs = firstRetryMs;
    } catch (error) {
      this.#failed(batch, error);
    }
    if (this.#queue.length > 0) this.#schedule();
    else if (this.#closed) this.#drained.resolve();
  }

  #commitAll(batch: readonly Queued[]): void {
    try {
      this.#commit(batch, (db, tallies, write) => write.run(db, tallies));
    } catch (error) {
      if (failureKind(error) !== 'fault') throw error;
      this.#commit(batch, runAlone);
    }
    for (const write of batch) {
      if (write.fault === undefined) write.resolve();
      else write.reject(write.fault);
    }
  }

  #commit(batch: readonly Queued[], run: typeof runAlone): void {
    const db = this.#connection.open();
    try {
      const tallies = new Tallies();
      db.exec('begin immediate');
      for (const write of batch) run(db, tallies, write);
      runOn(db, writeTallies(tallies));
      db.exec('commit');
    } catch (error) {
      db.rollback();
      throw error;
    }
    this.#commits += 1;
  }

  #failed(batch: readonly Queued[], error: unknown): void {
    const kind = failureKind(error);
    if (kind === 'busy') {
      this.#waitForOthers(batch, error);
      return;
    }
    const reason = kind === 'unavailable' ? this.#connection.failed(error) : error;
    for (const write of batch) write.reject(reason);
  }

  /** Another process holds the lock. The batch goes back to where it was, without blocking this process. */
  #waitForOthers(batch: readonly Queued[], error: unknown): void {
    const tooOld = performance.now() - this.#limits.busyForMs;
    const waiting = batch.filter((write) => write.queuedAt > tooOld);
    for (const write of batch) {
      if (write.queuedAt <= tooOld) write.reject(this.#connection.failed(error));
    }
    this.#queue.unshift(...waiting);
    if (this.#queue.length === 0) return;
    this.#scheduled = true;
    setTimeout(() => this.#flush(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, maxRetryMs);
  }
}

/** Slower: only for a batch in which a write has failed. */
function runAlone(db: Database, tallies: Tallies, write: Queued): void {
  db.exec('savepoint one_write');
  try {
    write.run(db, tallies);
    runOn(db, writeTallies(tallies));
  } catch (error) {
    if (failureKind(error) !== 'fault') throw error;
    write.fault = error;
    tallies.clear();
    db.exec('rollback to one_write');
  }
  db.exec('release one_write');
}
