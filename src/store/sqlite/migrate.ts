import { ServedByOlder, StoreUnavailable } from '../driver.ts';
import { query } from '../operation.ts';
import type { Database } from './database.ts';
import { sqliteSteps } from '../schema/steps.ts';
import { isLocked, lockOf } from './serving-lock.ts';

/** Marks the file as a store of this connector: "cand" as a number. */
const applicationId = 0x63616e64;

const readVersion = query<{ readonly user_version: number }>('pragma user_version');
const readApplicationId = query<{ readonly application_id: number }>('pragma application_id');
const countTables = query<{ readonly n: number; readonly own: number }>(`
  select count(*) as n, count(*) filter (where type = 'table' and name in ('events', 'deliveries', 'attempts')) as own
  from sqlite_schema`);

/**
 * Brings the schema up to date in one exclusive transaction; for a command, only where nobody serves the store. Throws SQLite's
 * errors, and StoreUnavailable.
 */
export function migrate(db: Database, path: string, serve: boolean): void {
  const found = schemaVersion(db);
  if (found === sqliteSteps.length) return;
  if (!serve && found > 0 && isLocked(lockOf(path))) throw new ServedByOlder(found, sqliteSteps.length);
  db.exec('begin immediate');
  try {
    // Another process may have done this while this one waited for the lock.
    refuseForeign(db, path);
    const version = schemaVersion(db);
    for (const step of sqliteSteps.slice(version)) db.exec(step);
    db.exec(`pragma application_id = ${applicationId}; pragma user_version = ${sqliteSteps.length}; commit`);
  } catch (error) {
    db.rollback();
    throw error;
  }
}

/** Throws StoreUnavailable if the file is of another program or a newer version. Only reads. */
export function refuseForeign(db: Database, path: string): void {
  const version = schemaVersion(db);
  if (version > sqliteSteps.length) {
    throw new StoreUnavailable(
      `${path} was written by a newer version of the connector (schema ${version}, this one knows ${sqliteSteps.length}). ` +
        'Run that version, or restore a backup from before the update.',
    );
  }
  const { n: tables, own } = db.get(countTables)!;
  const application = db.get(readApplicationId)?.application_id;
  if (tables > 0 && application !== applicationId) {
    if (application === 0 && version === 0 && own === 3)
      throw new StoreUnavailable(
        `${path} lacks the marks of a store, which \`.dump\` of sqlite3 leaves out. If all rows are in it, set them: ` +
          `sqlite3 ${path} 'pragma application_id = ${applicationId}; pragma user_version = …'. ` +
          `The last number is what \`pragma user_version\` says of the file that was dumped; for one of this version it is ${sqliteSteps.length}.`,
      );
    throw new StoreUnavailable(`${path} is the database of another program.`);
  }
}

function schemaVersion(db: Database): number {
  return db.get(readVersion)?.user_version ?? 0;
}
