import { program } from '../support/invocation.ts';
import { hostname, userInfo } from 'node:os';
import { catalogName } from '../config/catalog.ts';
import { connectors } from '../../connectors/index.ts';
import { type CheckedConfig, ConfigError } from '../config/config.ts';
import { loadConfig, loadSection, loadToPlan, namesIn, type PlanningConfig } from '../config/load.ts';
import { lookupSink } from '../model.ts';
import type { Settings } from '../config/settings.ts';
import { allActions, type Plan } from '../rules/plan.ts';
import { openStore } from '../store/open.ts';
import type { By, Store } from '../store/store.ts';
import { interpolateText, type Reference, Values } from '../config/text/references.ts';
import { timeZoneOf } from '../templates/dates.ts';
import { compilePlan, Plans } from '../config/live/stored-plans.ts';
import { valueAt } from '../support/json.ts';
import { didYouMeanOneOf, printable } from '../support/text.ts';
import { running } from '../ops/status/status.ts';
import type { ConfigOption, StoreOption } from './command.ts';
import { CommandError, exit, type Io, when } from './output.ts';

export function configOf(options: ConfigOption, io: Io): Promise<CheckedConfig> {
  return loadConfig(options.config, sources(io));
}

/** Loads the config to plan deliveries; see loadToPlan. */
export function planningConfig(options: ConfigOption, io: Io): Promise<PlanningConfig> {
  return loadToPlan(options.config, sources(io));
}

/**
 * Opens the store, beside a connector that may serve it, and closes it again. Needs no other section of the config. The Io that
 * it hands over has the store's clock, as have those below.
 */
export async function withStore<T>(
  options: StoreOption,
  io: Io,
  use: (store: Store, local: Io) => Promise<T>,
): Promise<T> {
  return withStoreAt(options.store ?? (await storeUrl(options, io)), io, use);
}

/** As withStore, for commands that need the whole config, except credentials. */
export async function withStoreAndConfig<T>(
  options: ConfigOption,
  io: Io,
  use: (store: Store, config: PlanningConfig, local: Io) => Promise<T>,
): Promise<T> {
  const config = await planningConfig(options, io);
  return withStoreAt(config.store.url, io, (store, local) => use(store, config, local));
}

/** What commands plan by: today's file or, while that is broken, the config in force, which the store keeps. */
export type Today = Pick<PlanningConfig, 'plan' | 'planSource'>;

/** As withStoreAndConfig, for commands that must work while the file is broken. */
export async function withStoreAndToday<T>(
  options: StoreOption,
  io: Io,
  use: (store: Store, today: Today, local: Io) => Promise<T>,
): Promise<T> {
  const config = options.store === undefined ? await planningConfig(options, io).catch(broken) : null;
  if (config !== null && !(config instanceof ConfigError))
    return withStoreAt(config.store.url, io, (store, local) => use(store, config, local));
  return withStore(options, io, async (store, local) => {
    if (config !== null) io.err(`${options.config} cannot be used; \`${program} check\` says why.`);
    const latest = await store.latestConfig();
    if (latest === null) throw new CommandError('the store keeps no config yet');
    io.err(`This follows the config that came into force at ${when(latest.savedAt, local)}.`);
    const plan = await compilePlan(latest.source, sources(io)).catch((error: Error) => {
      throw new CommandError(`that config cannot be used any more: ${error.message}`);
    });
    return use(store, { plan, planSource: latest.source }, local);
  });
}

const sources = ({ env }: Pick<Io, 'env'>) => ({ env, connectors });

function broken(error: unknown): ConfigError {
  if (error instanceof ConfigError) return error;
  throw error;
}

export async function storeUrl(options: ConfigOption, io: Io): Promise<string> {
  const otherWay =
    "name the store itself, which is `store` in the log's line `ready`, as in --store sqlite:./data/connector.db";
  return (await sectionOf('store', options, io, otherWay)).url;
}

/** Loads one section, even if others have faults. `otherWay`: what to do if it cannot be read, for people. */
export async function sectionOf<Key extends 'store' | 'receiver'>(
  key: Key,
  { config }: ConfigOption,
  io: Pick<Io, 'env'>,
  otherWay: string,
): Promise<Settings[Key]> {
  try {
    return await loadSection(config, key, sources(io));
  } catch (error) {
    const { file, problems, message, mayPass } = broken(error);
    const report = `${message}\n\nTo go on without this file, ${otherWay}`;
    throw new ConfigError(file, problems, report, mayPass);
  }
}

