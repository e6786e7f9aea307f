import { setTimeout as sleep } from 'node:timers/promises';
import { GroupCommit, type GroupCommitLimits, groupCommitLimits, type QueuedWrite } from '../group-commit.ts';
import { writeTallies } from '../operations/housekeeping.ts';
import { Tallies } from '../tallies.ts';
import type { Connection } from './connection.ts';
import { runOn, type Database } from './database.ts';
import { failureKind } from './failures.ts';

export interface SqliteLimits extends GroupCommitLimits {
  /** How long a write waits for another process that holds the lock. */
  readonly busyForMs: number;
}

export const defaultLimits: SqliteLimits = { ...groupCommitLimits, busyForMs: 10_000 };

const firstRetryMs = 2;
const maxRetryMs = 50;

type Outcome = { readonly result: unknown } | { readonly fault: unknown };

export class SqliteGroupCommit extends GroupCommit {
  protected readonly on = 'the disk';
  readonly #connection: Connection;
  readonly #busyForMs: number;
  #retryMs = firstRetryMs;

  constructor(connection: Connection, limits: SqliteLimits = defaultLimits) {
    super({ ...limits, maxWriters: 1 });
    this.#connection = connection;
    this.#busyForMs = limits.busyForMs;
  }

  /** Where another process holds the lock, waits without blocking this process. */
  protected async commitAll(batch: readonly QueuedWrite[]): Promise<readonly QueuedWrite[]> {
    try {
      this.#commitOrAlone(batch);
      this.#retryMs = firstRetryMs;
      return [];
    } catch (error) {
      const kind = failureKind(error);
      const reason = kind === 'fault' ? error : this.#connection.failed(error);
      const oldest = kind === 'busy' ? performance.now() - this.#busyForMs : Infinity;
      for (const write of batch) if (write.queuedAt <= oldest) write.reject(reason);
      if (kind !== 'busy') return [];
      await sleep(this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, maxRetryMs);
      return batch.filter((write) => write.queuedAt > oldest);
    }
  }

  #commitOrAlone(batch: readonly QueuedWrite[]): void {
    let outcomes: Outcome[];
    try {
      outcomes = this.#commit(batch, runWrite);
    } catch (error) {
      if (failureKind(error) !== 'fault') throw error;
      outcomes = this.#commit(batch, runAlone);
    }
    for (const [place, outcome] of outcomes.entries()) {
      if ('result' in outcome) batch[place]!.resolve(outcome.result);
      else batch[place]!.reject(outcome.fault);
    }
  }

  #commit(batch: readonly QueuedWrite[], run: typeof runWrite): Outcome[] {
    const db = this.#connection.open();
    try {
      const tallies = new Tallies();
      db.exec('begin immediate');
      const outcomes = batch.map((write) => run(db, tallies, write));
      runOn(db, writeTallies(tallies));
      db.exec('commit');
      this.commits += 1;
      return outcomes;
    } catch (error) {
      db.rollback();
      throw error;
    }
  }
}

const runWrite = (db: Database, tallies: Tallies, { work }: QueuedWrite): Outcome => ({
  result: runOn(db, work(tallies)),
});

/** Slower: only for a batch in which a write has failed. */
function runAlone(db: Database, tallies: Tallies, write: QueuedWrite): Outcome {
  let outcome: Outcome;
  db.exec('savepoint one_write');
  try {
    outcome = runWrite(db, tallies, write);
    runOn(db, writeTallies(tallies));
  } catch (error) {
    if (failureKind(error) !== 'fault') throw error;
    outcome = { fault: error };
    tallies.clear();
    db.exec('rollback to one_write');
  }
  db.exec('release one_write');
  return outcome;
}
