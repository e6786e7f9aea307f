import { mayRotate } from '../connector.ts';
import { isLoopback, sameHost } from '../http/addresses.ts';
import { type AlertKind, isMap, type Json, type JsonMap } from '../model.ts';
import { show } from '../rules/conditions.ts';
import { testKeys } from '../rules/fields.ts';
import type { Plan } from '../rules/plan.ts';
import { type Path, strings, valueAt } from '../support/json.ts';
import { type FoundSecret, namesSecret } from '../support/secret.ts';
import { didYouMean, didYouMeanOneOf, memo } from '../support/text.ts';
import type { SinkConfig } from './config.ts';
import {
  actionsOf,
  alertActions,
  entries,
  type PlanSource,
  ruleActions,
  type WrittenAction,
} from './plan-source.ts';
import { error, type Fault, warning } from './text/problems.ts';
import { hasReference, partsOf, looksLikePath } from './text/references.ts';
import { findSlips } from './slips.ts';
import type { Settings } from './settings.ts';
import { durationText, parseDuration } from './text/units.ts';
import { unknownKey } from './text/validate.ts';

/** The parts of a config, as far as they could be read. */
export interface Parts {
  readonly settings: Partial<Settings>;
  readonly sinks: ReadonlyMap<string, SinkConfig>;
  readonly source: PlanSource;
  readonly plan: Plan | null;
}

/** Checks parts of a config against each other. `config` is as written. */
export function crossChecks(
  config: JsonMap,
  { settings, sinks, source, plan }: Parts,
  secrets: readonly FoundSecret[],
): Fault[] {
  const checkSinkUse = (names: readonly string[]): Fault[] => [
    ...checkSinkNames(actionsOf(source), names),
    ...checkExpectations(config['scenarios'], names, sinks),
  ];
  const sinkNames = isMap(config['sinks']) ? Object.keys(config['sinks']) : null;
  return [
    ...checkSettings(settings),
    ...(sinkNames ? checkSinkUse(sinkNames) : []),
    ...checkCatalogUse(source),
    ...checkAlertSinks(source, sinks),
    ...checkDigests(source, settings),
    ...checkRefreshTokens(sinks, settings),
    ...checkSilence(plan, settings),
    ...checkLiteralSecrets(config, secrets),
    ...findSlips(config, source, sinks),
  ];
}

function checkSettings({ receiver, admin, store, idempotency }: Partial<Settings>): Fault[] {
  const faults: Fault[] = [];
  if (admin && admin.password === null && !isLoopback(admin.host))
    faults.push(
      error(['admin'], `admin.password is needed, because other machines can reach ${admin.host}`, 'key'),
    );
  if (
    receiver &&
    admin &&
    receiver.port === admin.port &&
    receiver.port !== 0 &&
    sameHost(receiver.host, admin.host)
  )
    faults.push(
      error(['admin', 'port'], `port ${admin.port} is the receiver's too; the two need ports of their own`),
    );
  if (store && idempotency && store.retentionMs < idempotency.windowMs)
    faults.push(
      error(
        ['store', 'retention'],
        'events would be deleted before the idempotency window ends; keep them longer',
      ),
    );
  return faults;
}

/** Digests that collect for longer than their events are kept. */
function checkDigests(source: PlanSource, { store }: Partial<Settings>): Fault[] {
  return ruleActions(source).flatMap(({ action, path }) => {
    const every = valueAt(action, ['digest', 'every']);
    const everyMs = typeof every === 'string' ? parseDuration(every) : null;
    if (!store || everyMs === null || everyMs <= store.retentionMs) return [];
    const message = 'this is longer than events are kept; collect for less, or raise store.retention';
    return [error([...path, 'digest', 'every'], message)];
  });
}

/** Refresh tokens that are lost with a restart, if their server gives another one with each answer. */
function checkRefreshTokens(sinks: ReadonlyMap<string, SinkConfig>, { store }: Partial<Settings>): Fault[] {
  if (!store || store.secretKey !== null) return [];
  return [...sinks.values()].flatMap(({ name, options }) => {
    if (!mayRotate(options)) return [];
    const message =
      'if the server gives another refresh token with each answer, the newest is lost at a restart: set store.secretKey (32 bytes in base64), or use client credentials';
    return [warning(['sinks', name, 'auth', 'oauth2', 'refreshToken'], message, 'key')];
  });
}

