import { openSqlite } from './sqlite.ts';
import { type Copied, copySqlite, type Progress } from './sqlite/backup.ts';
import { StoreUnavailable, type OpenOptions, type Store } from './store.ts';

/**
 * Opens the store of a config's `store.url`: `sqlite:` and a file's path, or `postgres:` as PostgreSQL has it. Throws
 * StoreUnavailable.
 */
export async function openStore(url: string, options: OpenOptions): Promise<Store> {
  return openSqlite(fileOf(url), options);
}

/** See copySqlite. */
export async function copyStore(url: string, to: string, progress: Progress): Promise<Copied> {
  return copySqlite(fileOf(url), to, progress);
}

export function fileOf(url: string): string {
  const [, scheme, path] = /^([a-z]+):(?:\/\/)?(.+)$/.exec(url) ?? [];
  if (scheme === 'postgres' || scheme === 'postgresql') {
    // Only here: whoever uses SQLite need not load it.
    const { openPostgres } = await import('./postgres.ts');
    return openPostgres(url, options);
  }
  if (scheme !== 'sqlite' || !path) {
    // Not the whole URL: it may have a password.
    throw new StoreUnavailable(
      `${url.split(':')[0]}: is not a supported store. Expected sqlite:./data/connector.db or postgres://user@host/database.`,
    );
  }
  if (path === ':memory:') throw new StoreUnavailable('A store must outlive the process. Name a file.');
  return path;
}
