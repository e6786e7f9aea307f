import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, emptyWal } from './sqlite/connection.ts';
import { runOn, type Database } from './sqlite/database.ts';
import { failureKind } from './sqlite/failures.ts';
import {
  bytesOf,
  identityOf,
  keepFromOthers,
  makeFolder,
  refuseOthers,
  resolveLinks,
} from './sqlite/files.ts';
import { defaultLimits, SqliteGroupCommit, type SqliteLimits } from './sqlite/group-commit.ts';
import { migrate } from './sqlite/migrate.ts';
import { refuseBesideRescued } from './sqlite/rescue.ts';
import { countIn } from './sqlite/traces.ts';
import { ServingLock } from './sqlite/serving-lock.ts';
import { type Driver, type Home, type OpenOptions, type Store, storeOn, StoreUnavailable } from './store.ts';

const betweenLooksMs = 1000;

type SqliteOptions = OpenOptions & { readonly limits?: Partial<SqliteLimits> };

/**
 * Opens the store in a file. Creates the file and its folder if they are missing, unless `mustExist`. Throws
 * StoreUnavailable.
 */
export async function openSqlite(path: string, options: SqliteOptions): Promise<Store> {
  return storeOn(await sqliteDriver(path, options));
}

export async function sqliteDriver(path: string, options: SqliteOptions): Promise<Driver> {
  if (options.mustExist && !existsSync(path)) {
    throw new StoreUnavailable(
      `There is no store at ${resolve(path)}. \`serve\` creates it. A relative store.url starts at the folder that a command runs in.`,
    );
  }
  const file = resolveLinks(path);
  await makeFolder(dirname(file));
  refuseOthers(file);
  refuseBesideRescued(file);
  const limits = { ...defaultLimits, ...options.limits };
  const connection = new Connection(file, options.damaged);
  let lock: ServingLock | null = null;
  try {
    // Reads first, so that no lock file is left beside another program's file.
    await patiently(connection, limits.busyForMs, () => {});
    if (options.serve) {
      lock = new ServingLock(file);
      connection.serve(lock);
      keepFromOthers(file);
    }
    await patiently(connection, limits.busyForMs, (db) => migrate(db, file));
  } catch (error) {
    connection.close(closed());
    throw error;
  }
  return driverOn(connection, lock, limits);
}

function driverOn(connection: Connection, lock: ServingLock | null, limits: SqliteLimits): Driver {
  const commit = new SqliteGroupCommit(connection, limits);
  const guard = lock ? setInterval(() => look(connection), betweenLooksMs).unref() : undefined;
  return {
    get commits() {
      return commit.commits;
    },
    get queued() {
      return commit.queued;
    },
    shared: false,
    home: lock && homeOf(connection.path, lock),
    write: (work) => commit.write(work),
    read: (work) => patiently(connection, limits.busyForMs, (db) => runOn(db, work())),
    traces: (texts, rewrite) => tracesIn(connection, texts, rewrite),
    tidy: async () => tidy(connection),
    now: async () => Date.now(),
    oldestTransactionMs: async () => null,
    bytes: async () => bytesOf(connection.path) + bytesOf(`${connection.path}-wal`),
    async close() {
      clearInterval(guard);
      await commit.close(closed());
      connection.close(closed());
    },
  };
}

/** A copy is another file than the store was. One that was written over it does not have what was remembered beside it. */
function homeOf(path: string, lock: ServingLock): Home {
  const next = randomUUID();
  return {
    isAt: (place) => place === `${identityOf(path)} ${lock.witness || place.split(' ').at(-1)}`,
    next: () => `${identityOf(path)} ${next}`,
    kept: () => lock.remember(next),
  };
}

const retryMs = 20;
const patientForMs = 30_000;
/** Most read for a moment. A replicator or a backup may read for hours. */
const patientWithReadersMs = 2000;

async function tracesIn(
  connection: Connection,
  texts: readonly string[],
  rewrite: boolean,
): Promise<number | 'being read'> {
  if (rewrite) await patiently(connection, patientForMs, (db) => db.exec('vacuum'));
  const deadline = performance.now() + patientWithReadersMs;
  while ((await patiently(connection, patientForMs, (db) => db.get(emptyWal)))?.busy !== 0) {
    if (performance.now() > deadline) return 'being read';
    await sleep(retryMs);
  }
  return countIn([connection.path, `${connection.path}-wal`], texts);
}

/** Nothing of what was deleted stays in the WAL, unless somebody reads it; then next time. */
function tidy(connection: Connection): void {
  try {
    connection.open().get(emptyWal);
  } catch (error) {
    if (failureKind(error) !== 'busy') throw connection.failed(error);
  }
}

/** Runs a query, and repeats it while another process has the file locked. */
async function patiently<T>(connection: Connection, busyForMs: number, ask: (db: Database) => T): Promise<T> {
  const deadline = performance.now() + busyForMs;
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
}

function look(connection: Connection): void {
  try {
    connection.look();
  } catch {
    // Who opened the store was told, and every use of it is.
  }
}

function closed(): StoreUnavailable {
  return new StoreUnavailable('The store is closed.');
}
