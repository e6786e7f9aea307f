import { connectors } from '../../connectors/index.ts';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import type { Io } from './io.ts';

export interface ConfigOption {
  readonly config: string;
}

export function configOf(options: ConfigOption, io: Io): Promise<Config> {
  return loadConfig(options.config, { env: io.env, connectors });
}

/** Opens the config's store beside a connector that may be serving it, and closes it again. */
export async function withStore<T>(
  options: ConfigOption,
  io: Io,
  use: (store: Store, config: Config) => Promise<T>,
): Promise<T> {
  const config = await configOf(options, io);
  const store = await openStore(config.store.url, { serve: false });
  try {
    return await use(store, config);
  } finally {
    await store.close();
  }
}
