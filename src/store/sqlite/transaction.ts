import { addToCount, addToUses } from '../sql/housekeeping.ts';
import { Tallies } from '../tallies.ts';
import type { Database } from './database.ts';

/** What a write can use: the connection inside a transaction, and the counts to change. */
export interface Transaction {
  readonly db: Database;
  readonly tallies: Tallies;
}

/** A small, synchronous write. It may run again after a failed transaction, so it changes only the store. */
export type Write<T> = (transaction: Transaction) => T;

export function beginTransaction(db: Database): Transaction {
  db.exec('begin immediate');
  return { db, tallies: new Tallies() };
}

/** Writes the changed counts. */
export function writeTallies({ db, tallies }: Transaction): void {
  tallies.drain(
    (sink, state, change) => db.run(addToCount, sink, state, change),
    (configId, change) => {
      if (db.run(addToUses, configId, change).changes === 0) {
        throw new Error(`Config ${configId} was never saved.`);
      }
    },
  );
}
