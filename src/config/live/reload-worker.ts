import { parentPort, workerData } from 'node:worker_threads';
import { connectors } from '../../../connectors/index.ts';
import { ConfigError, type Problem } from '../config.ts';
import { checkText, compileConfig, type LoadOptions } from '../load.ts';
import { policyProblems } from '../policies/problems.ts';
import { configError, inOrder, wholeFileError } from '../text/problems.ts';
import { readFrom, readSecretFile } from '../text/files.ts';
import { changedOf, type FileMarks, referencesIn } from '../text/references.ts';

/** The thread that checks a changed config: it may take long, and a fault in it stops no request. */

/** The question to the thread. */
export interface ReloadQuestion {
  readonly text: string;
  readonly file: string;
  readonly env: LoadOptions['env'];
  /** The text is in force: only its policies are proven, and the answer is their problems. */
  readonly isInForce?: true;
  /** The plan and files of the config in force, if it has the same text. */
  readonly sameText?: { readonly planId: string; readonly files: FileMarks } | undefined;
}

/** The answer: what is wrong with the text, or its value, with the files that its references name. */
export type ReloadAnswer =
  | { readonly problems: readonly Problem[]; readonly report: string; readonly mayPass: boolean }
  | {
      /** JSON, which passes between threads faster than the value itself. */
      readonly value: string;
      readonly secretFiles: ReadonlyMap<string, string>;
      readonly warnings: readonly Problem[];
      /** The policies were not proven again: what is known of those in force holds for them. */
      readonly policiesAsBefore: boolean;
    };

/** How long compiling may block the main thread, which answers nobody meanwhile. */
const longestCompileMs = 1000;

function prove({ text, file, env }: ReloadQuestion): Problem[] {
  const { checked, at } = checkText(text, file, { env, connectors });
  const { plan, policies, values } = checked;
  return policyProblems({ plan: plan!, policies, at, mask: values.mask });
}

/** Whether only values changed that no policy depends on, such as a sink's secrets. */
function asksTheSame(before: ReloadQuestion['sameText'], checked: ReturnType<typeof checkText>['checked']) {
  const { plan, source, config, values } = checked;
  // The plan has the catalog's table, but not the contents of other files.
  if (before === undefined || plan!.id !== before.planId) return false;
  const asked = referencesIn([source, config['policies'] ?? null]);
  const named = new Set(Array.from(asked, ({ part }) => part.kind === 'reference' && part.reference.name));
  return changedOf(before.files, values.files).every((path) => !named.has(path));
}

function check({ text, file, env, sameText }: ReloadQuestion): ReloadAnswer {
  const secretFiles = new Map<string, string>();
  const readFile = (path: string): string => {
    const content = readSecretFile(path);
    secretFiles.set(path, content);
    return content;
  };
  try {
    const { value, checked, warnings, at } = checkText(text, file, {
      env,
      connectors,
      readFile,
      isRunning: true,
    });
    const { mask } = checked.values;
    const policiesAsBefore = asksTheSame(sameText, checked);
    const { policies } = checked;
    const problems = policiesAsBefore ? [] : policyProblems({ plan: checked.plan!, policies, at, mask });
    if (problems.some(({ severity }) => severity === 'error'))
      throw configError(file, [...problems, ...warnings], { mask });
    const before = computedMs();
    const all = inOrder([...warnings, ...problems]);
    compileConfig(value, file, all, { env, connectors, readFile: readFrom(secretFiles) });
    if (computedMs() - before > longestCompileMs) throw wholeFileError(file, tooLarge, false);
    return { value: JSON.stringify(value), secretFiles, warnings: all, policiesAsBefore };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { problems: error.problems, report: error.message, mayPass: error.mayPass };
  }
}

const tooLarge =
  'the file is so large that taking it over would hold up the service for more than a second; make it smaller, or restart';

/** Milliseconds of processor time that this thread has used. */
function computedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

const question = workerData as ReloadQuestion;
// oxlint-disable-next-line require-post-message-target-origin -- that is of browsers
parentPort?.postMessage(question.isInForce ? prove(question) : check(question));
