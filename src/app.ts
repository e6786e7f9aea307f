import { setTimeout as sleep } from 'node:timers/promises';
import { connectors } from '../connectors/index.ts';
import { watchAlerts } from './ops/alerts/watch.ts';
import { createMetrics } from './admin/metrics.ts';
import { createAdmin } from './admin/server.ts';
import { systemClock } from './support/clock.ts';
import { alertsLease, Replicas, retentionLease } from './ops/replicas.ts';
import type { Config } from './config/config.ts';
import { LiveConfig } from './config/live/live-config.ts';
import { changedOf, markOf, reloadConfig, watchConfig } from './config/live/reload.ts';
import { readText } from './config/text/files.ts';
import { parseConfig, textOf } from './config/load.ts';
import { tooShort } from './config/settings.ts';
import { compilePlan, Plans } from './config/live/stored-plans.ts';
import { Deciding, withLookupSinks } from './lookups/deciding.ts';
import { lookupConnector } from './model.ts';
import { checkSecrets, ConnectedSinks } from './deliveries/connected-sinks.ts';
import { observeAttempts } from './deliveries/call.ts';
import { Worker } from './deliveries/worker.ts';
import { eventIds, noticeIds } from './support/ids.ts';
import { accepting, createIntake } from './intake.ts';
import { addressOf, type HandedOver, listen } from './http/listen.ts';
import { createLogger } from './ops/log.ts';
import { createReceiver } from './receiver/server.ts';
import { RefusedFigures } from './ops/refused.ts';
import { storeReadiness, watchReadiness } from './ops/readiness.ts';
import { keepRetention, lastSeenAt } from './ops/retention.ts';
import { type Announcer, createAnnouncer } from './ops/status.ts';
import { openStore, readsBeside } from './store/open.ts';
import { keptRefreshTokens } from './store/refresh-tokens.ts';
import { withoutPassword } from './support/store-url.ts';
import { wantsColor } from './support/text.ts';
import { Trials } from './config/live/trials.ts';
import { valueAt } from './support/json.ts';

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
 * says. Throws ConfigError, StoreUnavailable or CannotListen when it cannot. Each step has what the steps before it made, and
 * says how it is undone: in reverse order, when a later one fails and when the app stops.
 */
export async function startApp(file: string, env: Env, handedOver: HandedOver | null = null): Promise<App> {
  await using starting = new AsyncDisposableStack();
  const base = await readTheConfig(file, env, starting);
  const stored = await openTheStore(base, starting);
  const trusted = await judgeTheClock(stored, starting);
  const working = await prepareDeliveries(trusted);
  const listening = await openThePorts(working, handedOver, starting);
  const { announcer, rescued } = await beginDeliveries(listening, starting);
  await watchOverIt(listening, announcer, starting);
  const { log, receiver, adminUrl, config } = listening;
  log.info({ receiver: addressOf(receiver), admin: adminUrl, ...summaryOf(config()), rescued }, 'ready');
  return runningApp(listening, starting.move());
}

type Undo = AsyncDisposableStack;

async function readTheConfig(file: string, env: Env, undo: Undo) {
  const read = await readText(file, { onlyRegular: true });
  const text = textOf(read, file);
  // What only its authors need holds the whole file in memory.
  const { at: _at, scenarios: _scenarios, ...first } = parseConfig(text, file, { env, connectors });
  const live = new LiveConfig(first);
  const config = () => live.config;
  const color = wantsColor(process.stdout, env);
  const output = createLogger({ ...first.log, color, mask: (line) => config().mask(line) });
  undo.defer(() => output.end(logGraceMs));
  return { file, env, read, text: { inForce: text }, live, config, output, log: output.log };
}
type Base = Awaited<ReturnType<typeof readTheConfig>>;

