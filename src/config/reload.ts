import { Worker } from 'node:worker_threads';
import { composeChecked, type LoadOptions } from './compose.ts';
import type { Config, Problem } from './config.ts';
import { ConfigError } from './config.ts';
import { checkText, toConfig } from './load.ts';
import { wholeFileError } from './report.ts';
import { longestStepMs, runBesides } from './steps.ts';
import { readSecretFile } from './text/read.ts';

/** What is asked of the other thread. */
export interface ReloadQuestion {
  readonly text: string;
  readonly file: string;
  readonly env: LoadOptions['env'];
}

/** All that it found out: what is wrong with the text, or what it says, with the files that its references name. */
export type ReloadAnswer =
  | { readonly problems: readonly Problem[]; readonly report: string; readonly mayPass: boolean }
  | {
      /** As JSON, which is taken over faster than the values themselves. */
      readonly value: string;
      readonly secretFiles: ReadonlyMap<string, string>;
      readonly warnings: readonly Problem[];
    };

export interface ReloadOptions extends Pick<LoadOptions, 'env' | 'connectors'> {
  /** A module that posts the `checkReload` of its workerData to its parent. */
  readonly thread: URL;
  /** How long the check may take. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

/** For the other thread's memory: a service of 512 MB goes on beside it. */
const mostHeapMb = 256;
/** For this thread: how long nobody may be answered. */
const longestStallMs = 1000;

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

/** Runs in the other thread. */
export function checkReload(
  { text, file, env }: ReloadQuestion,
  connectors: LoadOptions['connectors'],
): ReloadAnswer {
  const secretFiles = new Map<string, string>();
  const readFile = (path: string): string => {
    const content = readSecretFile(path);
    secretFiles.set(path, content);
    return content;
  };
  try {
    const { value, warnings } = checkText(text, file, { env, connectors, readFile });
    const stallMs = longestStepMs(
      composeChecked(value, { env, connectors, readFile: readFrom(secretFiles) }),
    );
    if (stallMs > longestStallMs) throw wholeFileError(file, tooLarge, false);
    return { value: JSON.stringify(value), secretFiles, warnings };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { problems: error.problems, report: error.message, mayPass: error.mayPass };
  }
}

const tooLarge =
  'an action or a list here is so large that taking it over would hold up the service; make it smaller, or restart';

const readFrom = (files: ReadonlyMap<string, string>) => (path: string) => {
  const content = files.get(path);
  if (content === undefined) throw new Error('it could not be read');
  return content;
};

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
