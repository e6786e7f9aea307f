import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '../model.ts';
import type { RecentCorrelations } from './recent-correlations.ts';
import { configSource, saveConfig, writeProbe } from './sql/housekeeping.ts';
import { accept, keepRejected, loadCorrelations } from './sqlite/accept.ts';
import { discard, replay } from './sqlite/by-hand.ts';
import { defer, lanes, record, rescue, threadOf } from './sqlite/carry-out.ts';
import { claim } from './sqlite/claim.ts';
import { Connection } from './sqlite/connection.ts';
import type { Database } from './sqlite/database.ts';
import { failureKind } from './sqlite/failures.ts';
import { defaultLimits, GroupCommit, type GroupCommitLimits } from './sqlite/group-commit.ts';
import { pruneConfigs, pruneOld } from './sqlite/housekeeping.ts';
import { migrate } from './sqlite/migrate.ts';
import { raise } from './sqlite/raise.ts';
import * as read from './sqlite/read.ts';
import { ServingLock } from './sqlite/serving-lock.ts';
import { StoreUnavailable, type OpenOptions, type Store } from './store.ts';

export interface SqliteStore extends Store {
  /** Transactions committed by this process: fewer than writes, since these share. */
  readonly commits: number;
}

const rescueBatch = 500;

/** Opens the store in a file, which is made with its folder where it is missing and may be. Throws StoreUnavailable. */
export async function openSqlite(
  path: string,
  options: OpenOptions & { readonly limits?: Partial<GroupCommitLimits> },
): Promise<SqliteStore> {
  if (options.mustExist && !existsSync(path)) {
    throw new StoreUnavailable(
      `There is no store at ${resolve(path)}. \`serve\` makes it; a relative store.url begins at the folder that a command runs in.`,
    );
  }
  await makeFolder(path);
  const lock = options.serve ? new ServingLock(path) : null;
  const limits = { ...defaultLimits, ...options.limits };
  const connection = new Connection(path);
  try {
    await patiently(connection, limits.busyForMs, (db) => migrate(db, path));
  } catch (error) {
    connection.close(closed());
    lock?.release();
    throw error;
  }
  return sqliteStore(connection, lock, limits);
}

function sqliteStore(
  connection: Connection,
  lock: ServingLock | null,
  limits: GroupCommitLimits,
): SqliteStore {
  const commit = new GroupCommit(connection, limits);
  const reading = <T>(query: (db: Database) => T) => patiently(connection, limits.busyForMs, query);
  /** In force, or just about to be, in this process: they stay even if no event came under them yet. */
  const savedConfigs = new Set<string>();
  let correlations: RecentCorrelations | null = null;

  return {
    get commits() {
      return commit.commits;
    },

    accept: (arrival) =>
      commit.write((tx) => {
        correlations ??= loadCorrelations(tx.db);
        return accept(tx, arrival, correlations);
      }),
    raise: (arrival) => commit.write((tx) => raise(tx, arrival)),
    keepRejected: (request, keep) => commit.write((tx) => keepRejected(tx, request, keep)),

    lanes: () => reading(lanes),
    claim: (query) => commit.write((tx) => claim(tx, query)),
    record: (results) => commit.write((tx) => record(tx, results)),
    async rescue(now, settlingMs) {
      let total = 0;
      for (;;) {
        const count = await commit.write((tx) => rescue(tx, { now, settlingMs }, rescueBatch));
        if (count === 0) return total;
        total += count;
      }
    },
    defer: (items, now) => commit.write((tx) => defer(tx, items, now)),
    threadOf: (sink, thread) => reading((db) => threadOf(db, sink, thread)),

    replay: (items, now) => commit.write((tx) => replay(tx, items, now)),
    discard: (deliveryIds) => commit.write((tx) => discard(tx, deliveryIds)),

    events: (filter) => reading((db) => read.events(db, filter)),
    event: (id) => reading((db) => read.event(db, id)),
    notices: (filter) => reading((db) => read.notices(db, filter)),
    notice: (id) => reading((db) => read.notice(db, id)),
    lastRaised: () => reading(read.lastRaised),
    delivery: (id) => reading((db) => read.delivery(db, id)),
    deliveries: (filter) => reading((db) => read.deliveries(db, filter)),
    rejectedRequests: (limit) => reading((db) => read.rejectedRequests(db, limit)),
    counts: () => reading(read.counts),
    deadSince: (time) => reading((db) => read.deadSince(db, time)),
    heldSince: (time) => reading((db) => read.heldSince(db, time)),
    lastEventAt: () => reading(read.lastEventAt),

    async saveConfig({ id, source, savedAt }) {
      await commit.write(({ db }) => db.run(saveConfig, id, JSON.stringify(source), savedAt));
      savedConfigs.add(id);
    },
    config: (id) =>
      reading((db) => {
        const row = db.get(configSource, id);
        return row ? (JSON.parse(row.source) as Json) : null;
      }),

    async prune(before, limit) {
      const pruned = await commit.write((tx) => pruneOld(tx, before, limit));
      if (pruned < limit) await commit.write((tx) => pruneConfigs(tx, before, savedConfigs));
      return pruned;
    },
    async probe() {
      await commit.write(({ db }) => db.run(writeProbe));
    },
    async close() {
      await commit.close(closed());
      connection.close(closed());
      lock?.release();
    },
  };
}

const retryMs = 20;

/** Runs a query, again and again while another process has the file locked. */
async function patiently<T>(
  connection: Connection,
  busyForMs: number,
  query: (db: Database) => T,
): Promise<T> {
  const deadline = performance.now() + busyForMs;
  for (;;) {
    try {
      return query(connection.open());
    } catch (error) {
      const kind = failureKind(error);
      if (kind === 'fault') throw error;
      if (kind === 'unavailable' || performance.now() > deadline) throw connection.failed(error);
    }
    await sleep(retryMs);
  }
}

async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new StoreUnavailable(`The folder ${dirname(path)} cannot be made (${code}).`, { cause: error });
  }
}

function closed(): StoreUnavailable {
  return new StoreUnavailable('The store is closed.');
}
