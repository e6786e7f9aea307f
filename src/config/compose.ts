import type { AnyConnector } from '../connector.ts';
import { isMap, type Json, type JsonMap } from '../model.ts';
import { closest } from '../suggest.ts';
import { checkNoConnector, checkUnused } from './checks/checks.ts';
import { crossChecks } from './checks/cross-checks.ts';
import type { Fault, Report } from './fault.ts';
import { error, pathText, warning } from './fault.ts';
import { findSecrets, lateMasker, type FoundSecret } from './mask.ts';
import type { PlanSource } from './plan-source.ts';
import { actionsOf, entries, planKeys, planSource } from './plan-source.ts';
import { buildingPlan } from './plan.ts';
import type { Parts } from './parts.ts';
import { partsOf } from './references/references.ts';
import type { Surroundings } from './references/values.ts';
import { Values } from './references/values.ts';
import { unknownKey } from './schema/issues.ts';
import { scenarioSchema } from './schema/scenario.ts';
import type { Settings } from './schema/settings.ts';
import { settings } from './schema/settings.ts';
import type { Reading } from './schema/validate.ts';
import { validate } from './schema/validate.ts';
import { connectorOfSink, readSinks } from './sinks.ts';
import { runThrough, type Steps } from './steps.ts';
import { strings } from './walk.ts';

export interface LoadOptions extends Surroundings {
  readonly connectors: ReadonlyMap<string, AnyConnector>;
  /** The top keys where `${…}` may have no value: it stands as it is written, with a warning. For who sends nothing. */
  readonly mayLack?: readonly string[];
}

/** What a config's values come to. Without an error among `faults` it is complete. */
export interface Composed extends Parts {
  readonly faults: readonly Fault[];
  /** What nothing uses; not of interest where there are errors. */
  readonly unused: readonly Fault[];
  readonly mask: (text: string) => string;
  /** See Values. */
  readonly isFileMissing: boolean;
}

/** What a process needs of it. */
export type Running = Omit<Parts, 'scenarios'> & Pick<Composed, 'mask'>;

interface Composing extends Reading {
  readonly connectors: LoadOptions['connectors'];
  readonly mayLack?: readonly string[];
  readonly mask: (text: string) => string;
}

/** The keys that a config may have at its top. */
export const topKeys = [...Object.keys(settings), 'sinks', ...planKeys, 'scenarios', '$schema'];

/** Reads a config's values part by part, so that a fault in one of them hides no fault in another. */
export function compose(value: Json, options: LoadOptions): Composed {
  const values = new Values(options);
  const { faults, report } = collector(referenceFaults(value, values, options.mayLack));
  const config = readTop(value, report);
  const { connectors, mayLack = [] } = options;
  const { mask, learn } = lateMasker();
  const reading = { resolve: lenient(values), report, mask, connectors, mayLack };
  const parts = runThrough(readingParts(config, reading));
  const scenarios = readScenarios(config['scenarios'], reading);
  const secrets = secretsOf(parts);
  for (const fault of crossChecks(config, { ...parts, scenarios }, secrets)) report(fault);
  const unused = checkUnused(parts.source, parts.sinks.keys());
  values.keepNamed(value);
  learn(values.secretsAmong(secrets.map((secret) => secret.value)));
  return { ...parts, scenarios, faults, unused, mask, isFileMissing: values.isFileMissing };
}

/** What a process runs by, of values that were found to be without faults; nothing is checked but what reading takes. */
export function* composeChecked(value: Json, options: LoadOptions): Steps<Running> {
  const values = new Values(options);
  const report: Report = (fault) => {
    if (fault.severity === 'error') throw new Error(`${pathText(fault.path)}: ${fault.message}`);
  };
  const config = readTop(value, report);
  yield;
  const { mask, learn } = lateMasker();
  const reading = { resolve: lenient(values), report, mask, connectors: options.connectors };
  const parts = yield* readingParts(config, reading);
  yield;
  values.keepNamed(value);
  learn(values.secretsAmong(secretsOf(parts).map((secret) => secret.value)));
  return { ...parts, mask };
}

function* readingParts(config: JsonMap, reading: Composing): Steps<Omit<Parts, 'scenarios'>> {
  const source = readSource(config, reading);
  yield;
  const read = { settings: readSettings(config, reading), sinks: readSinks(config['sinks'], reading) };
  yield;
  const plan = config['rules'] === undefined ? null : yield* buildingPlan(source, reading);
  return { ...read, source, plan };
}

function secretsOf(parts: Pick<Parts, 'settings' | 'sinks'>): FoundSecret[] {
  const options = [...parts.sinks].map(([name, sink]) => [name, sink.options] as const);
  return [...findSecrets({ ...parts.settings, sinks: Object.fromEntries(options) })];
}

/** Collects faults. A value whose reference is at fault is not judged any further. */
function collector(first: readonly Fault[]): { faults: Fault[]; report: Report } {
  const faults = [...first];
  const unknowable = new Set(first.map(({ path }) => path.join('\0')));
  return { faults, report: (fault) => void (unknowable.has(fault.path.join('\0')) || faults.push(fault)) };
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
function lenient(values: Values): Reading['resolve'] {
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
  const sections = Object.entries(settings).flatMap(([key, schema]) => {
    const section = validate({ schema, raw: config[key] ?? {}, path: [key] }, reading);
    return section === undefined ? [] : [[key, section] as const];
  });
  return Object.fromEntries(sections);
}

function readSource(config: JsonMap, reading: Composing): PlanSource {
  for (const fault of checkNoConnector(actionsOf(config))) reading.report(fault);
  return planSource(config, (name) => {
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
