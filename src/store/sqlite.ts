import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GroupCommit, type GroupCommitLimits, mayWaitMs, type Work } from './group-commit.ts';
import { query } from './operation.ts';
import { writeTallies } from './operations/housekeeping.ts';
import { Connection, emptyWal } from './sqlite/connection.ts';
import { Database, runOn } from './sqlite/database.ts';
import { failureKind, unavailable } from './sqlite/failures.ts';
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
import { refuseTorn } from './sqlite/integrity.ts';
import { migrate, refuseForeign } from './sqlite/migrate.ts';
import { refuseBesideRescued, rescuedBeside } from './sqlite/rescue.ts';
import { countIn } from './sqlite/traces.ts';
import { ServingLock } from './sqlite/serving-lock.ts';
import type { SyncFile } from './sqlite/wal.ts';
import { type Driver, type OpenOptions, StoreUnavailable } from './driver.ts';
import { type Store, storeOn } from './store.ts';
import { Tallies } from './tallies.ts';

interface SqliteLimits extends GroupCommitLimits {
  /**
   * How long a read or write waits for another process that has locked the file. For a write, waiting in the queue
   * counts.
   */
  readonly busyForMs: number;
}

interface SqliteOptions extends OpenOptions {
  readonly limits?: Partial<SqliteLimits>;
  /** Syncs a file. Default: fdatasync. */
  readonly syncFile?: SyncFile;
}

const betweenLooksMs = 1000;
const retryMs = 20;
const patientForMs = 30_000;
/** Most processes read for a moment. A replicator or a backup may read for hours. */
const patientWithReadersMs = 2000;

/** Opens the store in a file. Creates the file and its folder, unless `mustExist`. Throws StoreUnavailable. */
export async function openSqlite(path: string, options: SqliteOptions): Promise<Store> {
  return storeOn(await sqliteDriver(path, options));
}

/**
 * Refuses what stands in a store's place and is none. A store that is missing is right, as `serve` makes it. Changes
 * nothing. Throws StoreUnavailable.
 */
export function checkSqlite(path: string): void {
  const file = resolveLinks(path);
  refuseBesideRescued(file);
  refuseOthers(file);
  if (foundAt(file) === undefined) return;
  let db: Database | null = null;
  try {
    db = new Database(file, { readOnly: true });
    refuseForeign(db, file);
  } catch (error) {
    const kind = failureKind(error);
    if (kind === 'fault') throw error;
    if (kind === 'unavailable') throw unavailable(error, file);
  } finally {
    db?.close();
  }
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
  /** Tries again while another process has locked the file, without blocking this process. Throws StoreUnavailable. */
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
    // Opens it first, so that no lock file is left beside the file of another program.
    await patiently(() => {});
    if (options.serve) {
      lock = new ServingLock(file);
      const { witness } = lock;
      await patiently((db) => refuseTorn(db, file, (place) => isHome(place, file, witness)));
      connection.serve(lock);
      keepFromOthers(file);
    }
    await patiently((db) => migrate(db, file, options.serve));
  } catch (error) {
    connection.close();
    throw error;
  }
  const commit = new GroupCommit(
    'the disk',
    // The next transaction begins when this one is synced, so what a write sees is on the disk. A read may see what is
    // not synced yet, but nothing is sent or answered because of a read alone.
    async (works, since) => {
      const ask = (db: Database) => ({ results: committed(db, works), synced: connection.synced() });
      const { results, synced } = await patiently(ask, busyForMs, since);
      await synced;
      return results;
    },
    { ...(options.serve && { mayWaitMs }), ...limits },
  );
  // What it finds is told to `damaged`, and every later use is refused.
  const guard = lock ? setInterval(() => tryTo(() => connection.look()), betweenLooksMs).unref() : undefined;
  return {
    get commits() {
      return commit.commits;
    },
    get queued() {
      return commit.queued;
    },
    shared: false,
    home: lock && {
      isAt: (place) => isHome(place, file, lock.witness),
      next: () => [identityOf(file), lock.witness, lock.nextWitness].join(' / '),
      kept: () => lock.renew(),
    },
    write: (work, mayWait) => commit.write(work, mayWait),
    receive: (work) => commit.write(work),
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
    async tidy() {
      try {
        connection.open().get(emptyWal);
      } catch (error) {
        if (failureKind(error) !== 'busy') throw connection.failed(error);
      }
    },
    now: async () => Date.now(),
    oldestTransactionMs: async () => null,
    // Asks the system, as small writes find room in a WAL that is written over, also on a full disk.
    seeRoom: () => seeRoom(file),
    rescued: () => rescuedBeside(file),
    bytes: async () => bytesOf(file) + bytesOf(`${file}-wal`),
    async close() {
      clearInterval(guard);
      await commit.close();
      connection.close();
    },
  };
}

/**
 * Whether the store that kept this place is this file. A copy is another file than the store was. A copy that was written over
 * the store's file names an older witness.
 */
function isHome(place: string, file: string, witness: string): boolean {
  const [store, ...witnesses] = place.split(' / ');
  return store === identityOf(file) && (witness === '' || witnesses.includes(witness));
}

/** As queries, since these are prepared once. */
const [begin, commit] = [query('begin immediate'), query('commit')];

/** Runs writes in one transaction. Returns their results. */
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
