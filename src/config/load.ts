import type { AnyConnector } from '../connector.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import { pathText, strings } from '../support/json.ts';
import { findSecrets, type FoundSecret, type Mask } from '../support/secret.ts';
import { closest } from '../support/text.ts';
import { checkNoConnector, checkUnused, crossChecks, type Parts } from './checks.ts';
import type { CheckedConfig, Config, Problem, Scenario } from './config.ts';
import { literalSecrets } from './literals.ts';
import { actionsOf, entries, planKeys, type PlanSource, toPlanSource } from './plan-source.ts';
import { readText, type ReadText } from './text/files.ts';
import { buildPlan } from './plan.ts';
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
} from './text/problems.ts';
import { mentionsReference, partsOf, type Surroundings, Values } from './text/references.ts';
import { readScenarios } from './scenarios.ts';
import { type Settings, settingSchemas } from './settings.ts';
import { connectorOfSink, readSinks } from './sinks.ts';
import { type Reading, unknownKey, validate } from './text/validate.ts';

/** Reads, checks and compiles a config file. Throws a ConfigError with everything that is wrong with it. */
export async function loadConfig(file: string, options: LoadOptions): Promise<CheckedConfig> {
  return parseConfig(textOf(await readText(file), file), file, options);
}

/**
 * For commands that only show what would be sent: they need no credentials or other values from outside. A reference
 * without a value stays as it is written.
 */
export async function loadToShow(
  file: string,
  options: LoadOptions,
): Promise<Pick<Config, 'plan' | 'sinks' | 'mask'>> {
  return loadConfig(file, { ...options, lenientKeys: topKeys, hidesLenient: true });
}

const noFile = (): string => {
  throw new Error('it is not looked at');
};

/** A text that somebody tries: nothing outside of it is read, and that its references have no values is no fault. */
export function parseToTry(
  text: string,
  file: string,
  { connectors }: Pick<LoadOptions, 'connectors'>,
): CheckedConfig {
  return parseConfig(text, file, {
    env: {},
    connectors,
    readFile: noFile,
    lenientKeys: topKeys,
    hidesLenient: true,
  });
}

/** For commands that plan deliveries or compare plans: they need every value of the rules, but no credentials. */
export async function loadToPlan(file: string, options: LoadOptions): Promise<PlanningConfig> {
  return loadConfig(file, { ...options, lenientKeys: ['sinks', 'receiver', 'admin'], hidesLenient: true });
}

export type PlanningConfig = Pick<Config, 'store' | 'plan' | 'planSource' | 'mask'>;

/**
 * One section. Faults in other sections do not matter: stored events must stay readable while the config is broken.
 * Throws a ConfigError if the YAML or the section itself has faults.
 */
export async function loadSection<Key extends keyof Settings>(
  file: string,
  key: Key,
  options: LoadOptions,
): Promise<Settings[Key]> {
  const read = await readText(file);
  const parsed = 'text' in read ? new Source(read.text).parsed : null;
  if (!parsed?.tree || parsed.faults.length > 0) return (await loadConfig(file, options))[key];
  const { parts, faults } = checkValue(parsed.tree.value, options);
  const errors = faults.filter(({ severity }) => severity === 'error');
  // An unknown top key may be a misspelt `store`. Its default would open another store.
  const isSound = errors.every(({ path }) => path[0] !== key && path.length > 1);
  return (isSound && parts.settings[key]) || (await loadConfig(file, options))[key];
}

/** The names of a file's sinks and rules, even if the config has faults. None if the file cannot be read. */
export async function namesIn(file: string): Promise<{ readonly sinks: string[]; readonly rules: string[] }> {
  const read = await readText(file);
  const tree = 'text' in read ? new Source(read.text).parsed.tree : null;
  const { sinks, rules } = isMap(tree?.value) ? tree.value : {};
  const named = entries(rules).map(([, rule]) => (isMap(rule) ? rule['name'] : undefined));
  return {
    sinks: isMap(sinks) ? Object.keys(sinks) : [],
    rules: named.filter((name) => typeof name === 'string'),
  };
}

