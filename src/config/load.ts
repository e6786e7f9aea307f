import { dirname } from 'node:path';
import type { AnyConnector } from '../connector.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import type { Plan } from '../rules/plan.ts';
import { type Path, pathText, strings, valueAt } from '../support/json.ts';
import { findSecrets, type Mask } from '../support/secret.ts';
import { closest } from '../support/text.ts';
import { unknownKey } from './advice/keys.ts';
import { cutTexts, messageSlips } from './advice/messages.ts';
import { catalogKeySlips, domainSlips } from './advice/spellings.ts';
import { oddValues, textSlips } from './advice/texts.ts';
import { checkAlertSinks, checkBareNotices, checkSilence, checkSummary } from './alerts.ts';
import { checkCatalogUse } from './catalog.ts';
import type { CheckedConfig, Config } from './config.ts';
import { checkDigestFacts, checkDigestRetention } from './hours.ts';
import { buildPlan } from './build-plan.ts';
import { readPolicies, whensOfPolicies } from './policies/policies.ts';
import { actionsOf, entries, planKeys, sinkOf, toPlanSource } from './plan-source.ts';
import { readLookupSinks } from './lookups/lookup-sinks.ts';
import { readScenarios } from './scenarios.ts';
import { readSettings, type Settings, settingSchemas } from './settings.ts';
import {
  checkRefreshTokens,
  connectorOfSink,
  inheritedOf,
  readSinks,
  type SinkConfig,
  unknownSink,
} from './sinks.ts';
import { checkLiteralSecrets, literalSecrets } from './secrets/literal.ts';
import { withCatalogOf } from './text/catalog-table.ts';
import { hiddenMark } from './secrets/editable.ts';
import { readText, type ReadText } from './text/files.ts';
import {
  commaHint,
  configError,
  error,
  type Fault,
  inOrder,
  maskProblem,
  type Problem,
  problemOf,
  type Report,
  Source,
  warning,
  wholeFileError,
} from './text/problems.ts';
import { interpolateText, referenceFaults, type Surroundings, Values } from './text/references.ts';
import { hashWordLength } from './text/yaml-faults.ts';

export interface LoadOptions extends Surroundings {
  readonly connectors: ReadonlyMap<string, AnyConnector>;
  /** Top keys under which a `${…}` may have no value. It then stays as it is written. */
  readonly lenientKeys?: readonly string[];
  /** The catalog to use in place of a table, which is then not read. */
  readonly catalogInForce?: Json;
  /** Values that a page has hidden are accepted. */
  readonly mayBeHidden?: true;
}

/** Reads, checks and compiles a config file. Throws a ConfigError with everything that is wrong with it. */
export async function loadConfig(file: string, options: LoadOptions): Promise<CheckedConfig> {
  return parseConfig(textOf(await readText(file), file), file, options);
}

/** Loads a config to show what would be sent. References need no values: one without a value stays as it is written. */
export async function loadToShow(
  file: string,
  options: LoadOptions,
): Promise<Pick<CheckedConfig, 'plan' | 'sinks' | 'mask' | 'policies' | 'at'>> {
  return loadConfig(file, { ...options, lenientKeys: topKeys });
}

/** Loads a config to plan deliveries or to compare plans. The rules need every value, but credentials need none. */
export async function loadToPlan(file: string, options: LoadOptions): Promise<PlanningConfig> {
  return loadConfig(file, { ...options, lenientKeys: ['sinks', 'lookups', 'receiver', 'admin'] });
}

export type PlanningConfig = Pick<Config, 'store' | 'idempotency' | 'plan' | 'planSource' | 'mask'>;

/** Parses a text that somebody tries on a page. Nothing outside it is read; references need no values. */
export function parseToTry(
  text: string,
  file: string,
  { connectors, catalogInForce }: Required<Pick<LoadOptions, 'connectors' | 'catalogInForce'>>,
): CheckedConfig {
  const readFile = (): string => {
    throw new Error('it is not looked at');
  };
  return parseConfig(text, file, {
    env: {},
    connectors,
    readFile,
    lenientKeys: topKeys,
    catalogInForce,
    mayBeHidden: true,
  });
}

/**
 * Loads one section. Faults in others do not matter: stored events must stay readable while the config is broken. Throws a
 * ConfigError if the YAML or the section itself has faults.
 */