async function withStoreAt<T>(url: string, io: Io, use: (store: Store, local: Io) => Promise<T>): Promise<T> {
  const store = await openStore(url, { serve: false, mustExist: true });
  try {
    return await use(store, await byLocalClock(store, io));
  } finally {
    await store.close();
  }
}

/** Fails for a sink that neither the config nor any delivery names, with the one that was probably meant. */
export async function checkSink(sink: string, options: StoreOption, store: Store): Promise<void> {
  const counted = (await store.counts()).map((count) => count.sink);
  // Those that nothing was sent to yet.
  const served = (await store.replicaStates()).flatMap(({ sinks }) => sinks.map(({ name }) => name));
  const file = options.store === undefined ? await namesIn(options.config) : null;
  const named = file === null ? [] : [...file.sinks, ...file.lookups.map(lookupSink)];
  const known = [...new Set([...named, ...served, ...counted])];
  if (known.includes(sink)) return;
  const instead = didYouMeanOneOf(sink, known, 'the config names none');
  throw new CommandError(`there is no sink "${printable(sink)}"${instead}`, exit.usage);
}

/** Fails for a rule that the plan does not have, with the one that was probably meant. */
export function checkRule(rule: string, plan: Plan): void {
  const known = [...new Set(allActions(plan).map((action) => action.rule))];
  if (known.includes(rule)) return;
  const instead = didYouMeanOneOf(rule, known, 'the config names none');
  throw new CommandError(`there is no rule "${printable(rule)}"${instead}`, exit.usage);
}

/** Keeps today's config in the store. Called before anything is planned by it. */
export async function saveToday(store: Store, { plan, planSource }: Today): Promise<void> {
  await store.keepConfig({ id: plan.id, source: planSource, savedAt: await store.now() });
}

/** The plans that decided stored events, with today's environment. */
export function storedPlans(store: Pick<Store, 'config'>, { env }: Io): Plans {
  return new Plans(
    (configId) => store.config(configId),
    (source) => compilePlan(source, { env, connectors }),
  );
}

/** An Io with times by the newest config's `timezone`, or else by TZ. */
async function byLocalClock(store: Pick<Store, 'latestConfig'>, io: Io): Promise<Io> {
  const timeZone = (await configTimeZone(store, io)) ?? timeZoneOf(io.env['TZ'] ?? '');
  return timeZone === null ? io : { ...io, timeZone };
}

/** The newest config's `timezone`; null if it has none. */
export async function configTimeZone(store: Pick<Store, 'latestConfig'>, io: Io): Promise<string | null> {
  const written = valueAt((await store.latestConfig())?.source ?? null, ['timezone']);
  const values = new Values({ env: io.env });
  const resolve = (reference: Reference) => {
    const resolved = values.resolve(reference);
    return 'value' in resolved ? resolved.value : '';
  };
  return typeof written === 'string' ? timeZoneOf(interpolateText(written, resolve)) : null;
}

/** Makes a function that gives a test's name by the newest config, as ` (Backend Engineer)`; empty without a name. */
export async function testNames(store: Pick<Store, 'latestConfig'>): Promise<(testId: number) => string> {
  const nameOf = await catalogNames(store);
  return (testId) => {
    const name = nameOf(testId);
    return name === '' ? '' : ` (${printable(name)})`;
  };
}

/** As testNames, with the bare name. */
export async function catalogNames(store: Pick<Store, 'latestConfig'>): Promise<(testId: number) => string> {
  const source = (await store.latestConfig())?.source ?? null;
  return (testId) => catalogName(source, testId);
}

/** The person who calls a command, for the audit. A container's user may have no name. */
export function byUser({ note = null }: { note?: string | null | undefined }, { env }: Io): By {
  const nameOfUser = () => {
    try {
      return userInfo().username;
    } catch {
      return 'somebody by a command';
    }
  };
  return { who: env['USER'] || nameOfUser(), from: `a command on ${hostname()}`, note };
}

export const isServed = async (store: Store): Promise<boolean> => (await serving(store)).length > 0;

/** Whether a sink's deliveries are carried out: `unserved`, `here`, or `gone` if no config in force has it any more. */
export async function servedAs(store: Store, sink: string): Promise<'unserved' | 'here' | 'gone'> {
  const replicas = await serving(store);
  if (replicas.length === 0) return 'unserved';
  return replicas.some(({ sinks }) => sinks.some(({ name }) => name === sink)) ? 'here' : 'gone';
}

const serving = async (store: Store) => running(await store.replicaStates(), await store.now());
