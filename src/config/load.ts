import { open } from 'node:fs/promises';
import type { AnyConnector } from '../connector.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import { type Path, pathText, strings } from '../support/json.ts';
import { runThrough, type Steps } from '../support/steps.ts';
import { closest } from '../support/text.ts';
import { checkNoConnector, checkUnused, crossChecks, type Parts } from './checks.ts';
import type { CheckedConfig, Config, Place, Problem, Scenario } from './config.ts';
import { findSecrets, type FoundSecret, lateMasker } from './mask.ts';
import { actionsOf, entries, planKeys, type PlanSource, toPlanSource, ruleActions } from './plan-source.ts';
import { buildingPlan } from './plan.ts';
import {
  configError,
  error,
  type Fault,
  inOrder,
  maskProblem,
  problemOf,
  type Report,
  Source,
  warning,
  wholeFileError,
} from './problems.ts';
import { noRegularFile, partsOf, type Surroundings, Values, withoutBlocking } from './references.ts';
import { type ReadScenario, scenarioSchema } from './scenarios.ts';
import { type Settings, settingSchemas } from './settings.ts';
import { connectorOfSink, readSinks } from './sinks.ts';
import { type Reading, unknownKey, validate } from './validate.ts';
import { parseYaml } from './yaml.ts';

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
 * One section, though other parts of the file may be at fault: what came must be there to look at just then. Throws a
 * ConfigError where the section itself, or the YAML, cannot be read.
 */
export async function loadSection<Key extends keyof Settings>(
  file: string,
  key: Key,
  options: LoadOptions,
): Promise<Settings[Key]> {
  const read = await readText(file);
  const parsed = 'text' in read ? parseYaml(new Source(read.text)) : null;
  if (!parsed?.tree || parsed.faults.length > 0) return (await loadConfig(file, options))[key];
  const { settings, faults } = compose(parsed.tree.value, options);
  const errors = faults.filter(({ severity }) => severity === 'error');
  // A misspelt `store` is a fault at the top, and its default would be another store.
  const isSound = errors.every(({ path }) => path[0] !== key && path.length > 1);
  return (isSound && settings[key]) || (await loadConfig(file, options))[key];
}

