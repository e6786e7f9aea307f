import { StoreUnavailable } from '../driver.ts';
import { query } from '../operation.ts';
import { isMoved } from '../operations/housekeeping.ts';
import { type Database, runOn } from './database.ts';
import { damaged } from './failures.ts';

const integrity = query<{ readonly integrity_check: string }>('pragma integrity_check(1)');

/** The first thing that is wrong with a file; null where it is whole. Reads all of it. Throws SQLite's errors. */
export function faultIn(db: Database): string | null {
  const found = db.get(integrity)?.integrity_check;
  return found === 'ok' ? null : `${found}`;
}

/** Versions before 0.2 did not keep where a store is. */
const hasHome = query("select 1 as found from sqlite_schema where name = 'home'");

export const keepsHome = (db: Database): boolean => db.get(hasHome) !== undefined;

/**
 * Refuses a store that was restored or moved, and is damaged. Whoever put it there is at hand; what comes upon the damaged part
 * may do so much later. A copy that was made file by file while the store was written has parts of different moments.
 */
export function refuseTorn(db: Database, path: string, isAt: (place: string) => boolean): void {
  if (!keepsHome(db) || !runOn(db, isMoved(isAt))) return;
  const fault = faultIn(db);
  if (fault !== null) throw new StoreUnavailable(damaged(path), { cause: new Error(fault) });
}
