import { DatabaseError } from 'pg';
import type { Operation, Statement } from '../operations/operation.ts';
import { StoreUnavailable } from '../store.ts';
import { Tallies } from '../tallies.ts';
import { sql } from '../operations/housekeeping.ts';
import { triedStatements } from '../operations/sinks.ts';
import type { Connections, Transaction } from './connections.ts';
import { explained, failureKind } from './failures.ts';
import { inLockstep } from './lockstep.ts';

type Work = (tallies: Tallies) => Operation<unknown>;

interface Queued {
  readonly work: Work;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export interface GroupCommitLimits {
  /** Writes that wait; more are refused, so that a server that hangs cannot eat the memory. */
  readonly maxQueued: number;
  /** Writes in one transaction. */
  readonly maxBatch: number;
  /** Transactions at the same time. */
  readonly maxWriters: number;
}

const defaultLimits: GroupCommitLimits = { maxQueued: 5000, maxBatch: 500, maxWriters: 1 };

/**
 * Puts the writes of many requests into one transaction, so that they share its round trips and its fsync. While one
 * runs, further writes gather for the next. A write resolves after its commit. One that fails does not fail the others.
 */
export class GroupCommit {
  readonly #connections: Connections;
  readonly #limits: GroupCommitLimits;
  readonly #queue: Queued[] = [];
  #scheduled = false;
  #writers = 0;
  #waiting = 0;
  #commits = 0;
  #closed: StoreUnavailable | null = null;
  readonly #drained = Promise.withResolvers<void>();

  constructor(connections: Connections, limits: Partial<GroupCommitLimits> = {}) {
    this.#connections = connections;
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** Transactions committed so far. */
  get commits(): number {
    return this.#commits;
  }

  get queued(): number {
    return this.#waiting;
  }

  write<T>(work: (tallies: Tallies) => Operation<T>): Promise<T> {
    if (this.#closed) return Promise.reject(this.#closed);
    if (this.#queue.length >= this.#limits.maxQueued) {
      return Promise.reject(
        new StoreUnavailable(`${this.#queue.length} writes wait for PostgreSQL already.`),
      );
    }
    this.#waiting += 1;
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({
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
    await this.#commitAll(batch);
    this.#writers -= 1;
    if (this.#queue.length > 0) this.#schedule();
    this.#endIfDrained();
  }

  #endIfDrained(): void {
    if (this.#closed && this.#queue.length === 0 && this.#writers === 0) this.#drained.resolve();
  }

  async #commitAll(batch: readonly Queued[]): Promise<void> {
    try {
      const results = await this.#connections.patiently(() => this.#commit(batch));
      for (const [place, write] of batch.entries()) write.resolve(results[place]);
    } catch (error) {
      if (batch.length === 1 || failureKind(error) !== 'fault') {
        for (const write of batch) write.reject(error);
        return;
      }
      // Slower: only for a batch in which a write has failed.
      for (const write of batch) await this.#commitAll([write]);
    }
  }

  async #commit(batch: readonly Queued[]): Promise<unknown[]> {
    const results = await this.#connections.transaction(async (transaction) => {
      const tallies = new Tallies();
      const operations = batch.map(({ work }) => work(tallies));
      const ended = await inLockstep(operations, (statements) => transaction.send(statements));
      await this.#end(transaction, tallies);
      return ended;
    });
    this.#commits += 1;
    return results;
  }

  /** Nothing that failed here without the server's word may run again: it may have been committed. */
  async #end(transaction: Transaction, tallies: Tallies): Promise<void> {
    const { statements, configIds } = tallyStatements(tallies);
    try {
      await transaction.commit(statements);
    } catch (error) {
      if (isDivisionByZero(error)) {
        throw new Error(`One of these configs was never saved: ${configIds.join(', ')}.`, { cause: error });
      }
      const isRefused = error instanceof DatabaseError && error.code !== undefined;
      if (isRefused && failureKind(error) !== 'lost') throw error;
      const { message } = explained(error, this.#connections.place) as Error;
      const sentence = message.replace(/\.?$/, '.');
      throw new StoreUnavailable(`${sentence} Whether the last writes were stored is not known.`, {
        cause: error,
      });
    }
  }
}

/** Fails where there is no such config, since nobody looks at its answer before the commit. */
const addToUses = `
  with used as (update configs set uses = uses + $2 where id = $1 returning 1) select 1 / count(*) from used`;

function tallyStatements(tallies: Tallies): { statements: Statement[]; configIds: string[] } {
  const { counts, uses, hours, tried } = tallies.drain();
  const statements: Statement[] = [
    ...counts.map((values) => ({ sql: sql.addToCount, values, wants: 'changes' as const })),
    ...hours.map((values) => ({ sql: sql.addToHour, values, wants: 'changes' as const })),
    ...triedStatements(tried),
    ...uses.map((values) => ({ sql: addToUses, values, wants: 'rows' as const })),
  ];
  return { statements, configIds: uses.map(([id]) => id) };
}

function isDivisionByZero(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '22012';
}