async function openTheStore(base: Base, undo: Undo) {
  const { file, env, live, config, output, log } = base;
  const storeLost = Promise.withResolvers<void>();
  const damaged = (err: Error, over: boolean) => {
    log.fatal(
      { err },
      over ? 'the store was damaged: stopping' : 'the store was damaged: nothing is accepted',
    );
    if (over) storeLost.resolve();
  };
  const repaired = () => log.info('the store is whole again: events are accepted');
  const opened = await openStore(config().store.url, { serve: true, damaged, repaired });
  const store = undo.adopt(opened, (it) => it.close());
  const refused = new RefusedFigures(store, systemClock);
  undo.defer(async () => {
    for (const one of await refused.stop())
      log.error(one, 'refused events that only this line tells of: the store cannot be written');
  });
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
    const formerUntil = live.adopt(next, clock.now());
    if (formerUntil !== null)
      log.info(
        { until: new Date(formerUntil).toISOString() },
        'receiver.token was changed: the one from before stays valid until the new one is used, and no longer than this',
      );
    log.level = next.log.level;
    metrics.configLoaded(Date.now(), live.waiting.length);
    // An alert for a sink that is paused is for a look-up, too.
    metrics.sinksKnown(withLookupSinks(next).sinks.keys());
    for (const { message, line, column, file: of = file } of next.warnings)
      log.warn({ file: of, line, column }, message);
    const closed = tooShort(live.config.admin);
    if (closed !== null) log.error({ file }, `the admin port lets nobody in: ${closed.message}`);
    if (live.waiting.length > 0)
      log.warn(
        { file, keys: live.waiting },
        'these keys wait for a restart; until then the old values stay in force',
      );
  };
  await live.tokens.resume(store, (err) =>
    log.debug({ err }, 'what is known of receiver.token could not be stored'),
  );
  await adopt(config());
  const plan = (id: string) => plans.get(id);
  return { ...base, store, storeLost: storeLost.promise, refused, replicas, clock, metrics, plan, adopt };
}
type Stored = Awaited<ReturnType<typeof openTheStore>>;

