import { isMap, type Json } from '../model.ts';
import type { Composed, LoadOptions, Running } from './compose.ts';
import { compose, topKeys } from './compose.ts';
import type { CheckedConfig, Config, Place, Problem, Scenario } from './config.ts';
import { error, type Fault, type Path } from './fault.ts';
import { ruleActions } from './plan-source.ts';
import { configError, inOrder, maskProblem, wholeFileError } from './report.ts';
import type { Settings } from './schema/settings.ts';
import { parse } from './text/parse.ts';
import { problemOf } from './text/places.ts';
import { readText, type ReadText } from './text/read.ts';
import { Source } from './text/source.ts';

export type { LoadOptions };

/** Reads, checks and compiles a config file. Throws a ConfigError with everything that is wrong with it. */
export async function loadConfig(file: string, options: LoadOptions): Promise<CheckedConfig> {
  return parseConfig(textOf(await readText(file), file), file, options);
}

/**
 * What shows what would be sent needs no credentials, nor any other value from outside: what is missing stands as it is
 * written. Throws a ConfigError for what is wrong otherwise.
 */
export async function loadToShow(
  file: string,
  options: LoadOptions,
): Promise<Pick<Config, 'plan' | 'sinks' | 'mask'>> {
  return loadConfig(file, { ...options, mayLack: topKeys });
}

/** What plans deliveries, or judges them, needs no credentials, but all that its rules say. */
export async function loadToPlan(file: string, options: LoadOptions): Promise<PlanningConfig> {
  return loadConfig(file, { ...options, mayLack: ['sinks', 'receiver', 'admin'] });
}

export type PlanningConfig = Pick<Config, 'store' | 'plan' | 'planSource' | 'mask'>;

/** Throws a ConfigError where there is no text. */
export function textOf(read: ReadText, file: string): string {
  if ('text' in read) return read.text;
  throw wholeFileError(file, read.fault, true);
}

/**
 * Where a config's store is, though other parts of the file may be at fault: what came must be there to look at just
 * then. Throws a ConfigError where the store's own part, or the YAML, cannot be read.
 */
export async function loadStoreUrl(file: string, options: LoadOptions): Promise<string> {
  const read = await readText(file);
  const parsed = 'text' in read ? parse(new Source(read.text)) : null;
  if (!parsed?.tree || parsed.faults.length > 0) return (await loadConfig(file, options)).store.url;
  const { settings, faults } = compose(parsed.tree.value, options);
  const errors = faults.filter(({ severity }) => severity === 'error');
  // A misspelt `store` is a fault at the top, and its default would be another store.
  const isSound = errors.every(({ path }) => path[0] !== 'store' && path.length > 1);
  return settings.store && isSound ? settings.store.url : (await loadConfig(file, options)).store.url;
}

/** The sinks that a file names, whatever else is wrong with it; none where it cannot be read. */
export async function sinkNames(file: string): Promise<string[]> {
  const read = await readText(file);
  const tree = 'text' in read ? parse(new Source(read.text)).tree : null;
  const sinks = isMap(tree?.value) ? tree.value['sinks'] : undefined;
  return isMap(sinks) ? Object.keys(sinks) : [];
}

/** loadConfig without the reading; `file` is for messages only. */
export function parseConfig(text: string, file: string, options: LoadOptions): CheckedConfig {
  const { composed, warnings, at } = checkText(text, file, options);
  const config = toConfig(file, composed, warnings);
  const [places, scenarios] = [placedActions(composed, at), placedScenarios(composed, at)];
  return Object.freeze({ ...config, places, scenarios });
}

interface Checked {
  /** What the text says. */
  readonly value: Json;
  readonly composed: Composed;
  readonly warnings: readonly Problem[];
  readonly at: At;
}

/** Throws a ConfigError with everything that is wrong with a text. */
export function checkText(text: string, file: string, options: LoadOptions): Checked {
  const source = new Source(text);
  const { tree, faults } = parse(source);
  const broken = faults.map(({ range, message }) => source.problem('error', ...range, message));
  if (!tree) throw configError(file, broken);
  const composed = compose(tree.value, options);
  const { mask, isFileMissing: mayPass } = composed;
  const place = (fault: Fault): Problem => problemOf(fault, tree.root, source);
  const problems = [...broken, ...elsewhere(composed.faults.map(place), broken)];
  if (problems.some(({ severity }) => severity === 'error'))
    throw configError(file, problems, { mask, mayPass });
  const at = (path: Path): Place => {
    const { line, column, excerpt } = place(error(path, ''));
    return { line, column, excerpt: mask(excerpt) };
  };
  const warnings = inOrder([...problems, ...composed.unused.map(place)]);
  return { value: tree.value, composed, warnings: warnings.map((one) => maskProblem(one, mask)), at };
}

/** What is said about a line that is broken as YAML follows from that. */
function elsewhere(problems: readonly Problem[], broken: readonly Problem[]): Problem[] {
  const lines = new Set(broken.map(({ line }) => line));
  return problems.filter(({ line }) => !lines.has(line));
}

type At = (path: Path) => Place;

function placedActions({ plan, source }: Composed, at: At): CheckedConfig['places'] {
  const actions = [...(plan?.then.flat() ?? []), ...(plan?.unmatched ?? [])];
  // Without errors, each action that was written became one of the plan.
  const written = ruleActions(source);
  return new Map(actions.map((action, index) => [action, at(written[index]?.path ?? [])]));
}

function placedScenarios({ scenarios }: Composed, at: At): Scenario[] {
  return scenarios.map(({ path, scenario }) => ({
    ...(scenario as Pick<Scenario, 'event' | 'expect'>),
    ...at(path),
  }));
}

export function toConfig(
  file: string,
  { settings, sinks, source, plan, mask }: Running,
  warnings: readonly Problem[],
): Config {
  if (plan === null) throw new Error('a config without faults has a plan');
  const planSource = source as Json;
  return Object.freeze({ file, ...(settings as Settings), sinks, plan, planSource, warnings, mask });
}
