import { hash } from 'node:crypto';
import { type FSWatcher, unwatchFile, watch, watchFile } from 'node:fs';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Config, ConfigError } from './config/config.ts';
import { readFrom, readText, type ReadText } from './config/files.ts';
import { composeChecked, type LoadOptions, textOf, toConfig } from './config/load.ts';
import { findSecrets, masker } from './config/mask.ts';
import { wholeFileError } from './config/problems.ts';
import type { ReadinessPart } from './http/health.ts';
import type { ReloadAnswer, ReloadQuestion } from './reload-worker.ts';
import { Secret } from './support/secret.ts';
import { runBesides } from './support/steps.ts';

export interface WatchOptions {
  /** The mark of what the config in force was made of: the file may have changed since. */
  readonly inForce: string;
  readonly load: (text: string, signal: AbortSignal) => Promise<Config>;
  readonly onLoaded: (config: Config) => void | Promise<void>;
  /**
   * Given what `load` or `onLoaded` threw: a ConfigError as a rule. The old config stays in force. What fails in the
   * same way when it is tried again by itself is not told again.
   */
  readonly onFailed: (error: Error) => void;
  /** How long a change may take to settle; editors and mounts write in several steps. */
  readonly settleMs?: number;
  /** How often the file is looked at besides; see watchConfig. */
  readonly pollMs?: number;
  /** After how long a failure that may pass is tried again first; then after twice that, and so on. */
  readonly retryMs?: number;
}

const longestRetryMs = 300_000;

/**
 * Loads the config again when its file changes or on SIGHUP. The file's folder is watched, because editors and
 * Kubernetes put another file in its place. Some mounts tell of no change at all (a single file mounted into a
 * container, network drives), so the file is also looked at every few seconds.
 */
