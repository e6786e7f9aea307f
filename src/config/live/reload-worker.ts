import { parentPort, workerData } from 'node:worker_threads';
import { connectors } from '../../../connectors/index.ts';
import { strings } from '../../support/json.ts';
import { ConfigError, type Problem } from '../config.ts';
import { checkText, compileConfig, type LoadOptions } from '../load.ts';
import { policyProblems } from '../policies/problems.ts';
import { configError, inOrder, wholeFileError } from '../text/problems.ts';
import { readFrom, readSecretFile } from '../text/files.ts';
import { changedOf, type FileMarks, mentionsReference, partsOf } from '../text/references.ts';

/** The thread that checks a changed config: it may take long, and a fault in it stops no request. */

/** What is asked of the other thread. */
export interface ReloadQuestion {
  readonly text: string;
  readonly file: string;
  readonly env: LoadOptions['env'];
  /** It is in force: only what `policyProblems` says of it is asked, and answered. */
  readonly isInForce?: true;
  /** Of the config in force, where that has this text, too. */
  readonly sameText?: { readonly planId: string; readonly files: FileMarks } | undefined;
}

/** All that it found out: what is wrong with the text, or what it says, with the files that its references name. */
export type ReloadAnswer =
  | { readonly problems: readonly Problem[]; readonly report: string; readonly mayPass: boolean }
  | {
      /** As JSON, which is taken over faster than the values themselves. */
      readonly value: string;
      readonly secretFiles: ReadonlyMap<string, string>;
      readonly warnings: readonly Problem[];
      /** They hold or not as in force, and were not proven again. */
      readonly policiesAsBefore: boolean;
    };

/** How long the main thread may take to compile it: nobody is answered meanwhile. */
const longestCompileMs = 1000;

function prove({ text, file, env }: ReloadQuestion): Problem[] {
  const { checked, at } = checkText(text, file, { env, connectors });
  const { plan, policies, values } = checked;
  return policyProblems({ plan: plan!, policies, at, mask: values.mask });
}

/** Whether only values changed that no policy asks for, as those of a sink's secrets. */
function asksTheSame(before: ReloadQuestion['sameText'], checked: ReturnType<typeof checkText>['checked']) {
  const { plan, source, config, values } = checked;
  // The catalog's table is in the plan; what other files say is not.
  if (before === undefined || plan!.id !== before.planId) return false;
  const asked = strings([source, config['policies'] ?? null], [], mentionsReference);
  const parts = asked.flatMap((one) => partsOf(one.text));
  const named = new Set(parts.map((part) => part.kind === 'reference' && part.reference.name));
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

/** Without waiting for a processor. */
function computedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

const question = workerData as ReloadQuestion;
// oxlint-disable-next-line require-post-message-target-origin -- that is of browsers
parentPort?.postMessage(question.isInForce ? prove(question) : check(question));
