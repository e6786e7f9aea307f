import { openSqlite } from './sqlite.ts';
import { StoreUnavailable, type OpenOptions, type Store } from './store.ts';

/** Opens the store that a config's `store.url` names: `sqlite:` and a path. Throws StoreUnavailable. */
export function openStore(url: string, options: OpenOptions): Promise<Store> {
  const [, scheme, path] = /^([a-z]+):(?:\/\/)?(.+)$/.exec(url) ?? [];
  if (scheme === 'sqlite' && path) return openSqlite(path, options);
  return Promise.reject(
    new StoreUnavailable(`${url.split(':')[0]} is no kind of store. Expected sqlite:./data/connector.db.`),
  );
}