/** A silence alert counts from the newest event, which must not be deleted before. */
function checkSilence(plan: Plan | null, { store }: Partial<Settings>): Fault[] {
  const silence = plan?.alerts.find(({ kind }) => kind === 'silence');
  if (!silence || !store || silence.afterMs < store.retentionMs) return [];
  const message = `the newest event may be deleted before ${durationText(silence.afterMs)} are over; take less, or raise store.retention`;
  return [error(['alerts', 'silence', 'after'], message)];
}

/** Actions with an unknown sink. */
function checkSinkNames(actions: readonly WrittenAction[], sinkNames: readonly string[]): Fault[] {
  return actions.flatMap(({ action, path }) =>
    isMap(action) ? unknownSink(action['sink'], [...path, 'sink'], sinkNames) : [],
  );
}

function unknownSink(name: Json | undefined, path: Path, sinkNames: readonly string[]): Fault[] {
  if (typeof name !== 'string' || sinkNames.includes(name)) return [];
  const instead = didYouMeanOneOf(name, sinkNames, 'name some under "sinks"');
  return [error(path, `there is no sink "${name}"${instead}`)];
}

/** The sink names the connector. An action that named it too could contradict the sink. */
export function checkNoConnector(actions: readonly WrittenAction[]): Fault[] {
  return actions.flatMap(({ action, path }) =>
    isMap(action) && action['connector'] !== undefined
      ? [error([...path, 'connector'], 'unknown key "connector": it belongs to the sink', 'key')]
      : [],
  );
}

/** Sinks and hours that no action names. Only for a config without errors: otherwise they may be what was meant. */
export function checkUnused(source: PlanSource, sinkNames: Iterable<string>): Fault[] {
  const unused = (section: 'sinks' | 'hours', key: 'sink' | 'hours', names: readonly string[]): Fault[] => {
    const used = new Set(actionsOf(source).map(({ action }) => valueAt(action, [key])));
    return names
      .filter((name) => !used.has(name))
      .map((name) => warning([section, name], `no action uses the ${key} "${name}"`, 'key'));
  };
  const hoursNames = isMap(source.hours) ? Object.keys(source.hours) : [];
  return [...unused('sinks', 'sink', [...sinkNames]), ...unused('hours', 'hours', hoursNames)];
}

/** Credentials in the file itself, which end up in backups and version control. */
function checkLiteralSecrets(config: Json, secrets: readonly FoundSecret[]): Fault[] {
  const found = secrets.filter(({ path }) => !isHarmlessHeader(path));
  return found.flatMap(({ path, value, inUrl }) => {
    const written = writtenText(config, path);
    if (written === null) return [];
    if (hasReference(written.text))
      return isFallback(written.text, value) ? [warning(written.path, standsIn)] : [];
    if (!inUrl && looksLikePath(written.text)) return [];
    const what =
      inUrl || written.path.length < path.length ? 'the credential in this URL' : 'this credential';
    return [
      warning(
        written.path,
        `${what} is written in the file; take it from \${NAME} or \${file:/path} instead`,
      ),
    ];
  });
}

const standsIn =
  'the variable is not set, and the default that is written here stands in for this credential';

/** A path is no credential, and neither are short words, such as `adc`. */
function isFallback(text: string, value: string): boolean {
  const isIt = partsOf(text).some((part) => part.kind === 'reference' && part.reference.fallback === value);
  return isIt && value.length >= 8 && !looksLikePath(value);
}

/** Any header of a sink may hold a credential, so all are masked. Only those named like one deserve a warning. */
const isHarmlessHeader = (path: Path): boolean =>
  path.at(-2) === 'headers' && !namesSecret(String(path.at(-1)));

/** The text that a parsed value came from. A schema may have split it into parts. */
function writtenText(config: Json, path: Path): { text: string; path: Path } | null {
  for (let length = path.length; length > 0; length -= 1) {
    const text = valueAt(config, path.slice(0, length));
    if (typeof text === 'string') return { text, path: path.slice(0, length) };
  }
  return null;
}

/** Sinks that scenarios expect and the config does not have, and keys that the sinks' actions do not have. */
function checkExpectations(
  scenarios: Json | undefined,
  sinkNames: readonly string[],
  sinks: ReadonlyMap<string, SinkConfig>,
): Fault[] {
  return entries(scenarios).flatMap(([index, scenario]) => {
    if (!isMap(scenario)) return [];
    const path = ['scenarios', index];
    const expectations = entries(scenario['expect']).map(([at, action]): WrittenAction => ({
      action,
      path: [...path, 'expect', at],
    }));
    const common = scenario['events'] === undefined ? ['sink'] : ['at', 'sink', 'events'];
    const compared = entries(scenario['sinks']).flatMap(([at, name]) =>
      unknownSink(name, [...path, 'sinks', at], sinkNames),
    );
    const unknownKeys = expectations.flatMap((expectation) => checkExpectedKeys(expectation, common, sinks));
    return compared.concat(checkSinkNames(expectations, sinkNames), unknownKeys);
  });
}

