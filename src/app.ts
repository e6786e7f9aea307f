import { setTimeout as sleep } from 'node:timers/promises';
import { connectors } from '../connectors/index.ts';
import { createAdmin } from './admin/server.ts';
import {
  type Env,
  judgeTheClock,
  logGraceMs,
  openTheStore,
  readTheConfig,
  tellUnwritten,
  type Undo,
} from './app/config-and-store.ts';
import { attemptsGraceMs, beginDeliveries, prepareDeliveries, type Working } from './app/deliveries.ts';
import { watchOverIt } from './app/watching.ts';
import type { Config } from './config/config.ts';
import { Trials } from './backtest/trials.ts';
import { addressOf, type HandedOver, listen } from './http/listen.ts';
import { storeReadiness, watchReadiness } from './ops/readiness.ts';
import { createReceiver } from './receiver/server.ts';
import { readsBeside } from './store/open.ts';
import { valueAt } from './support/json.ts';
import { withoutPassword } from './support/store-url.ts';

/** A running connector. The addresses are the ones really bound: the config may say port 0. */
export interface App {
  readonly receiverUrl: string;
  readonly adminUrl: string;
  /**
   * Resolves when the store's files were removed or damaged: nothing can be stored any more, and the app has to stop.
   */
  readonly damaged: Promise<void>;
  /**
   * Goes on accepting events while attempts under way finish, and while load balancers learn that this replica stops. Then
   * closes the port, and last the store.
   */
  stop(): Promise<void>;
}

/** How long requests may take to finish, after the attempts; see attemptsGraceMs. */
const requestsGraceMs = 2000;
/** How long PostgreSQL may take to be told that this replica stops. */
const storeGraceMs = 2000;

/** How long after the start the metrics of Node begin (ms): the first events come before them. */
const measuredAfterMs = 1000;

const trialThread = new URL('./commands/config/trial-thread.ts', import.meta.url);

/**
 * Joins the parts and starts them. Each step gets what the steps before it made, and says how it is undone: in reverse order,
 * if a later step fails and when the app stops. With a socket that was handed over, the receiver listens there. Throws
 * ConfigError, StoreUnavailable or CannotListen.
 */
export async function startApp(file: string, env: Env, handedOver: HandedOver | null = null): Promise<App> {
  await using starting = new AsyncDisposableStack();
  const base = await readTheConfig(file, env, starting);
  const stored = await openTheStore(base, starting);
  const trusted = await judgeTheClock(stored, starting);
  const working = await prepareDeliveries(trusted);
  const listening = await openThePorts(working, handedOver, starting);
  const rescued = await beginDeliveries(listening, starting);
  await watchOverIt(listening, starting);
  const { log, metrics, receiver, adminUrl, config } = listening;
  log.info({ receiver: addressOf(receiver), admin: adminUrl, ...summaryOf(config()), rescued }, 'ready');
  setTimeout(metrics.measureNode, measuredAfterMs).unref();
  return runningApp(listening, starting.move());
}

/** Opens both ports, as soon as events can be stored. The events wait for the worker. */
async function openThePorts(working: Working, handedOver: HandedOver | null, undo: Undo) {
  const { store, config, text, clock, metrics, log, live, replicas, unsent, inbox } = working;
  const ready = watchReadiness(
    async () => [await storeReadiness(store, unsent), live.readiness(), ...replicas.readiness()],
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
  const { receiver, answerWrongPort } = createReceiver({
    config: () => config().receiver,
    tokens: live.tokens,
    inbox,
    log,
    metrics,
    readiness,
    now: () => clock.now(),
    stopping: closing.signal,
  });
  const admin = createAdmin({ config: () => config().admin, metrics, site, log, readiness, answerWrongPort });
  undo.defer(() => admin.stop(0));
  undo.defer(async () => {
    await receiver.retire();
    await receiver.stop(requestsGraceMs);
  });
  // Before the port closes: a long read cannot be broken off, and the process ends after it.
  undo.defer(() => beside.close());
  undo.defer(() => closing.abort());
  receiver.socketOutlivesIt = handedOver !== null;
  await listen(receiver, handedOver ?? config().receiver);
  await listen(admin, config().admin);
  return { ...working, receiver, receiverUrl, adminUrl: addressOf(admin) };
}
type Listening = Awaited<ReturnType<typeof openThePorts>>;

function runningApp(listening: Listening, started: Undo): App {
  const { config, output, log, store, storeLost, refused, replicas, receiver, receiverUrl, adminUrl } =
    listening;
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
      else {
        log.warn('PostgreSQL did not answer in time: its leases run out by themselves');
        tellUnwritten(refused.unwritten, log);
      }
      log.info('stopped');
      await output.end(logGraceMs);
    },
  };
}

/** The parts of a config that show a person at a glance whether it is the one that was meant. */
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