export async function loadSection<Key extends keyof Settings>(
  file: string,
  key: Key,
  options: LoadOptions,
): Promise<Settings[Key]> {
  const read = await readText(file);
  const parsed = 'text' in read ? new Source(read.text).parsed : null;
  if (parsed?.tree && parsed.faults.length === 0) {
    const { settings, faults } = checkValue(parsed.tree.value, file, options);
    const errors = faults.filter(({ severity }) => severity === 'error');
    // An unknown top key may be a misspelt `store`, if there is none. Its default would open another store.
    const isThere = valueAt(parsed.tree.value, [key]) !== undefined;
    const isSound = errors.every(({ path }) => path[0] !== key && (isThere || path.length > 1));
    if (isSound && settings[key]) return settings[key];
  }
  return (await loadConfig(file, options))[key];
}

/** Reads the names of a file's parts, even from a config with faults. None if the file cannot be read. */
export async function namesIn(
  file: string,
): Promise<{ readonly [part in 'sinks' | 'lookups' | 'rules']: string[] }> {
  const read = await readText(file);
  const tree = 'text' in read ? new Source(read.text).parsed.tree : null;
  const { sinks, lookups, rules } = isMap(tree?.value) ? tree.value : {};
  const named = entries(rules).map(([, rule]) => valueAt(rule, ['name']));
  return {
    sinks: isMap(sinks) ? Object.keys(sinks) : [],
    lookups: isMap(lookups) ? Object.keys(lookups) : [],
    rules: named.filter((name) => typeof name === 'string'),
  };
}

/** The text that was read. Throws a ConfigError if there is none. */
export function textOf(read: ReadText, file: string): string {
  if ('text' in read) return read.text;
  throw wholeFileError(file, read.fault, true);
}

/** Checks and compiles a config's text; `file` is only for messages. Throws a ConfigError. */
export function parseConfig(text: string, file: string, options: LoadOptions): CheckedConfig {
  const { checked, warnings, at } = checkText(text, file, options);
  return Object.freeze({ ...toConfig(file, checked, warnings), at, scenarios: checked.scenarios });
}

/** Checks a text. Returns its value and the parts read from it. Throws a ConfigError with all faults. */
export function checkText(text: string, file: string, options: LoadOptions) {
  const source = new Source(text);
  const { tree, faults } = source.parsed;
  const placed = (known: Mask) =>
    faults.map(({ range, message }) => source.problem('error', range, message, known));
  if (!tree)
    throw configError(
      file,
      placed((unmasked) => unmasked),
    );
  const checked = checkValue(tree.value, file, options);
  const { mask } = checked.values;
  const broken = placed(mask);
  const place = (fault: Fault): Problem => problemOf(fault, tree, source, mask);
  // Other faults of a line that is broken as YAML follow from that.
  const breaking = broken.filter((_one, index) => faults[index]?.standsAlone !== true);
  const brokenLines = new Set(breaking.map(({ line }) => line));
  const isConsequence = (one: Problem): boolean => one.file === undefined && brokenLines.has(one.line);
  const others = checked.faults.map(place).filter((one) => !isConsequence(one));
  // Where such a key is an error, that one says so already.
  const cutOff = tree.afterCommas
    .map((range) => source.problem('warning', range, commaHint, mask))
    .filter((one) => ![...broken, ...others].some((other) => other.line === one.line && isError(other)));
  const problems = [...broken, ...others, ...cutOff];
  if (problems.some(isError)) throw configError(file, problems, { mask, mayPass: mayPass(checked) });
  const unused = checkUnused(checked);
  const cut = cutTexts(checked.source, checked.sinks, (path) => {
    const { scalar } = tree.placeOf(path);
    const end = scalar?.type === 'PLAIN' ? (scalar.range?.[1] ?? text.length) : text.length;
    const sign = end + /^[ \t]*/.exec(text.slice(end, end + 80))![0].length;
    return sign > end && hashWordLength(text, sign) > 0;
  });
  const warnings = inOrder([...problems, ...[...unused, ...cut].map(place)]).map((one) =>
    maskProblem(one, mask),
  );
  const at: CheckedConfig['at'] = (path, what) => {
    const { line, column, excerpt } = place(error(path, '', what));
    return { line, column, excerpt: mask(excerpt) };
  };
  return { value: tree.value, checked, warnings, at };
}

