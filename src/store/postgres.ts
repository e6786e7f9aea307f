import type { Driver, OpenOptions } from './driver.ts';
import { type Store, storeOn } from './store.ts';
import { now as clockNow } from './operations/leases.ts';
import { get, query, type Operation, type Statement } from './operation.ts';
import { Connections, type ConnectionLimits } from './postgres/connections.ts';
import { GroupCommit, type GroupCommitLimits, mayWaitMs } from './group-commit.ts';
import { committed } from './postgres/group-commit.ts';
import { inLockstep } from './postgres/lockstep.ts';
import { checkSchema, migrate } from './postgres/migrate.ts';

export interface PostgresOptions extends Partial<Pick<OpenOptions, 'serve' | 'mustExist' | 'asItIs'>> {
  readonly limits?: Partial<ConnectionLimits & GroupCommitLimits>;
}

/** Opens the store of a `postgres:` URL. Creates its schema and tables, unless `mustExist`. Throws StoreUnavailable. */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<Store> {
  return storeOn(await postgresDriver(url, options));
}

const clock = query<{ readonly now: number }>(`select ${clockNow} as now`);

const tableBytes = query<{ readonly bytes: number }>(`
  select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint as bytes from pg_class
  where relnamespace = current_schema()::regnamespace and relkind = 'r'`);

/**
 * How long the oldest transaction has been open: rows that were deleted since cannot be cleaned up. Those of other users are
 * seen only by members of pg_read_all_stats, prepared ones by all.
 */
const oldestTransaction = query<{ readonly ms: number | null }>(`
  select (extract(epoch from clock_timestamp() - min(since)) * 1000)::bigint as ms from (
    select xact_start as since from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
    union all
    select prepared as since from pg_prepared_xacts where database = current_database()
  ) as open`);

export async function postgresDriver(url: string, options: PostgresOptions = {}): Promise<Driver> {
  const connections = new Connections(url, options.limits);
  try {
    await connections.look();
    await migrate(connections, options);
    await connections.learnPlace();
  } catch (error) {
    await connections.close();
    throw error;
  }
  const commits = (limits: Partial<GroupCommitLimits>) =>
    new GroupCommit('PostgreSQL', (works) => committed(connections, works), { ...limits, ...options.limits });
  // Somebody's lock on what other writes need holds up no event.
  const received = commits({});
  const others = commits({ mayWaitMs });
  const read = async <T>(work: () => Operation<T>): Promise<T> => {
    const ask = (statements: readonly Statement[]) => connections.outside(statements);
    const [result] = await inLockstep([work()], ask);
    return result as T;
  };
  return {
    get commits() {
      return received.commits + others.commits;
    },
    get queued() {
      return received.queued + others.queued;
    },
    shared: true,
    // `renew` of the leases looks at the place instead.
    home: null,
    write: (work, mayWait) => others.write(work, mayWait),
    receive: (work) => received.write(work),
    read,
    now: async () => (await read(() => get(clock)))!.now,
    oldestTransactionMs: async () => Math.max(0, (await read(() => get(oldestTransaction)))?.ms ?? 0),
    // The server's files cannot be read.
    traces: async () => null,
    tidy: async () => {},
    seeRoom: async () => {},
    rescued: () => null,
    bytes: async () => (await read(() => get(tableBytes)))?.bytes ?? 0,
    async close() {
      await Promise.all([received.close(), others.close()]);
      await connections.close();
    },
  };
}

/** Checks whether the store could be opened, and changes nothing. Returns what it found. Throws StoreUnavailable. */
export async function checkPostgres(url: string): Promise<string> {
  const connections = new Connections(url, { patientForMs: 0 });
  try {
    await connections.look();
    return await checkSchema(connections);
  } finally {
    await connections.close();
  }
}