/** The text that was read. Throws a ConfigError if there is none. */
export function textOf(read: ReadText, file: string): string {
  if ('text' in read) return read.text;
  throw wholeFileError(file, read.fault, true);
}

export interface LoadOptions extends Surroundings {
  readonly connectors: ReadonlyMap<string, AnyConnector>;
  /** Top keys under which a `${…}` without a value is only a warning. It stays as it is written. */
  readonly lenientKeys?: readonly string[];
  /** Without these warnings. */
  readonly hidesLenient?: boolean;
}

/** loadConfig without reading the file; `file` is only for messages. */
export function parseConfig(text: string, file: string, options: LoadOptions): CheckedConfig {
  const { checked, warnings, at } = checkText(text, file, options);
  const { parts, scenarios, values } = checked;
  return Object.freeze({
    ...toConfig(file, parts, warnings, values.mask),
    at,
    scenarios,
  });
}

interface CheckedText {
  /** The YAML's value. */
  readonly value: Json;
  readonly checked: CheckedValue;
  readonly warnings: readonly Problem[];
  readonly at: CheckedConfig['at'];
}

/** Throws a ConfigError with everything that is wrong with a text. */
export function checkText(text: string, file: string, options: LoadOptions): CheckedText {
  const source = new Source(text);
  const { tree, faults } = source.parsed;
  const placed = (known: Mask) =>
    faults.map(({ range, message }) => source.problem('error', range, message, known));
  if (!tree)
    throw configError(
      file,
      placed((unmasked) => unmasked),
    );
  const checked = checkValue(tree.value, options);
  const { mask, isFileMissing } = checked.values;
  const broken = placed(mask);
  const place = (fault: Fault): Problem => problemOf(fault, tree, source, mask);
  // Other faults of a line that is broken as YAML are consequences.
  const breaking = broken.filter((_one, index) => faults[index]?.standsAlone !== true);
  const brokenLines = new Set(breaking.map(({ line }) => line));
  const problems = [...broken, ...checked.faults.map(place).filter(({ line }) => !brokenLines.has(line))];
  if (problems.some(({ severity }) => severity === 'error'))
    throw configError(file, problems, { mask, mayPass: isFileMissing });
  const warnings = inOrder([...problems, ...checked.unused.map(place)]);
  const at: CheckedConfig['at'] = (path, what) => {
    const { line, column, excerpt } = place(error(path, '', what));
    return { line, column, excerpt: mask(excerpt) };
  };
  return { value: tree.value, checked, warnings: warnings.map((one) => maskProblem(one, mask)), at };
}

/** Complete if there is no error among `faults`. */
interface CheckedValue {
  readonly parts: Parts;
  readonly scenarios: readonly Scenario[];
  readonly faults: readonly Fault[];
  /** Warnings about what nothing uses. Only for a config without errors. */
  readonly unused: readonly Fault[];
  readonly values: Values;
}

/** Reads a config part by part, so that a fault in one part hides none in another. */
function checkValue(value: Json, options: LoadOptions): CheckedValue {
  const values = new Values(options);
  const { faults, report } = collector(
    referenceFaults(value, values, options.lenientKeys),
    options.hidesLenient,
  );
  const config = readTop(value, report);
  const reading = configReading(values, report, options);
  const parts = readParts(config, reading);
  const secrets = secretsOf(config, parts);
  values.learnSecrets(value, secrets);
  const scenarios = readScenarios(config, reading);
  for (const fault of crossChecks(config, parts, secrets)) report(fault);
  return { parts, scenarios, faults, unused: checkUnused(parts.source, parts.sinks.keys()), values };
}

