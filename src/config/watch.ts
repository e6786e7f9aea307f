import type { FSWatcher } from 'node:fs';
import { readFileSync, unwatchFile, watch, watchFile } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from './config.ts';

export interface WatchOptions {
  readonly onLoaded: (config: Config) => void | Promise<void>;
  /** Given what `load` or `onLoaded` threw: a ConfigError as a rule. The old config stays in force. */
  readonly onFailed: (error: Error) => void;
  /** How long a change may take to settle; editors and mounts write in several steps. */
  readonly settleMs?: number;
  /** How often the file is looked at besides; see watchConfig. */
  readonly pollMs?: number;
}

/**
 * Loads the config again when its file changes or on SIGHUP. The file's folder is watched, because editors and
 * Kubernetes put another file in its place. Some mounts tell of no change at all (a single file mounted into a
 * container, network drives), so the file is also looked at every few seconds.
 */
export function watchConfig(
  file: string,
  load: () => Promise<Config>,
  options: WatchOptions,
): { close(): void } {
  const reloader = new Reloader(file, load, options);
  const changed = (): void => reloader.changed();
  const hangUp = (): void => reloader.reload();
  const folder = watchFolder(dirname(file), changed);
  watchFile(file, { persistent: false, interval: options.pollMs ?? 5000 }, changed);
  process.on('SIGHUP', hangUp);
  return {
    close() {
      reloader.close();
      folder?.close();
      unwatchFile(file, changed);
      process.off('SIGHUP', hangUp);
    },
  };
}

/** A folder that cannot be watched (no more watches, say) is no reason to stop: looking at the file goes on. */
function watchFolder(folder: string, changed: () => void): FSWatcher | null {
  try {
    const watcher = watch(folder, { persistent: false }, changed);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return null;
  }
}

/** Reloads one at a time; what changes meanwhile is loaded afterwards. */
class Reloader {
  readonly #file: string;
  readonly #load: () => Promise<Config>;
  readonly #options: WatchOptions;
  #text: string | null;
  #timer: NodeJS.Timeout | null = null;
  #last: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(file: string, load: () => Promise<Config>, options: WatchOptions) {
    this.#file = file;
    this.#load = load;
    this.#options = options;
    this.#text = this.#read();
  }

  /** Something in the folder changed; often it was another file. The first change starts the clock, others wait with it. */
  changed(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#queue(async () => {
        if (this.#readAgain()) await this.#run();
      });
    }, this.#options.settleMs ?? 200);
  }

  reload(): void {
    this.#queue(async () => {
      this.#readAgain();
      await this.#run();
    });
  }

  close(): void {
    this.#closed = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  #queue(step: () => Promise<void>): void {
    this.#last = this.#last.then(async () => (this.#closed ? undefined : step()));
  }

  /** True if the file says something else than when it was read last. */
  #readAgain(): boolean {
    const before = this.#text;
    this.#text = this.#read();
    return this.#text !== before;
  }

  async #run(): Promise<void> {
    try {
      const config = await this.#load();
      if (!this.#closed) await this.#options.onLoaded(config);
    } catch (error) {
      if (!this.#closed) this.#options.onFailed(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Null where there is no file; between the two steps of a replacement, for instance. */
  #read(): string | null {
    try {
      return readFileSync(this.#file, 'utf8');
    } catch {
      return null;
    }
  }
}
