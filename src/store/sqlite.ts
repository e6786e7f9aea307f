import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GroupCommit, type GroupCommitLimits, mayWaitMs, type Work } from './group-commit.ts';
import { query } from './operation.ts';
import { writeTallies } from './operations/housekeeping.ts';
import { Connection, emptyWal } from './sqlite/connection.ts';
import { runOn, type Database } from './sqlite/database.ts';
import { failureKind } from './sqlite/failures.ts';
import {
  bytesOf,
  foundAt,
  identityOf,
  keepFromOthers,
  makeFolder,
  refuseOthers,
  resolveLinks,
  seeRoom,
  tryTo,
} from './sqlite/files.ts';
import { migrate } from './sqlite/migrate.ts';
import { refuseBesideRescued } from './sqlite/rescue.ts';
import { countIn } from './sqlite/traces.ts';
import { ServingLock } from './sqlite/serving-lock.ts';
import type { SyncFile } from './sqlite/wal.ts';
import { type Driver, type OpenOptions, StoreUnavailable } from './driver.ts';
import { type Store, storeOn } from './store.ts';
import { Tallies } from './tallies.ts';

interface SqliteLimits extends GroupCommitLimits {
  /** How long a read or a write waits for another process that holds the lock; a write also behind others. */
  readonly busyForMs: number;
}

interface SqliteOptions extends OpenOptions {
  readonly limits?: Partial<SqliteLimits>;
  /** How a file is synced. Default: as the system does it. */
  readonly syncFile?: SyncFile;
}

const betweenLooksMs = 1000;
const retryMs = 20;
const patientForMs = 30_000;
/** Most read for a moment. A replicator or a backup may read for hours. */
const patientWithReadersMs = 2000;

/**
 * Opens the store in a file. Creates the file and its folder if they are missing, unless `mustExist`. Throws
 * StoreUnavailable.
 */
export async function openSqlite(path: string, options: SqliteOptions): Promise<Store> {
  return storeOn(await sqliteDriver(path, options));
}

export async function sqliteDriver(path: string, options: SqliteOptions): Promise<Driver> {
  const file = resolveLinks(path);
  if (options.mustExist && foundAt(file) === undefined) {
    refuseBesideRescued(file);
    throw new StoreUnavailable(
      `There is no store at ${resolve(path)}. \`serve\` creates it. A relative store.url starts at the folder that a command runs in.`,
    );
  }
  await makeFolder(dirname(file));
  refuseOthers(file);
  refuseBesideRescued(file);
  const { limits = {} } = options;
  const { busyForMs = 10_000 } = limits;
  const connection = new Connection(file, options, options.syncFile);
  /** Waits without blocking this process. */
  const patiently = async <T>(
    ask: (db: Database) => T,
    forMs = busyForMs,
    since = performance.now(),
  ): Promise<T> => {
    const deadline = since + forMs;
    for (;;) {
      try {
        return ask(connection.open());
      } catch (error) {
        const kind = failureKind(error);
        if (kind === 'fault') throw error;
        if (kind === 'unavailable' || performance.now() > deadline) throw connection.failed(error);
      }
      await sleep(retryMs);
    }
  };
  let lock: ServingLock | null = null;
  try {
    // Reads first, so that no lock file is left beside another program's file.
    await patiently(() => {});
    if (options.serve) {
      lock = new ServingLock(file);
      connection.serve(lock);
      keepFromOthers(file);
    }
    await patiently((db) => migrate(db, file));
  } catch (error) {
    connection.close(closed());
    throw error;
  }
  const commit = new GroupCommit(
    'the disk',
    // The next one begins when this has resolved. So whatever a write sees is synced before it, or with it, and so is what a
    // duplicate or a claim rests on. A read may see what is not synced yet; nothing is sent or answered for that without a
    // write after it.
    async (works, since) => {
      const ask = (db: Database) => ({ results: committed(db, works), synced: connection.synced() });
      const { results, synced } = await patiently(ask, busyForMs, since);
      await synced;
      return results;
    },
    { ...(options.serve && { mayWaitMs }), ...limits },
  );
  // Who opened the store is told, and every use of it is.
  const guard = lock ? setInterval(() => tryTo(() => connection.look()), betweenLooksMs).unref() : undefined;
  return {
    get commits() {
      return commit.commits;
    },
    get queued() {
      return commit.queued;
    },
    shared: false,
    // A copy is another file than the store was. One that was written over it has an older witness than is beside it.
    home: lock && {
      isAt: (place) => {
        const [store, ...witnesses] = place.split(' / ');
        return store === identityOf(file) && (lock.witness === '' || witnesses.includes(lock.witness));
      },
      next: () => [identityOf(file), lock.witness, lock.nextWitness].join(' / '),
      kept: () => lock.renew(),
    },
    write: (work, mayWait) => commit.write(work, mayWait),
    read: (work) => patiently((db) => runOn(db, work())),
    async traces(texts, rewrite) {
      if (rewrite) await patiently((db) => db.exec('vacuum'), patientForMs);
      const deadline = performance.now() + patientWithReadersMs;
      while ((await patiently((db) => db.get(emptyWal), patientForMs))?.busy !== 0) {
        if (performance.now() > deadline) return 'being read';
        await sleep(retryMs);
      }
      return countIn([file, `${file}-wal`], texts);
    },
    /** Nothing of what was deleted stays in the WAL, unless somebody reads it; then next time. */
    async tidy() {
      try {
        connection.open().get(emptyWal);
      } catch (error) {
        if (failureKind(error) !== 'busy') throw connection.failed(error);
      }
    },
    now: async () => Date.now(),
    oldestTransactionMs: async () => null,
    // A WAL is written over from its start, so that small writes find room in it on a full disk, too.
    seeRoom: () => seeRoom(file),
    bytes: async () => bytesOf(file) + bytesOf(`${file}-wal`),
    async close() {
      clearInterval(guard);
      await commit.close(closed());
      connection.close(closed());
    },
  };
}

/** Queries, as these are prepared once. */
const [begin, commit] = [query('begin immediate'), query('commit')];

/** Writes that share a transaction. */
function committed(db: Database, works: readonly Work[]): unknown[] {
  const tallies = new Tallies();
  try {
    db.get(begin);
    const results = works.map((work) => runOn(db, work(tallies)));
    runOn(db, writeTallies(tallies));
    db.get(commit);
    return results;
  } catch (error) {
    db.rollback();
    throw error;
  }
}

function closed(): StoreUnavailable {
  return new StoreUnavailable('The store is closed.');
}