/** Compiles a value that checkText found to be without errors. */
export function compileConfig(
  value: Json,
  file: string,
  warnings: readonly Problem[],
  options: LoadOptions,
): Config {
  const values = new Values(options);
  const report: Report = ({ severity, path, message }) => {
    if (severity === 'error') throw new Error(`${pathText(path)}: ${message}`);
  };
  const config = readTop(value, report);
  const parts = readParts(config, configReading(values, report, options));
  values.learnSecrets(value, secretsOf(config, parts));
  return toConfig(file, parts, warnings, values.mask);
}

function toConfig(
  file: string,
  { settings, sinks, source, plan }: Parts,
  warnings: readonly Problem[],
  mask: Mask,
): Config {
  if (plan === null) throw new Error('a config without errors has a plan');
  const planSource = source as Json;
  return Object.freeze({ file, ...(settings as Settings), sinks, plan, planSource, warnings, mask });
}

/** The keys that a config may have at its top. */
const topKeys = [...Object.keys(settingSchemas), 'sinks', ...planKeys, 'scenarios', '$schema'];

interface ConfigReading extends Reading {
  readonly mask: Mask;
  readonly connectors: LoadOptions['connectors'];
  readonly keepPartialSinks: boolean;
}

function configReading(
  values: Values,
  report: Report,
  { connectors, lenientKeys = [] }: LoadOptions,
): ConfigReading {
  return {
    // A missing value has been reported. The reference stays as it is written.
    resolve(reference) {
      const resolved = values.resolve(reference);
      return 'value' in resolved ? resolved.value : reference.text;
    },
    report,
    mask: values.mask,
    connectors,
    keepPartialSinks: lenientKeys.includes('sinks'),
  };
}

function readParts(config: JsonMap, reading: ConfigReading): Parts {
  const source = readSource(config, reading);
  const settings = readSettings(config, reading);
  const sinks = readSinks(config['sinks'], reading);
  const plan = config['rules'] === undefined ? null : buildPlan(source, reading);
  return { settings, sinks, source, plan };
}

function secretsOf(config: JsonMap, { settings, sinks, source }: Parts): FoundSecret[] {
  const options = [...sinks].map(([name, sink]) => [name, sink.options] as const);
  const known = findSecrets({ ...settings, sinks: Object.fromEntries(options) });
  return [...known, ...literalSecrets(config, source)];
}

/** Collects faults. Other faults of a value whose reference is at fault are consequences. */
function collector(first: readonly Fault[], hidesWarnings = false): { faults: Fault[]; report: Report } {
  const faults = first.filter(({ severity }) => !hidesWarnings || severity === 'error');
  const unresolved = new Set(first.map(({ path }) => path.join('\0')));
  return { faults, report: (fault) => void (unresolved.has(fault.path.join('\0')) || faults.push(fault)) };
}

function referenceFaults(value: Json, values: Values, lenientKeys: readonly string[] = []): Fault[] {
  return strings(value, [], mentionsReference).flatMap(({ text, path }) =>
    partsOf(text).flatMap((part) => {
      const resolved = part.kind === 'reference' ? values.resolve(part.reference) : part;
      const message = 'missing' in resolved ? resolved.missing : part.kind === 'fault' ? part.message : null;
      if (message === null) return [];
      const isLenient = 'missing' in resolved && lenientKeys.includes(String(path[0]));
      const fault = isLenient ? warning(path, message) : error(path, message);
      return [{ ...fault, inside: { index: part.index, length: part.length } }];
    }),
  );
}

const missingTop: Record<string, string> = {
  sinks: 'expected a map from names to sinks',
  rules: 'expected a list of rules',
};

/** The top keys that have a value. A section whose keys are all commented out is null, and counts as not given. */
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
  for (const key of ['sinks', 'rules']) if (!meant.has(key)) report(missing(key, Object.hasOwn(value, key)));
  return Object.fromEntries(given);
}

const missing = (key: string, isEmpty: boolean): Fault =>
  isEmpty
    ? error([key], `"${key}" is empty: ${missingTop[key]}`)
    : error([], `"${key}" is missing: ${missingTop[key]}`);

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
