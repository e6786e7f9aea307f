import { openSqlite } from './sqlite.ts';
import { StoreUnavailable, type OpenOptions, type Store } from './store.ts';

/** Opens the store that a config's `store.url` names: `sqlite:` and the path of a file. Throws StoreUnavailable. */
export async function openStore(url: string, options: OpenOptions): Promise<Store> {
  const [, scheme, path] = /^([a-z]+):(?:\/\/)?(.+)$/.exec(url) ?? [];
  if (scheme !== 'sqlite' || !path) {
    // Not the whole URL: it may hold a password.
    throw new StoreUnavailable(
      `${url.split(':')[0]}: is no kind of store. Expected sqlite:./data/connector.db.`,
    );
  }
  if (path === ':memory:') throw new StoreUnavailable('A store must outlive the process. Name a file.');
  return openSqlite(path, options);
}
