import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '../model.ts';
import type { RecentCorrelations } from './recent-correlations.ts';
import { configSource, latestConfig, saveConfig, writeProbe } from './sql/housekeeping.ts';
import { accept, keepRejected, loadCorrelations } from './sqlite/accept.ts';
import { discard, replay } from './sqlite/by-hand.ts';
import {
  defer,
  endPause,
  keepPause,
  lanes,
  newestReceipt,
  pauses,
  pullIn,
  record,
  rescue,
  threadOf,
} from './sqlite/carry-out.ts';
import { claim } from './sqlite/claim.ts';
import { Connection } from './sqlite/connection.ts';
import type { Database } from './sqlite/database.ts';
import { failureKind } from './sqlite/failures.ts';
import { makeFolder, refuseHardLinks, resolveLinks } from './sqlite/files.ts';
import { defaultLimits, GroupCommit, type GroupCommitLimits } from './sqlite/group-commit.ts';
import { keepSignOfLife, pruneConfigs, pruneOld, signOfLife } from './sqlite/housekeeping.ts';
import { migrate } from './sqlite/migrate.ts';
import { raise } from './sqlite/raise.ts';
import * as read from './sqlite/read.ts';
import { ServingLock } from './sqlite/serving-lock.ts';
import { StoreUnavailable, type OpenOptions, type Store } from './store.ts';

export interface SqliteStore extends Store {
  /** Transactions committed by this process. Fewer than writes, which share transactions. */
  readonly commits: number;
}

const rescueBatch = 500;
const pullInBatch = 500;
const betweenLooksMs = 1000;

/**
 * Opens the store in a file. Creates the file and its folder if they are missing, unless `mustExist`. Throws
 * StoreUnavailable.
 */
export async function openSqlite(
  path: string,
  options: OpenOptions & { readonly limits?: Partial<GroupCommitLimits> },
): Promise<SqliteStore> {
  if (options.mustExist && !existsSync(path)) {
    throw new StoreUnavailable(
      `There is no store at ${resolve(path)}. \`serve\` creates it. A relative store.url starts at the folder that a command runs in.`,
    );
  }
  const file = resolveLinks(path);
  await makeFolder(dirname(file));
  refuseHardLinks(file);
  const limits = { ...defaultLimits, ...options.limits };
  const connection = new Connection(file, options.warn);
  try {
    // Reads first, so that no lock file is left beside another program's file.
    await patiently(connection, limits.busyForMs, () => {});
    if (options.serve) connection.serve(new ServingLock(file));
    await patiently(connection, limits.busyForMs, (db) => migrate(db, file));
  } catch (error) {
    connection.close(closed());
    throw error;
  }
  return sqliteStore(connection, options.serve, limits);
}

function sqliteStore(connection: Connection, serve: boolean, limits: GroupCommitLimits): SqliteStore {
  const commit = new GroupCommit(connection, limits);
  const guard = serve
    ? setInterval(() => keepInPlace(connection, commit), betweenLooksMs).unref()
    : undefined;
  const reading = <T>(query: (db: Database) => T) => patiently(connection, limits.busyForMs, query);
  /** Configs that this process uses or is about to use. They are kept even if no event refers to them yet. */
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
    async pullIn(now, aheadMs) {
      let total = 0;
      for (let after: number | null = 0; after !== null;) {
        const from: number = after;
        const step = await commit.write((tx) => pullIn(tx, { now, aheadMs }, from, pullInBatch));
        total += step.count;
        after = step.after;
      }
      return total;
    },
    keepPause: (pause) => commit.write((tx) => keepPause(tx, pause)),
    endPause: (sink) => commit.write((tx) => endPause(tx, sink)),
    pauses: () => reading(pauses),
    threadOf: (sink, thread) => reading((db) => threadOf(db, sink, thread)),
    newestReceipt: (lane) => reading((db) => newestReceipt(db, lane)),

    replay: (items, now) => commit.write((tx) => replay(tx, items, now)),
    discard: (deliveryIds, now) => commit.write((tx) => discard(tx, deliveryIds, now)),

    events: (filter) => reading((db) => read.events(db, filter)),
    event: (id) => reading((db) => read.event(db, id)),
    notices: (filter) => reading((db) => read.notices(db, filter)),
    notice: (id) => reading((db) => read.notice(db, id)),
    lastRaised: () => reading(read.lastRaised),
    delivery: (id) => reading((db) => read.delivery(db, id)),
    deliveries: (filter) => reading((db) => read.deliveries(db, filter)),
    rejectedRequests: (filter) => reading((db) => read.rejectedRequests(db, filter)),
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
    latestConfig: () =>
      reading((db) => {
        const row = db.get(latestConfig);
        return row ? { id: row.id, source: JSON.parse(row.source) as Json, savedAt: row.saved_at } : null;
      }),

    async prune(query) {
      const pruned = await commit.write((tx) => pruneOld(tx, query));
      if (pruned.after === null) await commit.write((tx) => pruneConfigs(tx, query.before, savedConfigs));
      return pruned;
    },
    signOfLife: () => reading(signOfLife),
    keepSignOfLife: (sign) => commit.write((tx) => keepSignOfLife(tx, sign)),
    async probe() {
      await commit.write(({ db }) => db.run(writeProbe));
    },
    async close() {
      clearInterval(guard);
      await commit.close(closed());
      connection.close(closed());
    },
  };
}

const retryMs = 20;

/** Runs a query, and repeats it while another process has the file locked. */
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

/**
 * What was answered for and not checkpointed is lost if the process ends without its WAL; so nobody waits for the next
 * event. Writing nothing does what a write does about it, and where that fails, each write says so.
 */
function keepInPlace(connection: Connection, commit: GroupCommit): void {
  if (!connection.inPlace) void commit.write(() => {}).catch(() => {});
}

function closed(): StoreUnavailable {
  return new StoreUnavailable('The store is closed.');
}