/** The sinks that a file names, whatever else is wrong with it; none where it cannot be read. */
export async function sinkNames(file: string): Promise<string[]> {
  const read = await readText(file);
  const tree = 'text' in read ? parseYaml(new Source(read.text)).tree : null;
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
  const { tree, faults } = parseYaml(source);
  const broken = faults.map(({ range, message }) => source.problem('error', ...range, message));
  if (!tree) throw configError(file, broken);
  const composed = compose(tree.value, options);
  const { mask, isFileMissing: mayPass } = composed;
  const place = (fault: Fault): Problem => problemOf(fault, tree, source);
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

export interface LoadOptions extends Surroundings {
  readonly connectors: ReadonlyMap<string, AnyConnector>;
  /** The top keys where `${…}` may have no value: it stands as it is written, with a warning. For who sends nothing. */
  readonly mayLack?: readonly string[];
}

/** What a config's values come to. Without an error among `faults` it is complete. */
export interface Composed extends Running {
  readonly scenarios: readonly { readonly path: Path; readonly scenario: ReadScenario }[];
  readonly faults: readonly Fault[];
  /** What nothing uses; not of interest where there are errors. */
  readonly unused: readonly Fault[];
  /** See Values. */
  readonly isFileMissing: boolean;
}

/** What a process needs of it. */
interface Running extends Parts {
  readonly mask: (text: string) => string;
}

interface ConfigReading extends Reading, Pick<LoadOptions, 'connectors' | 'mayLack'> {
  readonly mask: (text: string) => string;
}

/** The keys that a config may have at its top. */
const topKeys = [...Object.keys(settingSchemas), 'sinks', ...planKeys, 'scenarios', '$schema'];

/** Reads a config's values part by part, so that a fault in one of them hides no fault in another. */
function compose(value: Json, options: LoadOptions): Composed {
  const values = new Values(options);
  const { faults, report } = collector(referenceFaults(value, values, options.mayLack));
  const { config, reading, secrets, ...running } = runThrough(readingParts(value, values, report, options));
  const scenarios = readScenarios(config['scenarios'], reading);
  for (const fault of crossChecks(config, running, secrets)) report(fault);
  const unused = checkUnused(running.source, running.sinks.keys());
  return { ...running, scenarios, faults, unused, isFileMissing: values.isFileMissing };
}

/** What a process runs by, of values that were found to be without faults; nothing is checked but what reading takes. */
export function composeChecked(value: Json, options: LoadOptions): Steps<Running> {
  const report: Report = (fault) => {
    if (fault.severity === 'error') throw new Error(`${pathText(fault.path)}: ${fault.message}`);
  };
  return readingParts(value, new Values(options), report, options);
}

interface ReadParts extends Running {
  /** The top keys, as written. */
  readonly config: JsonMap;
  readonly reading: ConfigReading;
  readonly secrets: readonly FoundSecret[];
}

function* readingParts(
  value: Json,
  values: Values,
  report: Report,
  { connectors, mayLack = [] }: LoadOptions,
): Steps<ReadParts> {
  const config = readTop(value, report);
  yield;
  const { mask, learn } = lateMasker();
  const reading = { resolve: resolveOrKeep(values), report, mask, connectors, mayLack };
  const source = readSource(config, reading);
  yield;
  const settings = readSettings(config, reading);
  const sinks = readSinks(config['sinks'], reading);
  yield;
  const plan = config['rules'] === undefined ? null : yield* buildingPlan(source, reading);
  yield;
  const secrets = secretsOf(settings, sinks);
  values.keepNamed(value);
  learn(values.secretsAmong(secrets.map((secret) => secret.value)));
  return { config, reading, secrets, settings, sinks, source, plan, mask };
}

function secretsOf(settings: Parts['settings'], sinks: Parts['sinks']): FoundSecret[] {
  const options = [...sinks].map(([name, sink]) => [name, sink.options] as const);
  return [...findSecrets({ ...settings, sinks: Object.fromEntries(options) })];
}

/** Collects faults. A value whose reference is at fault is not judged any further. */
function collector(first: readonly Fault[]): { faults: Fault[]; report: Report } {
  const faults = [...first];
  const unresolved = new Set(first.map(({ path }) => path.join('\0')));
  return { faults, report: (fault) => void (unresolved.has(fault.path.join('\0')) || faults.push(fault)) };
}

function referenceFaults(value: Json, values: Values, mayLack: readonly string[] = []): Fault[] {
  return [...strings(value)].flatMap(({ text, path }) =>
    partsOf(text).flatMap((part) => {
      const resolved = part.kind === 'reference' ? values.resolve(part.reference) : part;
      const message = 'missing' in resolved ? resolved.missing : part.kind === 'fault' ? part.message : null;
      if (message === null) return [];
      const mayPass = 'missing' in resolved && mayLack.includes(String(path[0]));
      const fault = mayPass ? warning(path, message) : error(path, message);
      return [{ ...fault, inside: { index: part.index, length: part.length } }];
    }),
  );
}

/** What is missing has been reported; its own text stands in for it. */
function resolveOrKeep(values: Values): Reading['resolve'] {
  return (reference) => {
    const resolved = values.resolve(reference);
    return 'value' in resolved ? resolved.value : reference.text;
  };
}

const missingTop: Record<string, string> = {
  sinks: 'expected a map from names to sinks',
  rules: 'expected a list of rules',
};

/** The top keys that have a value; a section whose keys are all commented out counts as not given. */
function readTop(value: Json, report: Report): JsonMap {
  if (!isMap(value)) {
    const got = value === null ? 'the file is empty' : 'expected a map at the top';
    report(error([], `${got}; a config has keys such as sinks and rules`));
    return {};
  }
  const unknown = Object.keys(value).filter((key) => !topKeys.includes(key));
  for (const key of unknown) report(error([key], unknownKey(key, topKeys, []), 'key'));
  const given = Object.entries(value).filter(([, section]) => section !== null);
  const meant = new Set([...given.map(([key]) => key), ...unknown.map((key) => closest(key, topKeys))]);
  for (const key of ['sinks', 'rules'])
    if (!meant.has(key)) report(error([], `"${key}" is missing: ${missingTop[key]}`));
  return Object.fromEntries(given);
}

function readSettings(config: JsonMap, reading: Reading): Partial<Settings> {
  const sections = Object.entries(settingSchemas).flatMap(([key, schema]) => {
    const section = validate({ schema, raw: config[key] ?? {}, path: [key] }, reading);
    return section === undefined ? [] : [[key, section] as const];
  });
  return Object.fromEntries(sections);
}

function readSource(config: JsonMap, reading: ConfigReading): PlanSource {
  for (const fault of checkNoConnector(actionsOf(config))) reading.report(fault);
  return toPlanSource(config, (name) => {
    const sinks = config['sinks'];
    return isMap(sinks) ? connectorOfSink(sinks[name], reading)?.name : undefined;
  });
}

function readScenarios(raw: Json | undefined, reading: Reading): Composed['scenarios'] {
  if (raw !== undefined && !Array.isArray(raw))
    reading.report(error(['scenarios'], 'expected a list of scenarios'));
  return entries(raw).flatMap(([index, rawScenario]) => {
    const path = ['scenarios', index];
    const scenario = validate({ schema: scenarioSchema, raw: rawScenario, path }, reading);
    return scenario ? [{ path, scenario }] : [];
  });
}

const largestFileBytes = 16 * 1024 ** 2;

const refusals: Record<string, string> = {
  ENOENT: 'there is no such file; --config FILE or CONNECTOR_CONFIG names another one',
  EACCES: 'the file may not be read by this user',
  EPERM: 'the file may not be read by this user',
  EISDIR: 'this is a folder; the config is one YAML file',
  ENOTDIR: 'there is no such file: a part of its path is not a folder',
};

/** A file's text, or why it has none. */
export type ReadText = { readonly text: string } | { readonly fault: string };

/** `onlyRegular`: for a process that goes on, which a pipe would block and a device would fill. */
export async function readText(file: string, { onlyRegular = false } = {}): Promise<ReadText> {
  try {
    await using handle = await open(file, onlyRegular ? withoutBlocking : 'r');
    const stat = await handle.stat();
    if (onlyRegular && !stat.isFile() && !stat.isDirectory())
      return { fault: `${noRegularFile}; save it as one` };
    const chunks = await Array.fromAsync(
      handle.createReadStream({ end: largestFileBytes, autoClose: false }),
    );
    return decode(Buffer.concat(chunks as Buffer[]));
  } catch (thrown) {
    const { code = '', message } = thrown as NodeJS.ErrnoException;
    return { fault: refusals[code] ?? `the file cannot be read: ${message}` };
  }
}

function decode(bytes: Buffer): ReadText {
  if (bytes.length > largestFileBytes) return { fault: 'the file is larger than 16 MB' };
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { fault: 'the file is not UTF-8 text; save it as UTF-8' };
  }
}
