import { hash } from 'node:crypto';
import { type FSWatcher, unwatchFile, watch, watchFile } from 'node:fs';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Config, ConfigError, type Problem } from '../config.ts';
import { readFrom, readText, type ReadText } from '../text/files.ts';
import { changedOf, type FileMarks, markOfFile } from '../text/references.ts';
import { compileConfig, type LoadOptions, textOf } from '../load.ts';
import { wholeFileError } from '../text/problems.ts';
import type { ReloadAnswer, ReloadQuestion } from './reload-worker.ts';

export interface WatchOptions<Loaded> {
  /** The mark (markOf) of the text of the config in force. The file may have changed since. */
  readonly inForce: string;
  /** The other files that the config in force was read with. They are watched, too. */
  readonly files?: () => FileMarks;
  readonly load: (text: string, signal: AbortSignal) => Promise<Loaded>;
  readonly onLoaded: (loaded: Loaded) => void | Promise<void>;
  /**
   * Called with what `load` or `onLoaded` threw, usually a ConfigError. The old config stays in force. If an automatic
   * retry fails in the same way, it is not called again.
   */
  readonly onFailed: (error: Error) => void;
  /** How long the files have to stay as they are after a change; editors, mounts and exports write in several steps. */
  readonly settleMs?: number;
  /** How often the file is polled as well; see watchConfig. */
  readonly pollMs?: number;
  /** The delay before the first retry of a failure that may pass. It doubles each time. */
  readonly retryMs?: number;
}

type Why = 'changed' | 'asked' | 'again';

const longestRetryMs = 300_000;

/**
 * Loads the config again when its file or one that it names changes, and on SIGHUP; one load at a time. The folder is
 * watched, because editors and Kubernetes replace the file. Some mounts report no changes (a single file mounted into a
 * container, network drives), so the file is also polled every few seconds.
 */
export function watchConfig<Loaded>(file: string, options: WatchOptions<Loaded>): { close(): void } {
  const { load, onLoaded, onFailed, settleMs = 200, pollMs = 5000, retryMs = 1000 } = options;
  const { files = () => new Map<string, string>() } = options;
  const closing = new AbortController();
  const closed = closing.signal;
  /** The marks of the last read. */
  let mark = options.inForce;
  let marks = files();
  /** What the last look saw. */
  let seen = '';
  let settling: NodeJS.Timeout | undefined;
  let retrying: NodeJS.Timeout | undefined;
  let retries = 0;
  /** The last failure reported, until a load succeeds. */
  let reported: string | null = null;
  let last = Promise.resolve();

  const failed = (error: Error): void => {
    if (error.message !== reported) onFailed(error);
    reported = error.message;
    // A fault in the text itself stays until the text changes.
    if (error instanceof ConfigError && !error.mayPass) return;
    const delayMs = Math.min(retryMs * 2 ** retries, longestRetryMs);
    retries += 1;
    retrying = setTimeout(() => queue('again'), delayMs).unref();
  };
  const step = async (why: Why): Promise<void> => {
    if (closed.aborted) return;
    const read = await readText(file, { onlyRegular: true });
    const marksNow = new Map([...files().keys()].map((path) => [path, markOfFile(path)]));
    const before = seen;
    seen = [markOf(read), ...marksNow.values()].join(' ');
    if (why === 'changed') {
      if (markOf(read) === mark && changedOf(marks, marksNow).length === 0) return;
      // A file that is still being written may be valid as far as it is: a table ends after any row.
      if (seen !== before) return changed();
    }
    mark = markOf(read);
    marks = marksNow;
    if (why !== 'again') {
      clearTimeout(retrying);
      retries = 0;
      reported = null;
    }
    try {
      const loaded = await load(textOf(read, file), closed);
      if (!closed.aborted) await onLoaded(loaded);
      marks = files();
      watchFiles();
      reported = null;
    } catch (error) {
      if (!closed.aborted) failed(error instanceof Error ? error : new Error(String(error)));
    }
  };
  const queue = (why: Why): void => {
    last = last.then(async () => step(why));
  };
  /** Something in the folder changed, often another file. The first change starts the timer, later ones share it. */
  const changed = (): void => {
    settling ??= setTimeout(() => {
      settling = undefined;
      queue('changed');
    }, settleMs);
  };

  const hangUp = (): void => queue('asked');
  const unwatch = watchPath(file, changed, pollMs);
  const watched = new Map<string, () => void>();
  const watchFiles = (named: Iterable<string> = closed.aborted ? [] : files().keys()): void => {
    const wanted = new Set(named);
    for (const [path, end] of watched) if (!wanted.has(path) && watched.delete(path)) end();
    for (const path of wanted) watched.getOrInsertComputed(path, () => watchPath(path, changed, pollMs));
  };
  watchFiles();
  process.on('SIGHUP', hangUp);
  // The file may have changed before it was watched.
  changed();
  return {
    close() {
      closing.abort();
      clearTimeout(settling);
      clearTimeout(retrying);
      unwatch();
      watchFiles([]);
      process.off('SIGHUP', hangUp);
    },
  };
}