const isError = ({ severity }: Pick<Problem, 'severity'>): boolean => severity === 'error';

/** Whether the fault is in another file, so that it may pass without a change of the config. */
const mayPass = ({ values, faults }: ReturnType<typeof checkValue>): boolean =>
  values.isFileMissing ||
  faults.some(({ severity, path }) => severity === 'error' && path.join('.') === 'catalog.file');

/** Warns of sinks, hours and look-ups that nothing uses. Only for a config without errors: a misspelt name may mean one of them. */
function checkUnused({ source, sinks, plan }: ReturnType<typeof readParts>): Fault[] {
  const unused = (section: 'sinks' | 'hours', key: 'sink' | 'hours', names: Iterable<string>): Fault[] => {
    const used = new Set(actionsOf(source).map(({ action }) => valueAt(action, [key])));
    return [...names]
      .filter((name) => !used.has(name))
      .map((name) => warning([section, name], `no action uses the ${key} "${name}"`, 'key'));
  };
  const hoursNames = isMap(source.hours) ? Object.keys(source.hours) : [];
  const idle = Object.keys(isMap(source.lookups) ? source.lookups : {}).filter(
    (name) => !plan?.lookups.has(name),
  );
  return [
    ...unused('sinks', 'sink', sinks.keys()),
    ...unused('hours', 'hours', hoursNames),
    ...idle.map((name) =>
      warning(['lookups', name], `nothing uses the facts of "${name}", so it is not looked up`, 'key'),
    ),
  ];
}

/** Reads a config part by part, so that a fault in one part hides none in another. */
function checkValue(value: Json, file: string, options: LoadOptions) {
  const values = new Values(options);
  const missing = [...referenceFaults(value, values, options.lenientKeys)];
  const faults = missing.filter(({ severity }) => severity === 'error');
  const hidden = strings(value, [], (text) => text.includes(hiddenMark));
  if (!options.mayBeHidden) faults.push(...hidden.map(({ path }) => error(path, isHidden)));
  const unresolved = new Set([...missing, ...hidden].map(({ path }) => path.join('\0')));
  // Other faults of a value whose reference is at fault follow from that one.
  const report: Report = (fault) => void (unresolved.has(fault.path.join('\0')) || faults.push(fault));
  const parts = readParts(value, file, values, report, options);
  const { config, reading, settings, sinks, lookups, source, plan, secrets } = parts;
  const scenarios = readScenarios(config, source, sinks, reading);
  const unset = missing.filter(({ severity, path }) => severity === 'warning' && decides(path));
  const policies = readPolicies(config, source, { ...reading, sinks, unset });
  const sinkNames = isMap(config['sinks']) ? Object.keys(config['sinks']) : null;
  for (const fault of [
    ...(sinkNames ? actionsOf(source) : []).flatMap((one) =>
      sinkOf(one).flatMap((name) => unknownSink(name, [...one.path, 'sink'], sinkNames!)),
    ),
    ...oddValues(value, values),
    ...checkCatalogUse(
      source,
      whensOfPolicies(config),
      faults.some(({ path }) => path[0] === 'catalog'),
    ),
    ...checkAlertSinks(source, sinks),
    ...checkBareNotices(source, sinks),
    ...checkDigestRetention(source, settings),
    ...checkDigestFacts(source, plan),
    ...checkRefreshTokens(
      [
        ...Array.from(sinks, ([name, { options: of }]) => ({ path: ['sinks', name], options: of })),
        ...Array.from(lookups.values(), (one) => ({ path: ['lookups', one.lookup], options: one.options })),
      ],
      settings,
    ),
    ...checkSilence(plan, settings),
    ...checkSummary(plan, settings),
    ...checkLiteralSecrets(config, secrets, valueAt(value, ['catalog', 'file']) !== undefined),
    ...textSlips(config),
    ...messageSlips(config['lookups'], source, sinks),
    ...domainSlips(config),
    ...catalogKeySlips(source),
  ])
    report(fault);
  return { ...parts, scenarios, policies, faults };
}

const isHidden = 'this is what the page Rules shows in place of a secret; write the value itself, or ${NAME}';

