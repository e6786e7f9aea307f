import { setTimeout as sleep } from 'node:timers/promises';
import { connectors } from '../connectors/index.ts';
import { watchAlerts } from './ops/alerts/watch.ts';
import { createMetrics, type Metrics } from './admin/metrics.ts';
import { createAdmin } from './admin/server.ts';
import { type Clock, systemClock } from './support/clock.ts';
import { alertsLease, Replicas, retentionLease, type BaseParts } from './ops/replicas.ts';
import type { Config } from './config/config.ts';
import { LiveConfig } from './config/live/live-config.ts';
import { markOf, reloadConfig, watchConfig } from './config/live/reload.ts';
import { readText } from './config/text/files.ts';
import { parseConfig, textOf } from './config/load.ts';
import { tooShort } from './config/settings.ts';
import { compilePlan, Plans } from './config/live/stored-plans.ts';
import type { Leases } from './deliveries/leases.ts';
import { ConnectedSinks } from './deliveries/sinks.ts';
import { observeAttempts } from './deliveries/call.ts';
import { Worker, type WorkerParts } from './deliveries/worker.ts';
import type { ReadinessPart } from './http/health.ts';
import { eventIds, noticeIds } from './support/ids.ts';
import { createIntake } from './intake.ts';
import { addressOf, type HandedOver, listen } from './http/listen.ts';
import { createLogger } from './ops/log.ts';
import { createReceiver } from './receiver/server.ts';
import { RefusedFigures } from './ops/refused.ts';
import { keepRetention, lastSeenAt, type RunningRetention } from './ops/retention.ts';
import { Announcer } from './ops/status.ts';
import { openStore, readsBeside } from './store/open.ts';
import { keptRefreshTokens } from './store/refresh-tokens.ts';
import { withoutPassword } from './support/store-url.ts';
import { wantsColor } from './support/text.ts';
import { Trials } from './config/live/trials.ts';
import { type Store, StoreUnavailable } from './store/store.ts';

