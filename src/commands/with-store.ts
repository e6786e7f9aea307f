import { connectors } from '../../connectors/index.ts';
import type { CheckedConfig, Config } from '../config/config.ts';
import { loadConfig, loadStoreUrl, sinkNames } from '../config/load.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { didYouMeanOneOf } from '../suggest.ts';
import { CommandError, exit, type Io } from './io.ts';
import { printable } from './paint.ts';

export interface ConfigOption {
  readonly config: string;
}

export function configOf(options: ConfigOption, io: Io): Promise<CheckedConfig> {
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

/** A sink that left the config may still have deliveries; one that nobody knows is a slip of the keyboard. */
export async function checkSink(sink: string, options: ConfigOption, store: Store): Promise<void> {
  const counted = (await store.counts()).map((count) => count.sink);
  const known = [...new Set([...(await sinkNames(options.config)), ...counted])];
  if (known.includes(sink)) return;
  const instead = didYouMeanOneOf(sink, known, 'the config names none');
  throw new CommandError(`there is no sink "${printable(sink)}"${instead}`, exit.usage);
}
