import { isMap, type Json } from '../../model.ts';
import type { Plan } from '../../rules/plan.ts';
import { didYouMeanOneOf } from '../../suggest.ts';
import type { SinkConfig } from '../config.ts';
import type { Fault, Path } from '../fault.ts';
import { error, warning } from '../fault.ts';
import type { FoundSecret } from '../mask.ts';
import { looksLikePath } from '../mask.ts';
import type { PlanSource, WrittenAction } from '../plan-source.ts';
import { actionsOf, entries, ruleActions } from '../plan-source.ts';
import { hasReference } from '../references/references.ts';
import { isLoopback, sameHost } from '../schema/addresses.ts';
import { unknownKey } from '../schema/issues.ts';
import type { Settings } from '../schema/settings.ts';
import { durationText, parseDuration } from '../units.ts';
import { valueAt } from '../walk.ts';

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

/** Digests that collect for longer than anybody could look up what was in them. */
export function checkDigests(source: PlanSource, { store }: Partial<Settings>): Fault[] {
  return ruleActions(source).flatMap(({ action, path }) => {
    const every = valueAt(action, ['digest', 'every']);
    const everyMs = typeof every === 'string' ? parseDuration(every) : null;
    if (!store || everyMs === null || everyMs <= store.retentionMs) return [];
    const message = 'this is longer than events are kept; collect for less, or raise store.retention';
    return [error([...path, 'digest', 'every'], message)];
  });
}

/** Silence that is counted from an event which may be deleted before. */
export function checkSilence(plan: Plan | null, { store }: Partial<Settings>): Fault[] {
  const silence = plan?.alerts.find(({ kind }) => kind === 'silence');
  if (!silence || !store || silence.afterMs < store.retentionMs) return [];
  const message = `the newest event may be deleted before ${durationText(silence.afterMs)} are over; take less, or raise store.retention`;
  return [error(['alerts', 'silence', 'after'], message)];
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

/** Sinks and hours that no action names. Only of a config without errors: in one with errors, they may be what was meant. */
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

/** Credentials that stand in the file itself, where they end up in backups and version control. */
export function checkLiteralSecrets(config: Json, secrets: readonly FoundSecret[]): Fault[] {
  const found = secrets.filter(({ path }) => !isHarmlessHeader(path));
  return found.flatMap(({ path, inUrl }) => {
    const written = writtenText(config, path);
    if (written === null || hasReference(written.text) || looksLikePath(written.text)) return [];
    const what = inUrl || written.path.length < path.length ? 'the password in this URL' : 'this credential';
    return [
      warning(written.path, `${what} stands in the file; take it from \${NAME} or \${file:/path} instead`),
    ];
  });
}

/** Any header of a sink may hold a credential, so all are masked; only those named like one are worth a warning. */
const isHarmlessHeader = (path: Path): boolean =>
  path.at(-2) === 'headers' && !/token|secret|key|auth|cookie/i.test(String(path.at(-1)));

/** The text that a parsed value came from: a schema may have made parts of it. */
function writtenText(config: Json, path: Path): { text: string; path: Path } | null {
  for (let length = path.length; length > 0; length -= 1) {
    const text = valueAt(config, path.slice(0, length));
    if (typeof text === 'string') return { text, path: path.slice(0, length) };
  }
  return null;
}

/** What a scenario expects of an action that no such action has. */
export function checkExpectations(
  scenarios: Json | undefined,
  sinkNames: readonly string[],
  sinks: ReadonlyMap<string, SinkConfig>,
): Fault[] {
  const expectations = entries(scenarios).flatMap(([index, scenario]) =>
    entries(isMap(scenario) ? scenario['expect'] : undefined).map(([at, action]): WrittenAction => ({
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
      .map((key) => error([...path, key], unknownKey(key, known, path), 'key'));
  });
  return [...checkSinkNames(expectations, sinkNames), ...unknownKeys];
}
