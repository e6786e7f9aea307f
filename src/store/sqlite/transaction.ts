import { addToCount, addToUses } from '../sql/housekeeping.ts';
import { Tallies } from '../tallies.ts';
import type { Database } from './database.ts';

/** What a write may use: the connection, inside of a transaction, and the counts that it changes. */
export interface Transaction {
  readonly db: Database;
  readonly tallies: Tallies;
}

/** A write, small and synchronous. It may run again if its transaction failed, so it changes nothing but the store. */
export type Write<T> = (transaction: Transaction) => T;

export function beginTransaction(db: Database): Transaction {
  db.exec('begin immediate');
  return { db, tallies: new Tallies() };
}

/** Writes the counts that changed so far. */
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