function checkExpectedKeys(
  { action, path }: WrittenAction,
  common: readonly string[],
  sinks: ReadonlyMap<string, SinkConfig>,
): Fault[] {
  const sink = isMap(action) ? sinks.get(action['sink'] as string) : undefined;
  if (!sink || !isMap(action)) return [];
  const known = [...common, ...Object.keys(sink.connector.action.shape as object)];
  return Object.keys(action)
    .filter((key) => !known.includes(key))
    .map((key) => error([...path, key], unknownKey(key, known, path), 'key'));
}

/** Conditions that never hold, and digest fields without effect, because the catalog has no such test or key. */
function checkCatalogUse(source: PlanSource): Fault[] {
  const { catalog, rules } = source;
  if (!isMap(catalog) || Object.keys(catalog).length === 0) return digestFields(source).flatMap(ofNoCatalog);
  const ids = new Set(Object.keys(catalog));
  const valuesOf = memo(100, (name): CatalogValues => {
    const listed = (entry: Json) => (isMap(entry) ? [entry[name] ?? []].flat() : []);
    const all = new Set(Object.values(catalog).flatMap(listed));
    return { all, words: Array.from(all, String) };
  });
  const written = Object.values(catalog).flatMap((entry) => (isMap(entry) ? Object.keys(entry) : []));
  const keys = [...new Set([...testKeys, ...written])];
  const ofRules = entries(rules).flatMap(([index, rule]) => {
    const conditions = isMap(rule) ? [...conditionsOf(rule['when'] ?? null, ['rules', index, 'when'])] : [];
    return conditions.flatMap(({ key, value, path }) => {
      if (key === 'testId') return unknownIds(value, path, ids);
      const unknown = unknownTestKey(key, path, keys, 'key');
      return unknown.length > 0 ? unknown : unknownValues({ key, value, path }, valuesOf);
    });
  });
  return [
    ...ofRules,
    ...digestFields(source).flatMap(({ field, path }) => unknownTestKey(field, path, keys)),
  ];
}

/** A field of a digest's `by`. */
interface DigestField {
  readonly field: string;
  readonly path: Path;
}

function ofNoCatalog({ field, path }: DigestField): Fault[] {
  if (!field.startsWith('test.') || field === 'test.id') return [];
  return [warning(path, `there is no catalog, so "${field}" has no values`)];
}

function digestFields(source: PlanSource): DigestField[] {
  return ruleActions(source).flatMap(({ action, path }) => {
    const by = valueAt(action, ['digest', 'by']);
    return strings(by ?? null).map((one) => ({
      field: one.text,
      path: [...path, 'digest', 'by', ...one.path],
    }));
  });
}

function unknownIds(value: Json, path: Path, ids: ReadonlySet<string>): Fault[] {
  return named(value, path).flatMap((one) =>
    typeof one.value !== 'number' || ids.has(String(one.value))
      ? []
      : [warning(one.path, `the catalog has no test ${one.value}${didYouMean(String(one.value), ids)}`)],
  );
}

/** What the entries of the catalog have in one key. */
interface CatalogValues {
  readonly all: ReadonlySet<Json>;
  readonly words: readonly string[];
}

/** Values that no test has in a key of its catalog entry. */
function unknownValues({ key, value, path }: Condition, valuesOf: (key: string) => CatalogValues): Fault[] {
  const name = /^test\.(.+)$/.exec(key)?.[1];
  if (name === undefined || name === 'id') return [];
  const { all, words } = valuesOf(name);
  const unknown = named(value, path).filter((one) => !all.has(one.value) && !hasReference(show(one.value)));
  if (unknown.length === 0 || words.some(hasReference)) return [];
  return unknown.map((one) => {
    const wanted = show(one.value);
    const same = [...all].find((listed) => show(listed) === wanted);
    const hint =
      same === undefined
        ? meantValue(wanted, words)
        : ` as ${kindOf(one.value)}; in the catalog it is ${kindOf(same)}`;
    return warning(one.path, `no test has ${name} "${wanted}"${hint}`);
  });
}

/** YAML makes text of it where it has quotes. */
const kindOf = (value: Json): string => (typeof value === 'string' ? 'text' : `a ${typeof value}`);

