import { DatabaseError } from 'pg';
import { GroupCommit, type GroupCommitLimits, type QueuedWrite } from '../group-commit.ts';
import type { Statement } from '../operation.ts';
import { StoreUnavailable } from '../store.ts';
import { Tallies } from '../tallies.ts';
import { tallied } from '../operations/housekeeping.ts';
import type { Connections, Transaction } from './connections.ts';
import { explained, failureKind } from './failures.ts';
import { inLockstep } from './lockstep.ts';

export class PostgresGroupCommit extends GroupCommit {
  protected readonly on = 'PostgreSQL';
  readonly #connections: Connections;

  constructor(connections: Connections, limits: Partial<GroupCommitLimits> = {}) {
    super(limits);
    this.#connections = connections;
  }

  protected async commitAll(batch: readonly QueuedWrite[]): Promise<readonly QueuedWrite[]> {
    try {
      const results = await this.#connections.patiently(() => this.#commit(batch));
      for (const [place, write] of batch.entries()) write.resolve(results[place]);
    } catch (error) {
      if (batch.length === 1 || failureKind(error) !== 'fault') {
        for (const write of batch) write.reject(error);
        return [];
      }
      // Slower: only for a batch in which a write has failed.
      for (const write of batch) await this.commitAll([write]);
    }
    return [];
  }

  async #commit(batch: readonly QueuedWrite[]): Promise<unknown[]> {
    const results = await this.#connections.transaction(async (transaction) => {
      const tallies = new Tallies();
      const operations = batch.map(({ work }) => work(tallies));
      const ended = await inLockstep(operations, (statements) => transaction.send(statements));
      await this.#end(transaction, tallies);
      return ended;
    });
    this.commits += 1;
    return results;
  }

  /** Nothing that failed here without the server's word may run again: it may have been committed. */
  async #end(transaction: Transaction, tallies: Tallies): Promise<void> {
    const { statements, uses } = tallied(tallies);
    try {
      const used: Statement[] = uses.map((values) => ({ sql: addToUses, values, wants: 'rows' }));
      await transaction.commit([...statements, ...used]);
    } catch (error) {
      if (isDivisionByZero(error)) {
        throw new Error(`One of these configs was never saved: ${uses.map(([id]) => id).join(', ')}.`, {
          cause: error,
        });
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

function isDivisionByZero(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '22012';
}