export function watchConfig(file: string, options: WatchOptions): { close(): void } {
  const reloader = new Reloader(file, options);
  const changed = (): void => reloader.changed();
  const hangUp = (): void => reloader.reload();
  const folder = watchFolder(dirname(file), changed);
  watchFile(file, { persistent: false, interval: options.pollMs ?? 5000 }, changed);
  process.on('SIGHUP', hangUp);
  // It may have changed before it was watched.
  changed();
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
  readonly #options: WatchOptions;
  readonly #closing = new AbortController();
  /** Of what was read last. */
  #mark: string;
  #settling: NodeJS.Timeout | null = null;
  #retrying: NodeJS.Timeout | null = null;
  #retries = 0;
  /** What was told last, until something is loaded. */
  #told: string | null = null;
  #last: Promise<void> = Promise.resolve();

  constructor(file: string, options: WatchOptions) {
    this.#file = file;
    this.#options = options;
    this.#mark = options.inForce;
  }

  /** Something in the folder changed; often it was another file. The first change starts the clock, others wait with it. */
  changed(): void {
    this.#settling ??= setTimeout(() => {
      this.#settling = null;
      this.#queue(async (read) => {
        if (markOf(read) !== this.#mark) await this.#run(read);
      });
    }, this.#options.settleMs ?? 200);
  }

  reload(): void {
    this.#queue((read) => this.#run(read));
  }

  close(): void {
    this.#closing.abort();
    if (this.#settling) clearTimeout(this.#settling);
    this.#endRetrying();
  }

  #queue(step: (read: ReadText) => Promise<void>): void {
    this.#last = this.#last.then(async () =>
      this.#isClosed ? undefined : step(await readText(this.#file, { onlyRegular: true })),
    );
  }

  async #run(read: ReadText): Promise<void> {
    this.#endRetrying();
    this.#retries = 0;
    this.#told = null;
    await this.#try(read);
  }

  async #try(read: ReadText): Promise<void> {
    this.#mark = markOf(read);
    try {
      const config = await this.#options.load(textOf(read, this.#file), this.#closing.signal);
      if (!this.#isClosed) await this.#options.onLoaded(config);
      this.#told = null;
    } catch (error) {
      if (!this.#isClosed) this.#failed(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** What is wrong with the text itself stays wrong until it changes. */
  #failed(error: Error): void {
    if (error.message !== this.#told) this.#options.onFailed(error);
    this.#told = error.message;
    if (error instanceof ConfigError && !error.mayPass) return;
    const delayMs = Math.min((this.#options.retryMs ?? 1000) * 2 ** this.#retries, longestRetryMs);
    this.#retries += 1;
    this.#retrying = setTimeout(() => this.#queue((read) => this.#try(read)), delayMs).unref();
  }

  #endRetrying(): void {
    if (this.#retrying) clearTimeout(this.#retrying);
    this.#retrying = null;
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }
}

/** Tells two readings of a file apart without keeping the text. */
export function markOf(read: ReadText): string {
  return 'text' in read ? hash('sha256', read.text) : read.fault;
}

export interface ReloadOptions extends Pick<LoadOptions, 'env' | 'connectors'> {
  /** Where `reload-worker.ts` is. */
  readonly thread: URL;
  /** How long the check may take. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

/** For the other thread's memory: a service of 512 MB goes on beside it. */
const mostHeapMb = 256;

/**
 * A config's text, checked in a thread of its own, which may take long, and only then compiled in this one, bit by
 * bit, for a process that has others to answer meanwhile. Throws a ConfigError.
 */
export async function reloadConfig(text: string, file: string, options: ReloadOptions): Promise<Config> {
  const answer = await ask({ text, file, env: { ...options.env } }, options);
  if ('problems' in answer) throw new ConfigError(file, answer.problems, answer.report, answer.mayPass);
  const { value, secretFiles, warnings } = answer;
  const { env, connectors } = options;
  const steps = composeChecked(JSON.parse(value), { env, connectors, readFile: readFrom(secretFiles) });
  return toConfig(file, await runBesides(steps), warnings);
}

async function ask(
  question: ReloadQuestion,
  { thread, deadlineMs = 120_000, signal }: ReloadOptions,
): Promise<ReloadAnswer> {
  signal?.throwIfAborted();
  const worker = new Worker(thread, {
    workerData: question,
    resourceLimits: { maxOldGenerationSizeMb: mostHeapMb },
  });
  const { promise, resolve, reject } = Promise.withResolvers<ReloadAnswer>();
  worker.once('message', resolve);
  worker.once('error', (error: Error) => reject(memoryError(error, question.file) ?? error));
  worker.once('exit', () => reject(new Error('the thread that checks a config ended without an answer')));
  const late = `the check took longer than ${deadlineMs / 1000} s, so it was ended; make the file smaller, or restart`;
  const timer = setTimeout(() => reject(wholeFileError(question.file, late, false)), deadlineMs);
  const aborted = () => reject(new Error('the reload was ended'));
  signal?.addEventListener('abort', aborted);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', aborted);
    void worker.terminate();
  }
}

function memoryError(error: Error, file: string): Error | null {
  if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') return null;
  return wholeFileError(
    file,
    `the check took more than ${mostHeapMb} MB of memory; make the file smaller`,
    false,
  );
}

/**
 * What a process cannot change while it runs, and what goes with it: while a port stays open, so does what protects it,
 * and a retention that was meant for another store deletes nothing in this one.
 */
const lasting = [
  {
    keys: ['receiver.host', 'receiver.port'],
    along: ['receiver.allowFrom', 'receiver.trustProxy', 'receiver.token'],
  },
  { keys: ['admin.host', 'admin.port'], along: ['admin.password'] },
  { keys: ['store.url'], along: ['store.retentionMs', 'idempotency.windowMs'] },
  { keys: ['log.format'], along: [] },
];

/** The config in force, and whether the file has since been changed for the worse. */
export class LiveConfig {
  #config: Config;
  #waiting: readonly string[] = [];
  #reloadFailed = false;

  constructor(config: Config) {
    this.#config = config;
  }

  get config(): Config {
    return this.#config;
  }

  /** The keys of the file that take effect at the next start only. */
  get waiting(): readonly string[] {
    return this.#waiting;
  }

  adopt(next: Config): void {
    const kept = keptKeys(next, this.#config);
    this.#config = kept.length === 0 ? next : withKept(next, this.#config, kept);
    this.#waiting = kept.map((name) => name.replace(/Ms$/, ''));
    this.#reloadFailed = false;
  }

  failed(): void {
    this.#reloadFailed = true;
  }

  /** Ready also with the old config; what is wrong with the new one is in the log, since this is public. */
  readiness(): ReadinessPart {
    const part = { part: 'config', ok: true };
    if (this.#reloadFailed)
      return { ...part, detail: 'The changed file has problems; the config before it stays in force.' };
    if (this.#waiting.length === 0) return part;
    return { ...part, detail: 'Some changed keys wait for a restart; the log names them.' };
  }
}

/** The keys that differ and stay as they are. */
function keptKeys(next: Config, current: Config): string[] {
  const differs = (name: string): boolean => comparable(next, name) !== comparable(current, name);
  return lasting
    .filter(({ keys }) => keys.some(differs))
    .flatMap(({ keys, along }) => [...keys, ...along].filter(differs));
}

function withKept(next: Config, current: Config, kept: readonly string[]): Config {
  const sections: Sections = {};
  for (const name of kept) {
    const [section, key] = split(name);
    sections[section] = {
      ...(sections[section] ?? sectionsOf(next)[section]),
      [key]: valueOf(current, name),
    };
  }
  // What stays in force stays secret, though the new file knows nothing of it.
  const mask = masker([...findSecrets(sections)].map(({ value }) => value));
  return Object.freeze({ ...next, ...sections, mask: (text: string) => mask(next.mask(text)) });
}

type Sections = Record<string, Readonly<Record<string, unknown>>>;

const sectionsOf = (config: Config): Sections => config as unknown as Sections;
const split = (name: string): [string, string] => name.split('.', 2) as [string, string];

function valueOf(config: Config, name: string): unknown {
  const [section, key] = split(name);
  return sectionsOf(config)[section]?.[key];
}

function comparable(config: Config, name: string): string {
  const value = valueOf(config, name);
  return JSON.stringify(value instanceof Secret ? { secret: value.reveal() } : value);
}
