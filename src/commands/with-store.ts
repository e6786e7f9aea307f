import { connectors } from '../../connectors/index.ts';
import type { Config } from '../config/config.ts';
import { loadConfig, loadStoreUrl } from '../config/load.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import type { Io } from './io.ts';

export interface ConfigOption {
  readonly config: string;
}

export function configOf(options: ConfigOption, io: Io): Promise<Config> {
  return loadConfig(options.config, { env: io.env, connectors });
}

/** Opens the config's store beside a connector that may be serving it, and closes it again. Needs nothing else of the config. */
export async function withStore<T>(
  options: ConfigOption,
  io: Io,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  return withStoreAt(await loadStoreUrl(options.config, { env: io.env, connectors }), use);
}

/** The same for what needs the whole config to be in order. */
export async function withStoreAndConfig<T>(
  options: ConfigOption,
  io: Io,
  use: (store: Store, config: Config) => Promise<T>,
): Promise<T> {
  const config = await configOf(options, io);
  return withStoreAt(config.store.url, (store) => use(store, config));
}

async function withStoreAt<T>(url: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(url, { serve: false, mustExist: true });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
