import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import about from '../../package.json' with { type: 'json' };
import { deliveryStates } from '../model.ts';
import type { ReadinessPart } from '../http/health.ts';
import { isFailing } from '../ops/needs.ts';
import { type RequestResult, requestResults } from '../receiver/receive.ts';
import type { Store } from '../store/store.ts';

export interface Metrics {
  /** `durationS`: from the end of the headers to the answer. The histogram has only events that were stored. */
  requests(result: RequestResult, durationS: number): void;
  attempts(sink: string, outcome: string): void;
  /** `delayS`: from the event's acceptance to its delivery. */
  delivered(sink: string, delayS: number): void;
  sinkPaused(sink: string, paused: boolean): void;
  /** The sinks of the config in force. Only these are exported as paused or not. */
  sinksKnown(sinks: Iterable<string>): void;
  /** `atMs`: since the epoch. Also clears a failed reload. */
  configLoaded(atMs: number): void;
  configReloadFailed(): void;
  /** How many replicas serve the store: those with this one's config, itself among them, and the others. */
  replicas(same: number, others: number): void;
  /** In Prometheus's text format. `parts`: whether each can be used, as `/readyz` says. */
  scrape(parts?: readonly ReadinessPart[]): Promise<{ text: string; contentType: string }>;
}

export type MeasuredStore = Pick<Store, 'counts' | 'vitals' | 'queued' | 'sinkFigures'>;

const readyParts = new Set(['store', 'config']);