/** Whether a value decides which rules apply, rather than what is sent. */
const decides = ([top, , key]: Path): boolean =>
  top === 'catalog' || top === 'policies' || ((top === 'rules' || top === 'lookups') && key === 'when');

/** Compiles a value that checkText found to be without errors. */
export function compileConfig(
  value: Json,
  file: string,
  warnings: readonly Problem[],
  options: LoadOptions,
): Config {
  const report: Report = ({ severity, path, message }) => {
    if (severity === 'error') throw new Error(`${pathText(path)}: ${message}`);
  };
  const parts = readParts(value, file, new Values(options), report, options);
  const { config, source, reading, sinks } = parts;
  const policies = readPolicies(config, source, { ...reading, sinks, unset: [] });
  return toConfig(file, { ...parts, policies }, warnings);
}

function toConfig(
  file: string,
  parts: ReturnType<typeof readParts> & Pick<Config, 'policies'>,
  warnings: readonly Problem[],
): Config {
  const { settings, sinks, lookups, source, plan, policies, values } = parts;
  if (plan === null) throw new Error('a config without errors has a plan');
  const planSource = source as Json;
  const { mask } = values;
  return Object.freeze({
    file,
    ...(settings as Settings),
    sinks,
    lookups,
    plan,
    planSource,
    files: values.files,
    warnings,
    policies,
    mask,
  });
}

/** Reads the parts of a config, as far as they can be read. */
function readParts(
  value: Json,
  file: string,
  values: Values,
  report: Report,
  { connectors, lenientKeys = [], catalogInForce }: LoadOptions,
) {
  const reading = {
    // A missing value has been reported.
    resolve: values.orAsWritten,
    report,
    mask: values.mask,
    connectors,
    keepPartialSinks: lenientKeys.includes('sinks'),
  };
  const config = withCatalogOf(readTop(value, report), {
    folder: dirname(file),
    readFile: values.readFile,
    isLenient: lenientKeys.includes('catalog'),
    standIn: catalogInForce,
    reading,
  });
  // The sink names the connector. An action that named it too could contradict the sink.
  for (const { action, path } of actionsOf(config))
    if (isMap(action) && action['connector'] !== undefined)
      report(error([...path, 'connector'], 'unknown key "connector": it belongs to the sink', 'key'));
  const settings = readSettings(config, reading);
  const sinks: ReadonlyMap<string, SinkConfig> = readSinks(config['sinks'], reading);
  const source = toPlanSource(config, (name) => {
    const connector = connectorOfSink(valueAt(config['sinks'] ?? null, [name]), reading);
    return connector ? { ...inheritedOf(sinks.get(name)), connector: connector.name } : {};
  });
  const plan: Plan | null = config['rules'] === undefined ? null : buildPlan(source, reading);
  const testKeys = new Set(Object.keys(plan?.test(0) ?? {}));
  const lookups = readLookupSinks(config['lookups'], testKeys, reading);
  // The paths are those in the config.
  const options = {
    sinks: Object.fromEntries(Array.from(sinks, ([name, sink]) => [name, sink.options])),
    lookups: Object.fromEntries(Array.from(lookups.values(), (one) => [one.lookup, one.options])),
  };
  const read = (text: string) => interpolateText(text, values.orAsWritten);
  const secrets = [...findSecrets({ ...settings, ...options }), ...literalSecrets(config, source, read)];
  values.learnSecrets(value, secrets);
  return { config, reading, settings, sinks, lookups, source, plan, secrets, values };
}

/** The keys that a config may have at its top. */
const topKeys = [...Object.keys(settingSchemas), 'sinks', ...planKeys, 'scenarios', 'policies', '$schema'];

const needed = { sinks: 'expected a map from names to sinks', rules: 'expected a list of rules' };

/** Reads the top keys that have a value. A section whose keys are all commented out is null, and counts as missing. */
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
  for (const [key, expected] of Object.entries(needed)) {
    if (meant.has(key)) continue;
    const isEmpty = Object.hasOwn(value, key);
    report(
      isEmpty
        ? error([key], `"${key}" is empty: ${expected}`)
        : error([], `"${key}" is missing: ${expected}`),
    );
  }
  return Object.fromEntries(given);
}