/** Before any event can come: one stored with a wrong clock would make that clock look right. */
async function judgeTheClock(stored: Stored, undo: Undo) {
  const { store, config, log, clock, replicas } = stored;
  const seenAt = await lastSeenAt(store);
  const distrusted = await store.settleIn(Math.max(clock.now(), seenAt));
  if (distrusted !== null)
    log.warn(
      { deliveries: distrusted },
      'the store was restored or moved: what waits may have been sent from where it was, so each tool is asked first',
    );
  const retention = keepRetention({
    store,
    clock,
    mine: () => replicas.holding(retentionLease) !== null,
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
  undo.defer(retention.stop);
  return { ...stored, seenAt, clockDoubted: retention.isClockDoubted };
}
type Trusted = Awaited<ReturnType<typeof judgeTheClock>>;

async function prepareDeliveries(trusted: Trusted) {
  const { store, refused, config, plan, clock, clockDoubted, log, metrics, replicas } = trusted;
  const refreshTokens = keptRefreshTokens(store, config().store.secretKey, (message, error) =>
    log.error({ err: error }, message),
  );
  const sinks = new ConnectedSinks(refreshTokens);
  const deciding: Deciding = new Deciding({
    store,
    clock,
    config,
    plan,
    gaveUp: (lookup) => metrics.lookups(lookup, 'given_up'),
    wake: () => worker.wake(),
    failed: (error) => log.error({ err: error }, 'an event could not be decided; trying again'),
  });
  const observed = observeAttempts(log, metrics);
  const whole = () => withLookupSinks(config());
  const worker = new Worker({
    store,
    sinks,
    config: whole,
    plan,
    clock,
    clockDoubted,
    leases: replicas,
    random: Math.random,
    observe(report) {
      observed(report);
      if (report.delivery.connector === lookupConnector) deciding.wake();
    },
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
  const wake = () => worker.wake();
  const [newest] = await store.events({ limit: 1 });
  const nextId = eventIds({ after: newest?.event.id });
  const undecided = () => deciding.wake();
  const mayWait = () => deciding.mayWait;
  const intake = { store, refused, config, worker, undecided, mayWait, log, nextId };
  const accept = accepting(intake);
  const inbox = createIntake(intake, accept);
  return { ...trusted, sinks, worker, deciding, whole, wake, accept, inbox };
}
type Working = Awaited<ReturnType<typeof prepareDeliveries>>;

/** As soon as events can be stored: nobody accepts them before. They wait for the worker. */
async function openThePorts(working: Working, handedOver: HandedOver | null, undo: Undo) {
  const { store, config, text, clock, metrics, log, live, replicas, inbox } = working;
  const ready = watchReadiness(
    async () => [await storeReadiness(store), live.readiness(), ...replicas.readiness()],
    { clock, log },
  );
  undo.defer(() => ready.stop());
  const readiness = ready.ask;
  const closing = new AbortController();
  const beside = readsBeside(config().store.url, store);
  const receiverUrl = () => `${addressOf(receiver)}${config().receiver.path}`;
  const site = async () => {
    const { createSite } = await import('./pages/site.ts');
    const { reads } = beside;
    const catalog = () => valueAt(config().planSource, ['catalog']) ?? {};
    const trials = new Trials(reads, trialThread, catalog, closing.signal);
    return createSite({ ...working, connectors, reads, trials, configText: () => text.inForce, receiverUrl });
  };
  const admin = createAdmin({ config: () => config().admin, metrics, site, log, readiness });
  undo.defer(() => admin.stop(0));
  const receiver = createReceiver({
    config: () => config().receiver,
    tokens: live.tokens,
    inbox,
    log,
    metrics,
    readiness,
    now: () => clock.now(),
  });
  undo.defer(async () => {
    await receiver.retire();
    await receiver.stop(requestsGraceMs);
  });
  // Before the port closes: a long read that somebody waits for cannot be broken off, and the process ends after it.
  undo.defer(() => beside.close());
  undo.defer(() => closing.abort());
  receiver.socketOutlivesIt = handedOver !== null;
  await listen(receiver, handedOver ?? config().receiver);
  await listen(admin, config().admin);
  return { ...working, receiver, receiverUrl, adminUrl: addressOf(admin) };
}
type Listening = Awaited<ReturnType<typeof openThePorts>>;

/** Says first that it serves the store, and at a stop when all has ended. */
async function beginDeliveries(listening: Listening, undo: Undo) {
  const { store, live, log, metrics, clock, replicas, sinks, worker, deciding, whole, seenAt } = listening;
  const { config } = listening;
  const announcer = createAnnouncer({
    store,
    clock,
    live,
    id: replicas.id,
    failed: (error) => log.debug({ err: error }, 'the sign of life could not be stored; trying again'),
  });
  undo.defer(() => announcer.stop());
  undo.adopt(sinks, (it) => it.close());
  undo.defer(async () => {
    await Promise.all([worker.stop(attemptsGraceMs), replicas.leave(config().shutdown.delayMs)]);
    await deciding.stop();
  });
  // Before the worker looks at the clock.
  await replicas.join({ store, config: whole, worker, log, metrics });
  const rescued = await worker.start(seenAt);
  deciding.wake();
  await announcer.say();
  return { announcer, rescued };
}

/** Reloads the config when its file changes, and tells people when the connector needs them. */
async function watchOverIt(listening: Listening, announcer: Announcer, undo: Undo) {
  const { file, env, read, text, live, config, adopt } = listening;
  const { store, log, metrics, clock, replicas, sinks, worker, whole, wake } = listening;
  const closing = new AbortController();
  undo.defer(() => closing.abort());
  let textRead = text.inForce;
  const watch = watchConfig(file, {
    inForce: markOf(read),
    files: () => config().files,
    load: (changed, signal) => {
      textRead = changed;
      return reloadConfig(changed, file, { env, connectors, thread: reloadThread, signal });
    },
    onLoaded: async (next) => {
      const [before, sinksBefore] = [config(), whole().sinks];
      await adopt(next);
      text.inForce = textRead;
      void announcer.say();
      const changedFiles = changedOf(before.files, next.files);
      log.info({ file, ...(changedFiles.length > 0 && { changedFiles }) }, 'config reloaded');
      const changed = sinks.adopt(sinksBefore, whole().sinks, clock.now());
      void checkSecrets({ clock, sinks, shutdown: closing.signal, mask: next.mask, log }, changed);
    },
    onFailed: (error) => {
      live.failed(error);
      void announcer.say();
      metrics.configReloadFailed();
      log.error({ file, err: error }, 'config not reloaded: the old one stays');
    },
  });
  undo.defer(() => watch.close());
  const [newest] = await store.notices({ limit: 1 });
  const stopAlerts = watchAlerts({
    nextId: noticeIds({ after: newest?.notice.id }),
    store,
    clock,
    config: whole,
    wake,
    mine: () => replicas.holding(alertsLease) !== null,
    paused: () => worker.pauses(),
    refused: () => live.refused,
    isWaiting: () => live.waiting.length > 0,
    raised: (notice) => log.warn({ notice }, 'alert raised'),
    cannotSend: (notice) =>
      log.error({ notice }, 'alert cannot be sent: all its actions use the sink in trouble'),
    failed: (error) =>
      log.error({ err: error }, 'the conditions for alerts could not be checked; trying again'),
  });
  undo.defer(stopAlerts);
}

function runningApp(listening: Listening, started: Undo): App {
  const { config, output, log, store, storeLost, replicas, receiver, receiverUrl, adminUrl } = listening;
  // Connections begin to close while the attempts finish; the port stays open for further events.
  started.defer(() => void receiver.retire());
  return {
    receiverUrl: receiverUrl(),
    adminUrl,
    damaged: storeLost,
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