/** Sums over others of Node's, under names that Prometheus keeps for counters. */
const misnamed = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`);

/**
 * The store is asked at each scrape. If it cannot be read, the scrape has nothing that only it knows. `linesDropped`:
 * lines of the log dropped since the start.
 */
export function createMetrics(
  store: MeasuredStore,
  linesDropped: () => number = () => 0,
  now = () => Date.now(),
): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  const requests = requestMetrics(registry);
  const { readFailing, ...sinks } = sinkMetrics(registry, store, now);
  const config = configMetrics(registry);
  const readDeliveries = deliveryGauges(registry, store);
  const readVitals = storeGauges(registry, store, now);
  const ready = new Gauge({
    name: 'candidate_connector_ready',
    help: '1 if the store can be written, and if a config is in force; else 0.',
    labelNames: ['part'],
    registers: [registry],
  });
  logMetrics(registry, linesDropped);
  buildInfo(registry);
  return {
    ...requests,
    ...sinks,
    ...config,
    async scrape(parts = []) {
      for (const { part, ok } of parts) if (readyParts.has(part)) ready.set({ part }, Number(ok));
      await Promise.all([readDeliveries(), readVitals(), readFailing()]);
      return { text: await registry.metrics(), contentType: registry.contentType };
    },
  };
}

function requestMetrics(registry: Registry): Pick<Metrics, 'requests'> {
  const total = new Counter({
    name: 'candidate_connector_requests_total',
    help: 'Requests to the receiver without health checks, by result.',
    labelNames: ['result'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'candidate_connector_accept_duration_seconds',
    help: 'From the end of the headers to the answer, of requests whose event is stored.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  // Every result is exported from the start.
  const byResult = new Map(requestResults.map((result) => [result, total.labels(result)]));
  for (const counter of byResult.values()) counter.inc(0);
  return {
    requests(result, durationS) {
      byResult.get(result)?.inc();
      if (result === 'accepted' || result === 'duplicate') duration.observe(durationS);
    },
  };
}

function sinkMetrics(
  registry: Registry,
  store: Pick<Store, 'sinkFigures'>,
  now: () => number,
): Pick<Metrics, 'attempts' | 'delivered' | 'sinkPaused' | 'sinksKnown'> & {
  readonly readFailing: () => Promise<void>;
} {
  const attempts = new Counter({
    name: 'candidate_connector_attempts_total',
    help: 'Attempts at deliveries, by outcome.',
    labelNames: ['sink', 'outcome'],
    registers: [registry],
  });
  const delay = new Histogram({
    name: 'candidate_connector_delivery_delay_seconds',
    help: "From an event's acceptance to its delivery.",
    labelNames: ['sink'],
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400],
    registers: [registry],
  });
  const paused = new Gauge({
    name: 'candidate_connector_sink_paused',
    help: '1 while a sink is paused because it fails for all deliveries.',
    labelNames: ['sink'],
    registers: [registry],
  });
  const failing = new Gauge({
    name: 'candidate_connector_sink_failing',
    help: '1 while a sink is tried and fails: five attempts or more since its last success, over a minute or more.',
    labelNames: ['sink'],
    registers: [registry],
  });
  let known: ReadonlySet<string> = new Set();
  return {
    attempts: (sink, outcome) => attempts.inc({ sink, outcome }),
    delivered: (sink, delayS) => delay.observe({ sink }, delayS),
    sinkPaused: (sink, isPaused) => paused.set({ sink }, isPaused ? 1 : 0),
    sinksKnown(sinks) {
      const next = new Set(sinks);
      for (const sink of known) if (!next.has(sink)) paused.remove({ sink });
      for (const sink of next) paused.inc({ sink }, 0);
      known = next;
    },
    async readFailing() {
      failing.reset();
      const figures = await store.sinkFigures(now()).catch(() => null);
      const down = new Set(figures?.filter(isFailing).map(({ sink }) => sink));
      if (figures !== null) for (const sink of known) failing.set({ sink }, down.has(sink) ? 1 : 0);
    },
  };
}

function configMetrics(
  registry: Registry,
): Pick<Metrics, 'configLoaded' | 'configReloadFailed' | 'replicas'> {
  const loaded = new Gauge({
    name: 'candidate_connector_config_loaded_timestamp_seconds',
    help: 'When the config in force was loaded.',
    registers: [registry],
  });
  const failed = new Gauge({
    name: 'candidate_connector_config_reload_failed',
    help: '1 while the config file has errors and an older config is in force.',
    registers: [registry],
  });
  const replicas = new Gauge({
    name: 'candidate_connector_copies',
    help: "Replicas that serve the store, this one among them, by whether they run this one's config.",
    labelNames: ['config'],
    registers: [registry],
  });
  const setReplicas = (same: number, others: number) => {
    replicas.set({ config: 'same' }, same);
    replicas.set({ config: 'other' }, others);
  };
  setReplicas(1, 0);
  return {
    replicas: setReplicas,
    configLoaded(atMs) {
      loaded.set(atMs / 1_000);
      failed.set(0);
    },
    configReloadFailed: () => failed.set(1),
  };
}

function logMetrics(registry: Registry, linesDropped: () => number): void {
  let counted = 0;
  const dropped = new Counter({
    name: 'candidate_connector_log_lines_dropped_total',
    help: 'Log lines dropped because stdout was blocked.',
    registers: [],
    collect() {
      this.inc(linesDropped() - counted);
      counted = linesDropped();
    },
  });
  registry.registerMetric(dropped);
}

function buildInfo(registry: Registry): void {
  const info = new Gauge({
    name: 'candidate_connector_build_info',
    help: 'Always 1. The labels say which version runs, and on which Node.',
    labelNames: ['version', 'node'],
    registers: [registry],
  });
  info.set({ version: about.version, node: process.versions.node }, 1);
}

/** What the store tells of itself. Nothing stands for what it cannot tell, so that no alert takes it for a zero. */
function storeGauges(
  registry: Registry,
  store: Pick<Store, 'vitals' | 'queued'>,
  now: () => number,
): () => Promise<void> {
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `candidate_connector_${name}`, help, labelNames: [], registers: [registry] });
  const lastEvent = gauge('last_event_timestamp_seconds', 'When the newest stored event came.');
  const oldest = gauge(
    'oldest_pending_age_seconds',
    'How long the event or notice that a delivery has been pending for longest has been there; 0 if none is pending.',
  );
  const overdue = gauge(
    'overdue_seconds',
    'How long the pending delivery that was due first has been due; 0 if none is due.',
  );
  const bytes = gauge('store_bytes', 'What the store takes on its disk.');
  const oldestTransaction = gauge(
    'store_oldest_transaction_seconds',
    "How long the oldest transaction in PostgreSQL's database has been open, whosever it is.",
  );
  const queued = gauge('store_queued_writes', 'Writes of this replica that wait for their commit.');
  return async () => {
    queued.set(store.queued);
    for (const one of [lastEvent, oldest, overdue, bytes, oldestTransaction]) one.remove();
    const vitals = await store.vitals(now()).catch(() => null);
    if (vitals === null) return;
    const sinceS = (at: number | null) => (at === null ? 0 : Math.max(0, now() - at) / 1_000);
    if (vitals.lastEventAt !== null) lastEvent.set(vitals.lastEventAt / 1_000);
    oldest.set(sinceS(vitals.oldestPendingAt));
    overdue.set(sinceS(vitals.firstDueAt));
    bytes.set(vitals.bytes);
    if (vitals.oldestTransactionMs !== null) oldestTransaction.set(vitals.oldestTransactionMs / 1_000);
  };
}

/** Both gauges come from one read of the store, so that their sums can be compared. A difference means a lost delivery. */
function deliveryGauges(registry: Registry, store: Pick<Store, 'counts'>): () => Promise<void> {
  const planned = new Gauge({
    name: 'candidate_connector_deliveries_planned',
    help: 'Stored deliveries, counted when planned. Equals the sum over all states unless one is lost.',
    labelNames: ['sink'],
    registers: [registry],
  });
  const byState = new Gauge({
    name: 'candidate_connector_deliveries',
    help: 'Stored deliveries, by state.',
    labelNames: ['sink', 'state'],
    registers: [registry],
  });
  return async () => {
    planned.reset();
    byState.reset();
    for (const { sink, planned: count, states } of await store.counts().catch(() => [])) {
      planned.set({ sink }, count);
      for (const state of deliveryStates) byState.set({ sink, state }, states[state]);
    }
  };
}
