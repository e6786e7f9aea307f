import { isPostgres, withoutPassword } from '../support/store-url.ts';
import { type MovedTable, move, type MoveProgress, refuseUnfinished } from './move.ts';
import { checkSqlite, sqliteDriver } from './sqlite.ts';
import { ThreadReads } from './sqlite/reads.ts';
import { type BackupResult, copySqlite, type Progress } from './sqlite/backup.ts';
import { resolveLinks } from './sqlite/files.ts';
import { type Driver, type OpenOptions, StoreUnavailable } from './driver.ts';
import { type Reads, type Store, storeOn } from './store.ts';

/**
 * Opens the store of a config's `store.url`: `sqlite:PATH`, or a URL as PostgreSQL's own programs have it. Throws
 * StoreUnavailable.
 */
export async function openStore(url: string, options: OpenOptions): Promise<Store> {
  const driver = await openDriver(url, options);
  try {
    await driver.read(refuseUnfinished);
  } catch (error) {
    await driver.close();
    throw error;
  }
  return storeOn(driver);
}

async function openDriver(url: string, options: OpenOptions, statementMs?: number): Promise<Driver> {
  if (!isPostgres(url)) return sqliteDriver(fileOf(url), options);
  // Imported here, so that it is not loaded for SQLite.
  const { postgresDriver } = await import('./postgres.ts');
  const limits = statementMs === undefined ? {} : { statementMs, answerMs: statementMs };
  return postgresDriver(url, { ...options, limits });
}

/** Reads for pages, which must not hold up arriving events: for SQLite, they run in a thread of their own. */
export function readsBeside(url: string, store: Store): { readonly reads: Reads; close(): Promise<void> } {
  return isPostgres(url)
    ? { reads: store, close: async () => {} }
    : new ThreadReads(resolveLinks(fileOf(url)));
}

/** Reads from a store without changing anything. Null if that is not possible, as where there is no store yet. */
export async function glanceAt<T>(url: string, look: (reads: Reads) => Promise<T>): Promise<T | null> {
  await using opened = new AsyncDisposableStack();
  try {
    if (!isPostgres(url)) {
      const thread = opened.adopt(new ThreadReads(resolveLinks(fileOf(url))), (it) => it.close());
      return await look(thread.reads);
    }
    const options = { serve: false, mustExist: true, asItIs: true };
    return await look(opened.adopt(await openStore(url, options), (it) => it.close()));
  } catch {
    return null;
  }
}

/** How long a statement may take, to count the rows of a large table. */
const countingMs = 600_000;

/** Moves a store to another URL; see `move`. Neither store may be served meanwhile. */
export async function moveStore(from: string, to: string, progress: MoveProgress): Promise<MovedTable[]> {
  const [source, target] = [nameOf(from), nameOf(to)];
  if (source === target) throw new StoreUnavailable(`${source} is both the source and the target.`);
  await using stores = new AsyncDisposableStack();
  const open = async (url: string, mustExist: boolean) =>
    // Nobody has PostgreSQL alone: whether it is served is asked.
    stores.adopt(await openDriver(url, { serve: !isPostgres(url), mustExist }, countingMs), (it) =>
      it.close(),
    );
  const sourceDriver = await open(from, true);
  const targetDriver = await open(to, false);
  return await move({ name: source, driver: sourceDriver }, { name: target, driver: targetDriver }, progress);
}

function nameOf(url: string): string {
  return isPostgres(url) ? withoutPassword(url) : `sqlite:${resolveLinks(fileOf(url))}`;
}

/** Asks whether the store could be opened. Returns what a database server said; null for SQLite. Throws StoreUnavailable. */
export async function checkStore(url: string): Promise<string | null> {
  if (!isPostgres(url)) {
    checkSqlite(fileOf(url));
    return null;
  }
  const { checkPostgres } = await import('./postgres.ts');
  return checkPostgres(url);
}

export async function copyStore(url: string, to: string, progress: Progress): Promise<BackupResult> {
  return copySqlite(fileOf(url), to, progress);
}

/** The path of a SQLite store's file. Throws StoreUnavailable for any other URL. */
export function fileOf(url: string): string {
  if (isPostgres(url)) {
    throw new StoreUnavailable(
      'This is only for a store in SQLite. PostgreSQL has its own means: docs/deploy.md says which.',
    );
  }
  const [, scheme, path] = /^([a-z]+):(?:\/\/)?(.+)$/.exec(url) ?? [];
  if (scheme !== 'sqlite' || !path) {
    // Without the rest of the URL, which may have a password.
    throw new StoreUnavailable(
      `${url.split(':')[0]}: is not a supported store. Expected sqlite:./data/connector.db or postgres://user@host/database.`,
    );
  }
  if (path === ':memory:') throw new StoreUnavailable('A store must outlive the process. Name a file.');
  return path;
}
