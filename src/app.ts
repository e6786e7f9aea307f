import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { connectors } from '../connectors/index.ts';
import { createMetrics, type Metrics } from './admin/metrics.ts';
import { createAdmin } from './admin/server.ts';
import { systemClock } from './clock.ts';
import { ConfigError, type Config } from './config/config.ts';
import { loadConfig } from './config/load.ts';
import { compilePlan } from './config/plan.ts';
import { Plans } from './config/plans.ts';
import { watchConfig } from './config/watch.ts';
import { ConnectedSinks } from './deliveries/connected-sinks.ts';
import { Worker, type AttemptReport } from './deliveries/worker.ts';
import { newEventId } from './ids.ts';
import { createLogger } from './log.ts';
import type { Inbox } from './receiver/inbox.ts';
import { createReceiver, stop } from './receiver/server.ts';
import { keepRetention } from './retention.ts';
import { decide } from './rules/decide.ts';
import { openStore } from './store/open.ts';
import type { Store } from './store/store.ts';

/** A connector that is up. Ports are the ones really bound, which matters where the config says 0. */
export interface App {
  readonly receiverPort: number;
  readonly adminPort: number;
  /** Stops accepting, ends what is under way within the grace, closes the store. */
  stop(): Promise<void>;
}

/** How many refused requests are kept to look at. */
const rejectedKept = 1000;
/** Docker waits 10 s after SIGTERM before it kills, so the stop has to fit into that. */
const stopGraceMs = 7000;

type Env = Readonly<Record<string, string | undefined>>;

/** Joins the parts and starts them. Throws ConfigError or StoreUnavailable when it cannot. */
export async function startApp(file: string, env: Env): Promise<App> {
  const load = () => loadConfig(file, { env, connectors });
  const current = { config: await load(), reloadError: null as ConfigError | null };
  const config = () => current.config;
  const log = await createLogger({ ...config().log, mask: (line) => config().mask(line) });
  const store = await openStore(config().store.url, { serve: true });
  const plans = new Plans(
    (id) => store.config(id),
    (source) => compilePlan(source, { env, connectors }),
  );
  const metrics = createMetrics(() => store.counts());
  const sinks = new ConnectedSinks();
  const worker = new Worker({
    store,
    sinks,
    clock: systemClock,
    random: Math.random,
    config,
    plan: (id) => plans.get(id),
    observe: (report) => observe(report, log, metrics),
    storeFailed: (error) => log.error({ err: error }, 'the store cannot be used; trying again'),
  });

  const adopt = async (next: Config): Promise<void> => {
    await store.saveConfig({ id: next.plan.id, source: next.planSource, savedAt: Date.now() });
    plans.add(next.plan);
    current.config = next;
    current.reloadError = null;
    log.level = next.log.level;
    metrics.configLoaded(Date.now());
    for (const { line, column, message } of next.warnings) log.warn({ file, line, column }, message);
  };
  await adopt(config());

  const readiness = async () => [
    await storeReadiness(store),
    { part: 'config', ok: true, ...(current.reloadError && { detail: `kept as it was: ${current.reloadError.message}` }) },
  ];
  const inbox = createInbox({ store, config, worker, log });
  const receiver = createReceiver({ config: () => config().receiver, inbox, log, metrics, readiness });
  const admin = createAdmin({ config: () => config().admin, metrics, log, readiness });
  const rescued = await worker.start();
  const { receiver: receiverAt, admin: adminAt } = config();
  await Promise.all([listen(receiver, receiverAt), listen(admin, adminAt)]);
  const watch = watchConfig(file, load, {
    onLoaded: (next) => void adopt(next).then(() => log.info({ file }, 'config reloaded')),
    onFailed: (error) => {
      current.reloadError = error;
      metrics.configReloadFailed();
      log.error({ file, problems: error.problems }, 'config not reloaded: the old one stays');
    },
  });
  const stopRetention = keepRetention({
    store,
    clock: systemClock,
    retentionMs: () => config().store.retentionMs,
    pruned: (events) => log.info({ events }, 'events beyond the retention deleted'),
    failed: (error) => log.error({ err: error }, 'retention could not be applied; trying again later'),
  });
  log.info({ receiver: address(receiver), admin: address(admin), rescued }, 'ready');

  return {
    receiverPort: address(receiver).port,
    adminPort: address(admin).port,
    async stop() {
      log.info('stopping');
      watch.close();
      stopRetention();
      await stop(receiver, stopGraceMs);
      await worker.stop(stopGraceMs);
      await sinks.close();
      await stop(admin, 0);
      await store.close();
      log.info('stopped');
    },
  };
}
