import { all, get, query, run, type Operation } from '../operation.ts';
import { postgresSteps } from '../schema/steps.ts';
import { type OpenOptions, ServedByOlder, StoreUnavailable } from '../driver.ts';
import { refuseUnfinished } from '../move.ts';
import { liveReplicas } from '../operations/leases.ts';
import type { Connections } from './connections.ts';
import type { StoreAddress } from './failures.ts';
import { inLockstep } from './lockstep.ts';

const version = query<{ readonly version: number }>(
  'select candidate_connector as version from schema_version',
);
/**
 * Counts our version tables, which are known by their column as other programs use the name: the one in use, and that of the
 * schema that is usually the default. Names the schema in use, and any table in it. In one statement, since another replica may
 * create tables between two. It reads the catalog alone, as the user may have no right to look into `public`.
 */
const tables = query<{
  readonly own: number;
  readonly before: number;
  readonly schema: string | null;
  readonly other: string | null;
}>(`
  select count(*) filter (where pg_table_is_visible(c.oid)) as own,
    count(*) filter (where n.nspname = 'public' and has_schema_privilege(n.oid, 'usage')) as before,
    current_schema() as schema,
    (select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = current_schema() and c.relkind in ('r', 'p')
        and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e') order by 1 limit 1) as other
  from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
  where c.relname = 'schema_version' and a.attname = 'candidate_connector' and not a.attisdropped`);
const findSchema = query<{ readonly n: number }>('select count(*) as n from pg_namespace where nspname = $1');
const findEncoding = query<{ readonly server_encoding: string }>('show server_encoding');

/** The number is arbitrary, and must not change. */
const lock = 'select pg_advisory_xact_lock(4748375210)';
/** How long to wait for another process that migrates, and for a step that rewrites a large table. */
const migratingMs = 600_000;
/**
 * How long a step waits for a table. All others that use the table wait meanwhile, and `pg_dump` may hold it for hours.
 */
const tableMs = 2000;

/**
 * Brings the schema up to date in one transaction, one process at a time; for a command, only where no replica serves the store.
 * Throws StoreUnavailable.
 */
export async function migrate(
  connections: Connections,
  { serve = true, mustExist = false, asItIs = false }: Partial<OpenOptions>,
): Promise<void> {
  const { place } = connections;
  const found = await perform(connections, () => look(place));
  if (found === postgresSteps.length) return;
  if (asItIs) throw new StoreUnavailable(`There is no up-to-date store in ${nameOf(place)}.`);
  if (found === null && mustExist) {
    throw new StoreUnavailable(`There is no store in ${nameOf(place)}. \`serve\` creates it.`);
  }
  if (!serve && found !== null && (await perform(connections, liveReplicas)).length > 0)
    throw new ServedByOlder(found, postgresSteps.length);
  await perform(connections, () => bringUpToDate(place), migratingMs);
}

const rights = query<{ readonly schema: string | null; readonly may_create: string }>(`
  select current_schema() as schema,
    coalesce(has_schema_privilege(current_schema(), 'create'), has_database_privilege(current_database(), 'create'))::text as may_create`);

/** Deletes nothing, and fails where nothing can be written. */
const writing = query('delete from schema_version where false');

/** Checks whether the store could be opened and written, and changes nothing. Returns what it found. Throws StoreUnavailable. */
export async function checkSchema(connections: Connections): Promise<string> {
  const { place } = connections;
  const found = await perform(connections, () => look(place));
  if (found === postgresSteps.length) {
    await perform(connections, refuseUnfinished);
    await perform(connections, () => get(writing));
    return `the store is in ${nameOf(place)}`;
  }
  const { schema, may_create: mayCreate } = (await perform(connections, () => get(rights)))!;
  if (mayCreate !== 'true') {
    const right = schema === null ? `database ${place.database}` : `schema ${schema}`;
    throw new StoreUnavailable(
      `The user may not create tables in ${nameOf(place)}. Grant it: grant create on ${right} to …`,
    );
  }
  return `${nameOf(place)} has no ${found === null ? 'store' : 'up-to-date store'} yet; \`serve\` ${found === null ? 'creates' : 'updates'} it`;
}

/** Runs an operation in a transaction of its own. */
function perform<T>(connections: Connections, operation: () => Operation<T>, answerMs?: number): Promise<T> {
  return connections.patiently(() =>
    connections.transaction(async (transaction) => {
      const [result] = await inLockstep(
        [operation()],
        (statements) => transaction.send(statements),
        (rest) => transaction.commit(rest),
      );
      return result as T;
    }, answerMs),
  );
}

/** Returns the schema's version; null if there are no tables. Throws StoreUnavailable if this version cannot use it. */
function* look(place: StoreAddress): Operation<number | null> {
  const { server_encoding: encoding } = (yield* get(findEncoding))!;
  if (encoding !== 'UTF8') {
    throw new StoreUnavailable(
      `The database ${place.database} has the encoding ${encoding}; the store needs UTF8.`,
    );
  }
  const { own, before, schema, other } = (yield* get(tables))!;
  if (own === 0) {
    // The role's search_path was changed: a new store would hide what waits in the one before.
    if (place.schema === null && before > 0)
      throw new StoreUnavailable(
        `The schema public of the database ${place.database} has a store, and what this user makes is in ${schema === null ? 'no schema' : `the schema ${schema}`} now. Name one: ?schema=public for that store, ?schema=${schema ?? 'candidate_connector'} for a new one.`,
      );
    if (other === null) return null;
    throw new StoreUnavailable(
      `Another program uses ${nameOf(place)}: it has the table ${other}. Name a schema of its own: ?schema=candidate_connector.`,
    );
  }
  const found = (yield* get(version))?.version ?? 0;
  if (found <= postgresSteps.length) return found;
  throw new StoreUnavailable(
    `A newer version of the connector wrote ${nameOf(place)} (schema ${found}, this one knows ${postgresSteps.length}). ` +
      'Run that version, or restore a backup from before the update.',
  );
}

function* bringUpToDate(place: StoreAddress): Operation<void> {
  yield* run(`select set_config('statement_timeout', '${migratingMs}', true)`);
  yield* run(`select set_config('lock_timeout', '${migratingMs}', true)`);
  yield* all(query(lock));
  yield* run(`select set_config('lock_timeout', '${tableMs}', true)`);
  const { schema } = place;
  if (schema !== null && (yield* get(findSchema, schema))?.n === 0) {
    yield* run(`create schema "${schema}"`);
  }
  // Another process may have done this while this one waited for the lock.
  const found = yield* look(place);
  if (found === null) {
    yield* run('create table schema_version (candidate_connector bigint not null)');
    yield* run('insert into schema_version values (0)');
  }
  for (const step of postgresSteps.slice(found ?? 0)) {
    const statements = step.replaceAll(/--.*$/gm, '').split(';');
    for (const statement of statements) if (statement.trim() !== '') yield* run(statement);
  }
  yield* run('update schema_version set candidate_connector = $1', postgresSteps.length);
}

function nameOf({ database, schema }: StoreAddress): string {
  return schema === null ? `the database ${database}` : `the schema ${schema} of the database ${database}`;
}