/** A value that begins as the wanted one, or is close to it. */
function meantValue(wanted: string, words: readonly string[]): string {
  const longer = words.find((word) => word.toLowerCase().startsWith(wanted.toLowerCase()));
  return longer === undefined ? didYouMean(wanted, words) : `; did you mean "${longer}"?`;
}

/** The values that a condition names, each with its path. */
function named(value: Json, path: Path): { value: Json; path: Path }[] {
  if (isMap(value))
    return Object.entries(value).flatMap(([operator, inner]) =>
      /^(in|not)$/.test(operator) ? named(inner, [...path, operator]) : [],
    );
  if (Array.isArray(value)) return entries(value).flatMap(([index, inner]) => named(inner, [...path, index]));
  return [{ value, path }];
}

function unknownTestKey(
  key: string,
  path: Path,
  keys: readonly string[],
  at: Fault['at'] = 'value',
): Fault[] {
  const name = /^test\.(.+)$/.exec(key)?.[1];
  if (name === undefined || keys.includes(name)) return [];
  return [warning(path, `no entry of the catalog has "${name}"${didYouMean(name, keys)}`, at)];
}

interface Condition {
  readonly key: string;
  readonly value: Json;
  readonly path: Path;
}

/** The conditions of a `when`, including those inside `all`, `any` and `not`. */
function* conditionsOf(when: Json, path: Path): Generator<Condition> {
  if (Array.isArray(when))
    for (const [index, inner] of entries(when)) yield* conditionsOf(inner, [...path, index]);
  if (!isMap(when)) return;
  for (const [key, value] of Object.entries(when)) {
    if (key === 'all' || key === 'any' || key === 'not') yield* conditionsOf(value, [...path, key]);
    else yield { key, value, path: [...path, key] };
  }
}

/** Alerts about a sink that are sent only through that same sink, or through what both need, such as one mail server. */
function checkAlertSinks(source: PlanSource, sinks: ReadonlyMap<string, AlertSink>): Fault[] {
  const used = new Set(ruleActions(source).flatMap(sinkOf));
  const holding = new Set([...used].filter((sink) => sinks.get(sink)?.onUnknown === 'hold'));
  const inTrouble: { readonly [kind in AlertKind]: ReadonlySet<string> } = {
    dead: used,
    held: holding,
    paused: used,
    config: new Set(),
    refused: new Set(),
    silence: new Set(),
  };
  return Object.entries(inTrouble).flatMap(([kind, mayFail]) => {
    const actions = alertActions(source, kind);
    const fault = faultOfWays([...new Set(actions.flatMap(sinkOf))], mayFail, sinks);
    return fault === null ? [] : actions.map(({ path }) => fault([...path, 'sink']));
  });
}

/** `ways`: the sinks that an alert is sent through. */
function faultOfWays(
  ways: readonly string[],
  mayFail: ReadonlySet<string>,
  sinks: ReadonlyMap<string, AlertSink>,
): ((path: Fault['path']) => Fault) | null {
  const [only, ...others] = ways;
  if (only !== undefined && others.length === 0 && mayFail.has(only))
    return (path) => sentThroughItself(path, only, mayFail.size === 1);
  const server = commonServer(ways, mayFail, sinks);
  const message = `when ${server} is in trouble, nobody is notified; ${elsewhere}`;
  return server === null ? null : (path) => warning(path, message);
}

type AlertSink = Pick<SinkConfig, 'connector' | 'onUnknown' | 'options'>;

/** What all these sinks need, and one that may fail as well; null if there is none. */
function commonServer(
  names: readonly string[],
  mayFail: ReadonlySet<string>,
  sinks: ReadonlyMap<string, AlertSink>,
): string | null {
  const serverOf = (name: string): string | null => {
    const { connector, options } = sinks.get(name) ?? {};
    return (options && connector?.describe?.server?.(options)) ?? null;
  };
  const [server = null, ...others] = new Set(names.map(serverOf));
  const isShared = others.length === 0 && [...mayFail].some((name) => serverOf(name) === server);
  return isShared ? server : null;
}

const elsewhere = 'add an action with another sink';

function sentThroughItself(path: Fault['path'], sink: string, always: boolean): Fault {
  return always
    ? error(path, `an alert about "${sink}" would be sent through "${sink}" itself; ${elsewhere}`)
    : warning(path, `when "${sink}" itself is in trouble, nobody is notified; ${elsewhere}`);
}

function sinkOf({ action }: WrittenAction): string[] {
  return isMap(action) && typeof action['sink'] === 'string' ? [action['sink']] : [];
}