/** Watches a file and its folder. Returns a function that ends that. */
function watchPath(file: string, changed: () => void, pollMs: number): () => void {
  let folder: FSWatcher | null = null;
  try {
    const watcher = watch(dirname(file), { persistent: false }, changed);
    watcher.on('error', () => watcher.close());
    folder = watcher;
  } catch {
    // The folder cannot be watched, as when the system has no more watches. Polling goes on.
  }
  watchFile(file, { persistent: false, interval: pollMs }, changed);
  return () => {
    folder?.close();
    unwatchFile(file, changed);
  };
}

/** The mark of a read, by which two reads are compared without keeping the text. */
export function markOf(read: ReadText): string {
  return 'text' in read ? hash('sha256', read.text) : read.fault;
}

export interface ReloadOptions extends Pick<LoadOptions, 'env' | 'connectors'> {
  /** Where `reload-worker.ts` is. */
  readonly thread: URL;
  /** How long the check may take. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
  readonly sameText?: ReloadQuestion['sameText'];
}

interface ReloadResult {
  readonly config: Config;
  readonly policiesAsBefore: boolean;
}

/** The most memory of the thread: a service with 512 MB has to go on beside it. */
const mostHeapMb = 256;

/** Checks a config's text in a thread, which may take long, and compiles it in this one. Throws a ConfigError. */
export async function reloadConfig(
  text: string,
  file: string,
  options: ReloadOptions,
): Promise<ReloadResult> {
  const { env, connectors, sameText } = options;
  const question: ReloadQuestion = { text, file, env: { ...env }, sameText };
  const answer = await askThread<ReloadAnswer>(options.thread, question, { file, ...options });
  if ('problems' in answer) throw new ConfigError(file, answer.problems, answer.report, answer.mayPass);
  const { value, secretFiles, warnings, policiesAsBefore } = answer;
  const readFile = readFrom(secretFiles);
  const config = compileConfig(JSON.parse(value), file, warnings, { env, connectors, readFile });
  return { config, policiesAsBefore };
}

/** Proves the policies of the config in force in a thread, which a start does not wait for. Returns their problems. */
export async function provePolicies(
  text: string,
  file: string,
  options: ReloadOptions,
): Promise<readonly Problem[]> {
  const question: ReloadQuestion = { text, file, env: { ...options.env }, isInForce: true };
  return askThread(options.thread, question, { file, ...options });
}

interface AskOptions extends Pick<ReloadOptions, 'deadlineMs' | 'signal'> {
  /** The name of what is checked, for messages. */
  readonly file: string;
}

/** Has a config checked in a thread of its own, which ends with its answer. Throws a ConfigError if that takes too long or too much memory. */
export async function askThread<Answer>(
  thread: URL,
  question: unknown,
  { file, deadlineMs = 120_000, signal }: AskOptions,
): Promise<Answer> {
  signal?.throwIfAborted();
  const worker = new Worker(thread, {
    workerData: question,
    resourceLimits: { maxOldGenerationSizeMb: mostHeapMb },
  });
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  worker.once('message', resolve);
  worker.once('error', (error: NodeJS.ErrnoException) => {
    const large = `the check took more than ${mostHeapMb} MB of memory; make the file smaller`;
    const isLarge = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
    reject(isLarge ? wholeFileError(file, large, false) : error);
  });
  worker.once('exit', () => reject(new Error('the thread that checks a config ended without an answer')));
  const late = `the check took longer than ${deadlineMs / 1000} s, so it was ended; make the file smaller, or restart`;
  const timer = setTimeout(() => reject(wholeFileError(file, late, false)), deadlineMs);
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
