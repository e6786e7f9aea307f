import { openSqlite } from './sqlite.ts';
import { type Copied, copySqlite, type Progress } from './sqlite/backup.ts';
import { StoreUnavailable, type OpenOptions, type Store } from './store.ts';

/**
 * Opens the store of a config's `store.url`: `sqlite:` and a file's path, or `postgres:` as PostgreSQL's own programs
 * have it. Throws StoreUnavailable.
 */
export async function openStore(url: string, options: OpenOptions): Promise<Store> {
  if (!isPostgres(url)) return openSqlite(fileOf(url), options);
  // Only here: whoever uses SQLite need not load it.
  const { openPostgres } = await import('./postgres.ts');
  return openPostgres(url, options);
}

/** Asks a database server whether the store could be opened there. Null where there is none to ask. Throws StoreUnavailable. */
export async function checkStore(url: string): Promise<string | null> {
  if (!isPostgres(url)) return null;
  const { checkPostgres } = await import('./postgres.ts');
  return checkPostgres(url);
}

/** See copySqlite. */
export async function copyStore(url: string, to: string, progress: Progress): Promise<Copied> {
  return copySqlite(fileOf(url), to, progress);
}

/** The file of a store in SQLite. Throws StoreUnavailable for every other. */
export function fileOf(url: string): string {
  if (isPostgres(url)) {
    throw new StoreUnavailable(
      'This is only for a store in SQLite. PostgreSQL has its own means: docs/deploy.md says which.',
    );
  }
  const [, scheme, path] = /^([a-z]+):(?:\/\/)?(.+)$/.exec(url) ?? [];
  if (scheme !== 'sqlite' || !path) {
    // Not the whole URL: it may have a password.
    throw new StoreUnavailable(
      `${url.split(':')[0]}: is not a supported store. Expected sqlite:./data/connector.db or postgres://user@host/database.`,
    );
  }
  if (path === ':memory:') throw new StoreUnavailable('A store must outlive the process. Name a file.');
  return path;
}

const isPostgres = (url: string): boolean => /^postgres(ql)?:/.test(url);

/** For logs. */
export function withoutPassword(url: string): string {
  if (!isPostgres(url) || !URL.canParse(url)) return url;
  const shown = new URL(url);
  if (shown.password !== '') shown.password = '***';
  shown.searchParams.delete('password');
  return shown.href;
}