/** A running connector. The addresses are the ones really bound: the config may say port 0. */
export interface App {
  readonly receiverUrl: string;
  readonly adminUrl: string;
  /** Resolves when the store's files were removed or damaged: nothing can be stored any more, and the app is to be stopped. */
  readonly damaged: Promise<void>;
  /**
   * Goes on accepting events while attempts under way finish, and while callers learn that other replicas go on. Then closes
   * the port, and the store last.
   */
  stop(): Promise<void>;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Docker kills 10 s after SIGTERM. First the attempts under way have to finish in that time, then the requests. */
const requestsGraceMs = 2000;
const attemptsGraceMs = 5000;
/** PostgreSQL may be away. */
const storeGraceMs = 2000;
/** The reader of stdout may have stopped reading. */
const logGraceMs = 500;

const reloadThread = new URL('./config/live/reload-worker.ts', import.meta.url);
const trialThread = new URL('./commands/config/trial-thread.ts', import.meta.url);

/**
 * Joins the parts and starts them. With a socket that was handed over, the receiver listens there and not where the config
 * says. Throws ConfigError, StoreUnavailable or CannotListen when it cannot.
 */
export async function startApp(file: string, env: Env, handedOver: HandedOver | null = null): Promise<App> {
  // Stops what was started in reverse order, when a step fails and when the app stops.
  await using starting = new AsyncDisposableStack();
  const read = await readText(file, { onlyRegular: true });
  let [textInForce, textRead] = [textOf(read, file), ''];
  // What only its authors need holds the whole file in memory.
  const { at: _at, scenarios: _scenarios, ...first } = parseConfig(textInForce, file, { env, connectors });
  const live = new LiveConfig(first);
  const config = () => live.config;
  const output = createLogger({
    ...config().log,
    color: wantsColor(process.stdout, env),
    mask: (line) => config().mask(line),
  });
  const { log } = output;
  starting.defer(() => output.end(logGraceMs));
  const storeLost = Promise.withResolvers<void>();
  const damaged = (err: Error, over: boolean) => {
    log.fatal(
      { err },
      over ? 'the store was damaged: stopping' : 'the store was damaged: nothing is accepted',
    );
    if (over) storeLost.resolve();
  };
  const store = starting.adopt(await openStore(config().store.url, { serve: true, damaged }), (it) =>
    it.close(),
  );
  const refused = new RefusedFigures(store, systemClock);
  starting.defer(() => refused.stop());
  const replicas = new Replicas(store, log);
  const { clock } = replicas;
  await replicas.lookAtClock(store);
  const metrics = createMetrics(
    store,
    () => output.dropped(),
    () => clock.now(),
  );
  const plans = new Plans(
    (id) => store.config(id),
    (source) => compilePlan(source, { env, connectors }),
  );
  const adopt = async (next: Config) => {
    await store.saveConfig({ id: next.plan.id, source: next.planSource, savedAt: clock.now() });
    plans.adopt(next.plan);
    live.adopt(next);
    log.level = next.log.level;
    metrics.configLoaded(Date.now());
    metrics.sinksKnown(next.sinks.keys());
    for (const { line, column, message } of next.warnings) log.warn({ file, line, column }, message);
    const closed = tooShort(live.config.admin);
    if (closed !== null) log.error({ file }, `the admin port lets nobody in: ${closed}`);
    if (live.waiting.length > 0)
      log.warn(
        { file, keys: live.waiting },
        'these keys wait for a restart; until then the old values stay in force',
      );
  };
  await adopt(config());

  const seenAt = await lastSeenAt(store);
  const distrusted = await store.settleIn(Math.max(clock.now(), seenAt));
  if (distrusted !== null)
    log.warn(
      { deliveries: distrusted },
      'the store was restored or moved: what waits may have been sent from where it was, so each tool is asked first',
    );
  // Before any event can come: one stored with a wrong clock would make that clock look right.
  const retention = startRetention({ store, config, log, clock, leases: replicas });
  starting.defer(retention.stop);
  const refreshTokens = keptRefreshTokens(store, config().store.secretKey, (message, error) =>
    log.error({ err: error }, message),
  );
  const sinks = new ConnectedSinks(refreshTokens);
  const plan = (id: string) => plans.get(id);
  const { isClockDoubted: clockDoubted } = retention;
  const worker = createWorker({
    store,
    sinks,
    config,
    plan,
    clock,
    clockDoubted,
    log,
    metrics,
    leases: replicas,
  });
  const [newest] = await store.events({ limit: 1 });
  const nextId = eventIds({ after: newest?.event.id });
  const inbox = createIntake({ store, refused, config, wake: () => worker.wake(), log, nextId });
  const readiness = async () => [await storeReadiness(store), live.readiness(), ...replicas.readiness()];
  const closing = new AbortController();
  const beside = readsBeside(config().store.url, store);
  const site = async () => {
    const { createSite } = await import('./pages/site.ts');
    const wake = () => worker.wake();
    const receiverUrl = () => `${addressOf(receiver)}${config().receiver.path}`;
    const { reads } = beside;
    const trials = new Trials(reads, trialThread, closing.signal);
    const configText = () => textInForce;
    const shown = { reads, config, configText, trials, plan, receiverUrl };
    return createSite({ store, refused, clock, ...shown, wake, log, env, connectors });
  };
  const admin = createAdmin({ config: () => config().admin, metrics, site, log, readiness });
  starting.defer(() => admin.stop(0));
  const receiver = createReceiver({
    config: () => config().receiver,
    inbox,
    log,
    metrics,
    readiness,
    now: () => clock.now(),
  });
  starting.defer(async () => {
    await receiver.retire();
    await receiver.stop(requestsGraceMs);
  });
  // Before the port closes: a long read that somebody waits for cannot be broken off, and the process ends after it.
  starting.defer(() => beside.close());
  starting.defer(() => closing.abort());
  // As soon as events can be stored: nobody accepts them before. They wait for the worker.
  receiver.socketOutlivesIt = handedOver !== null;
  await listen(receiver, handedOver ?? config().receiver);
  await listen(admin, config().admin);

  const announcer = new Announcer({
    store,
    clock,
    live,
    id: replicas.id,
    failed: (error) => log.debug({ err: error }, 'the sign of life could not be stored; trying again'),
  });
  starting.defer(() => announcer.stop());
  starting.adopt(sinks, (it) => it.close());
  starting.defer(async () => {
    await Promise.all([worker.stop(attemptsGraceMs), replicas.leave(config().shutdown.delayMs)]);
  });
  // Before the worker looks at the clock.
  await replicas.join({ store, config, worker, log, metrics });
  const rescued = await worker.start(seenAt);
  await announcer.say();

  const watch = watchConfig(file, {
    inForce: markOf(read),
    load: (text, signal) => {
      textRead = text;
      return reloadConfig(text, file, { env, connectors, thread: reloadThread, signal });
    },
    onLoaded: async (next) => {
      await adopt(next);
      textInForce = textRead;
      void announcer.say();
      log.info({ file }, 'config reloaded');
    },
    onFailed: (error) => {
      live.failed(error);
      void announcer.say();
      metrics.configReloadFailed();
      log.error({ file, err: error }, 'config not reloaded: the old one stays');
    },
  });
  starting.defer(() => watch.close());
  starting.defer(await startAlerts({ store, config, worker, log, clock, leases: replicas, live }));
  // Connections begin to close while the attempts finish; the port stays open for further events.
  starting.defer(() => void receiver.retire());
  const addresses = { receiver: addressOf(receiver), admin: addressOf(admin) };
  log.info({ ...addresses, ...summaryOf(config()), rescued }, 'ready');

  const started = starting.move();
  return {
    receiverUrl: `${addressOf(receiver)}${config().receiver.path}`,
    adminUrl: addressOf(admin),
    damaged: storeLost.promise,
    async stop() {
      log.info('stopping');
      const ended = started.disposeAsync().then(() => true);
      const delayMs = replicas.isAlone ? 0 : config().shutdown.delayMs;
      const graceMs = Math.max(attemptsGraceMs, delayMs) + requestsGraceMs + storeGraceMs;
      const inTime =
        store.leases === null || (await Promise.race([ended, sleep(graceMs, false, { ref: false })]));
      if (inTime) await ended;
      else log.warn('PostgreSQL did not answer in time: its leases run out by themselves');
      log.info('stopped');
      await output.end(logGraceMs);
    },
  };
}

/** Of what a config says, the part that tells a person at a glance whether it is the one that was meant. */
function summaryOf({ file, store, plan, sinks }: Config) {
  const rules = plan.rules.names.slice(0, mostNamedRules);
  const more = plan.rules.names.length - rules.length;
  return {
    file,
    store: withoutPassword(store.url),
    rules: more > 0 ? [...rules, `and ${more} more`] : rules,
    sinks: Array.from(sinks.values(), ({ name, connector }) => `${name} (${connector.name})`),
  };
}

const mostNamedRules = 10;

type WorkerNeeds = BaseParts &
  Pick<WorkerParts, 'sinks' | 'plan' | 'clock' | 'clockDoubted' | 'leases'> & { readonly metrics: Metrics };

function createWorker({ log, metrics, ...parts }: WorkerNeeds): Worker {
  return new Worker({
    ...parts,
    random: Math.random,
    observe: observeAttempts(log, metrics),
    sinkChanged(sink, change, because) {
      metrics.sinkPaused(sink, change === 'paused');
      if (change === 'resumed') log.info({ sink }, 'sink resumed');
      else if (because) log.warn({ sink, because }, 'sink paused: it fails for all deliveries; it is probed');
      else log.warn({ sink }, 'sink still paused from before the start; it is probed');
    },
    pulledIn: (aheadMs, deliveries) =>
      log.warn(
        { aheadSeconds: Math.round(aheadMs / 1000), deliveries },
        'the clock was set back: deliveries that it had put off while it was ahead are due sooner',
      ),
    storeFailed: (error) => log.error({ err: error }, 'the store cannot be used; trying again'),
    callFailed: (error) => log.error({ err: error }, 'an attempt failed because of a bug in the connector'),
  });
}

/** Returns how to stop it. */
async function startAlerts(
  parts: BaseParts & {
    readonly worker: Worker;
    readonly clock: Clock;
    readonly leases: Leases;
    readonly live: LiveConfig;
  },
): Promise<() => void> {
  const { store, config, worker, log, clock, leases, live } = parts;
  const [newest] = await store.notices({ limit: 1 });
  return watchAlerts({
    nextId: noticeIds({ after: newest?.notice.id }),
    store,
    clock,
    config,
    mine: () => leases.holding(alertsLease) !== null,
    paused: () => worker.pauses(),
    refused: () => live.refused,
    isWaiting: () => live.waiting.length > 0,
    wake: () => worker.wake(),
    raised: (notice) => log.warn({ notice }, 'alert raised'),
    cannotSend: (notice) =>
      log.error({ notice }, 'alert cannot be sent: all its actions use the sink in trouble'),
    failed: (error) =>
      log.error({ err: error }, 'the conditions for alerts could not be checked; trying again'),
  });
}

function startRetention({
  store,
  config,
  log,
  clock,
  leases,
}: BaseParts & { readonly clock: Clock; readonly leases: Leases }): RunningRetention {
  return keepRetention({
    store,
    clock,
    mine: () => leases.holding(retentionLease) !== null,
    retentionMs: () => config().store.retentionMs,
    pruned: (events) => log.info({ events }, 'events older than the retention deleted'),
    doubted: (aheadMs) =>
      log.warn(
        { aheadHours: Math.round(aheadMs / 3_600_000) },
        'the clock is more than a day off from when the store was last used, or nobody knows when that was: ' +
          'until it has run on for 24 hours, nothing is deleted and no delivery is given up',
      ),
    failed: (error) => log.error({ err: error }, 'retention could not be applied; trying again later'),
  });
}

async function storeReadiness(store: Store): Promise<ReadinessPart> {
  try {
    await Promise.race([store.probe(), late()]);
    return { part: 'store', ok: true };
  } catch {
    return { part: 'store', ok: false, detail: 'It cannot be written just now; the log says why.' };
  }
}

/** Whoever asks does not wait for long. */
async function late(): Promise<never> {
  await sleep(3000, undefined, { ref: false });
  throw new StoreUnavailable('It takes too long.');
}
