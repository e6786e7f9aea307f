import type { Json } from '../model.ts';
import { isLoopback, sameHost } from './addresses.ts';
import type { SinkConfig } from './config.ts';
import type { Fault, Path } from './fault.ts';
import { error, warning } from './fault.ts';
import type { FoundSecret } from './mask.ts';
import type { PlanSource, WrittenAction } from './plan-source.ts';
import { actionsOf, entries } from './plan-source.ts';
import { hasReference } from './references.ts';
import type { Settings } from './settings.ts';
import { closest, didYouMean, didYouMeanOneOf } from './suggest.ts';
import { isMap, valueAt } from './walk.ts';

/** Checks that look at several parts of a config together. Each gives its faults; none needs a part to be right. */

export function checkSettings({ receiver, admin, store, idempotency }: Partial<Settings>): Fault[] {
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

/** An action that names no sink of this config. */
export function checkSinkNames(actions: readonly WrittenAction[], sinkNames: readonly string[]): Fault[] {
  return actions.flatMap(({ action, path }) => {
    if (!isMap(action) || typeof action['sink'] !== 'string' || sinkNames.includes(action['sink'])) return [];
    const instead = didYouMeanOneOf(action['sink'], sinkNames, 'name some under "sinks"');
    return [error([...path, 'sink'], `there is no sink "${action['sink']}"${instead}`)];
  });
}

/** A sink says what its connector is; an action that said it too could contradict it. */
export function checkNoConnector(actions: readonly WrittenAction[]): Fault[] {
  return actions.flatMap(({ action, path }) =>
    isMap(action) && action['connector'] !== undefined
      ? [error([...path, 'connector'], 'unknown key "connector": it belongs to the sink', 'key')]
      : [],
  );
}

/** Says nothing where it is unclear what an action's sink is: that is reported already. */
export function checkUnusedSinks(source: PlanSource, sinkNames: readonly string[]): Fault[] {
  const used = actionsOf(source).map(({ action }) => sinkMeant(action, sinkNames));
  if (source.rules === undefined || used.includes(null)) return [];
  return sinkNames
    .filter((name) => !used.includes(name))
    .map((name) => warning(['sinks', name], `no action uses the sink "${name}"`, 'key'));
}

function sinkMeant(action: Json, sinkNames: readonly string[]): string | null {
  if (!isMap(action) || typeof action['sink'] !== 'string') return null;
  return sinkNames.includes(action['sink']) ? action['sink'] : closest(action['sink'], sinkNames);
}

/** Credentials that stand in the file itself, where they end up in backups and version control. */
export function checkLiteralSecrets(config: Json, secrets: readonly FoundSecret[]): Fault[] {
  const paths = new Map(secrets.map(({ path, inUrl }) => [path.join('\0'), { path, inUrl }]));
  return [...paths.values()].flatMap(({ path, inUrl }) => {
    const written = valueAt(config, path);
    if (typeof written !== 'string' || hasReference(written)) return [];
    const what = inUrl ? 'the password in this URL' : 'this credential';
    return [warning(path, `${what} stands in the file; take it from \${NAME} or \${file:/path} instead`)];
  });
}

/** Conditions that can never hold, because the catalog lacks what they ask for. */
export function checkCatalogUse({ catalog, rules }: PlanSource): Fault[] {
  if (!isMap(catalog) || Object.keys(catalog).length === 0) return [];
  const ids = Object.keys(catalog);
  const keys = [
    'id',
    'name',
    'owner',
    'channel',
    ...Object.values(catalog).flatMap((entry) => (isMap(entry) ? Object.keys(entry) : [])),
  ];
  return entries(rules).flatMap(([index, rule]) => {
    const conditions = isMap(rule) ? [...conditionsOf(rule['when'] ?? null, ['rules', index, 'when'])] : [];
    return conditions.flatMap(({ key, value, path }) =>
      key === 'testId' ? unknownIds(value, path, ids) : unknownKey(key, path, keys),
    );
  });
}

function unknownIds(value: Json, path: Path, ids: readonly string[]): Fault[] {
  if (isMap(value))
    return Object.entries(value).flatMap(([operator, inner]) =>
      /^(in|not)$/.test(operator) ? unknownIds(inner, [...path, operator], ids) : [],
    );
  if (Array.isArray(value))
    return entries(value).flatMap(([index, inner]) => unknownIds(inner, [...path, index], ids));
  if (typeof value !== 'number' || ids.includes(String(value))) return [];
  return [warning(path, `the catalog has no test ${value}${didYouMean(String(value), ids)}`)];
}

function unknownKey(key: string, path: Path, keys: readonly string[]): Fault[] {
  const name = /^test\.(.+)$/.exec(key)?.[1];
  if (name === undefined || keys.includes(name)) return [];
  return [warning(path, `no entry of the catalog has "${name}"${didYouMean(name, keys)}`, 'key')];
}

interface Condition {
  readonly key: string;
  readonly value: Json;
  readonly path: Path;
}

/** The conditions of a `when`, those inside of `all`, `any` and `not` included. */
function* conditionsOf(when: Json, path: Path): Generator<Condition> {
  if (Array.isArray(when))
    for (const [index, inner] of entries(when)) yield* conditionsOf(inner, [...path, index]);
  if (!isMap(when)) return;
  for (const [key, value] of Object.entries(when)) {
    if (key === 'all' || key === 'any' || key === 'not') yield* conditionsOf(value, [...path, key]);
    else yield { key, value, path: [...path, key] };
  }
}

/** What a scenario expects of an action that no such action has. */
export function checkExpectations(
  scenarios: Json | undefined,
  sinks: ReadonlyMap<string, SinkConfig>,
): Fault[] {
  const expectations = entries(scenarios).flatMap(([index, scenario]) =>
    entries(isMap(scenario) ? scenario['expect'] : undefined).map(([at, action]) => ({
      action,
      path: ['scenarios', index, 'expect', at],
    })),
  );
  const unknownKeys = expectations.flatMap(({ action, path }) => {
    const sink = isMap(action) ? sinks.get(action['sink'] as string) : undefined;
    if (!sink || !isMap(action)) return [];
    const known = ['sink', ...Object.keys(sink.connector.action.shape as object)];
    return Object.keys(action)
      .filter((key) => !known.includes(key))
      .map((key) => error([...path, key], `unknown key "${key}"${didYouMean(key, known)}`, 'key'));
  });
  return [...checkSinkNames(expectations, [...sinks.keys()]), ...unknownKeys];
}
