import Counter from 'prom-client/lib/counter.js';
import Gauge from 'prom-client/lib/gauge.js';
import Histogram from 'prom-client/lib/histogram.js';
import Registry from 'prom-client/lib/registry.js';
import about from '../../package.json' with { type: 'json' };
import { deliveryStates, lookupOf } from '../model.ts';
import { refusalReasons } from '../model/notices.ts';
import type { ReadinessPart } from '../http/health.ts';
import { isFailing } from '../ops/sink-states.ts';
import { refusedOf, type StatusParts } from '../ops/status/status.ts';
import { pausesOfPeople } from '../ops/pauses.ts';
import { type RequestResult, requestResults } from '../receiver/access-log.ts';
import { type RefusedFor, refusedFor } from '../receiver/receive.ts';
import type { Store } from '../store/store.ts';
import { totalOf } from '../support/lists.ts';

export type Metrics = ReturnType<typeof createMetrics>;

export type MeasuredStore = Pick<
  Store,
  'counts' | 'eventCounts' | 'vitals' | 'queued' | 'sinkFigures' | 'pauses' | 'personPauses' | 'refused'
>;

const readyParts = new Set(['store', 'config']);

/** Metrics of Node's to leave out: sums of others, under names that Prometheus keeps for counters. */
const misnamed = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`);

/**
 * The metrics of this replica. Each scrape asks the store; a figure that the store cannot tell is left out, so that no alert
 * takes it for 0. `linesDropped`: lines of the log dropped since the start; `refusals`: what was refused, and the store does not have yet.
 */
export function createMetrics(
  store: MeasuredStore,
  linesDropped: () => number = () => 0,
  now = () => Date.now(),
  refusals: StatusParts['refused'] = { unwritten: [] },
) {
  const registry = new Registry();
  const described = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) => ({
    name: `candidate_connector_${name}`,
    help,
    labelNames,
    registers: [registry],
  });
  const gauge = <Label extends string>(name: string, help: string, ...labels: Label[]) =>
    new Gauge(described(name, help, labels));
  const counter = <Label extends string>(name: string, help: string, ...labels: Label[]) =>
    new Counter(described(name, help, labels));
  const histogram = <Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    ...labels: Label[]
  ) => new Histogram({ ...described(name, help, labels), buckets });

  const requests = counter(
    'requests_total',
    'Requests to the receiver without health checks, by result.',
    'result',
  );
  const refused = counter(
    'refused_total',
    'Requests that were refused: for the address (403), the token (401), the path (404) or the method (405).',
    'reason',
  );
  const refusedEvents = gauge(
    'refused_events',
    'Valid events that were refused, until a person has taken them in or put them away; of `store`: that could not be stored.',
    'reason',
  );
  const acceptDuration = histogram(
    'accept_duration_seconds',
    'From the end of the headers to the answer, of requests whose event is stored.',
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  );
  const attempts = counter('attempts_total', 'Attempts at deliveries, by outcome.', 'sink', 'outcome');
  const deliveryDelay = histogram(
    'delivery_delay_seconds',
    "From an event's acceptance to its delivery; `waited` is no where that was due as soon as the event came.",
    [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400],
    'sink',
    'waited',
  );
  const paused = gauge(
    'sink_paused',
    '1 while a sink is paused because it fails for all deliveries.',
    'sink',
  );
  const pausedByPerson = gauge(
    'sink_paused_by_person',
    '1 while a person has paused a sink: its deliveries wait on purpose.',
    'sink',
  );
  const pauseForgotten = gauge(
    'sink_pause_forgotten',
    "1 while a person's pause of a sink that has no end has lasted 24 hours or more.",
    'sink',
  );
  const failing = gauge(
    'sink_failing',
    '1 while a sink is tried and fails: five attempts or more since its last success, over a minute or more, or the first 15 minutes ago where its tool asked to wait for so long.',
    'sink',
  );
  const loaded = gauge('config_loaded_timestamp_seconds', 'When the config in force was loaded.');
  const reloadFailed = gauge(
    'config_reload_failed',
    '1 while the config file has errors and an older config is in force.',
  );
  const waitForRestart = gauge(
    'config_waits_for_restart',
    'How many changed keys of the config wait for a restart.',
  );
  const copies = gauge(
    'copies',
    "Replicas that serve the store, this one among them, by whether they run this one's config.",
    'config',
  );
  const planned = gauge(
    'deliveries_planned',
    'Stored deliveries, counted when planned. Equals the sum over all states unless one is lost.',
    'sink',
  );
  const deliveries = gauge('deliveries', 'Stored deliveries, by state.', 'sink', 'state');
  const events = gauge(
    'events',
    'Stored events: those that are decided, and those that wait for look-ups.',
    'state',
  );
  const lookups = counter(
    'lookups_total',
    'Calls of look-ups, by outcome; `retry` where there is no answer yet; `given_up` where there was none in time.',
    'lookup',
    'outcome',
  );
  const queued = gauge('store_queued_writes', 'Writes of this replica that wait for their commit.');
  const vital = {
    lastEvent: gauge('last_event_timestamp_seconds', 'When the newest stored event came.'),
    oldestPending: gauge(
      'oldest_pending_age_seconds',
      'How long the event or notice that a delivery has been pending for longest has been there; 0 if none is pending.',
    ),
    overdue: gauge(
      'overdue_seconds',
      'How long the pending delivery that was due first has been due; 0 if none is due.',
    ),
    lastBackup: gauge('last_backup_age_seconds', 'How long ago the last backup was taken.'),
    bytes: gauge('store_bytes', 'What the store takes on its disk.'),
    oldestTransaction: gauge(
      'store_oldest_transaction_seconds',
      "How long the oldest transaction in PostgreSQL's database has been open, whosever it is.",
    ),
  };
  const sinkOverdue = gauge(
    'sink_overdue_seconds',
    'How long the pending delivery to the sink that was due first has been due; 0 if none is due.',
    'sink',
  );
  const sinkOldestPending = gauge(
    'sink_oldest_pending_age_seconds',
    'How long the event or notice has been there that a delivery to the sink has been pending for longest; 0 if none is.',
    'sink',
  );
  const ready = gauge(
    'ready',
    '1 if the store can be written and read, and if a config is in force; else 0.',
    'part',
  );
  const dropped = counter('log_lines_dropped_total', 'Log lines dropped because stdout was blocked.');
  gauge(
    'build_info',
    'Always 1. The labels say which version runs, and on which Node.',
    'version',
    'node',
  ).set({ version: about.version, node: process.versions.node }, 1);

  // Every result is exported from the start.
  const byResult = new Map(requestResults.map((result) => [result, requests.labels(result)]));
  for (const one of byResult.values()) one.inc(0);
  for (const reason of Object.values(refusedFor)) refused.inc({ reason }, 0);
  let known: ReadonlySet<string> = new Set();
  let droppedBefore = 0;
  const setReplicas = (same: number, others: number) => {
    copies.set({ config: 'same' }, same);
    copies.set({ config: 'other' }, others);
  };
  setReplicas(1, 0);

  let ofNode: Promise<void> | undefined;
  /** Adds Node's own metrics. They load 30 files of OpenTelemetry, for which the start does not wait. */
  const measureNode = () => (ofNode ??= addNode());
  async function addNode(): Promise<void> {
    const { default: collectDefaultMetrics } = await import('prom-client/lib/defaultMetrics.js');
    collectDefaultMetrics({ register: registry });
    for (const name of misnamed) registry.removeSingleMetric(name);
  }

  // Each clears its figures only once it has the new ones: another scrape may print all of them meanwhile.

  async function readVitals(): Promise<void> {
    const vitals = await store.vitals(now()).catch(() => null);
    for (const one of Object.values(vital)) one.remove();
    for (const one of [sinkOverdue, sinkOldestPending]) one.reset();
    if (vitals === null) return;
    const sinceS = (at: number | null) => (at === null ? 0 : Math.max(0, now() - at) / 1_000);
    if (vitals.lastEventAt !== null) vital.lastEvent.set(vitals.lastEventAt / 1_000);
    vital.oldestPending.set(sinceS(vitals.oldestPendingAt));
    vital.overdue.set(sinceS(vitals.firstDueAt));
    const pending = new Map(vitals.pending.map((one) => [one.sink, one]));
    for (const sink of new Set([...known, ...pending.keys()])) {
      const { firstDueAt = null, oldestPendingAt = null } = pending.get(sink) ?? {};
      sinkOverdue.set({ sink }, sinceS(firstDueAt));
      sinkOldestPending.set({ sink }, sinceS(oldestPendingAt));
    }
    if (vitals.lastBackupAt !== null) vital.lastBackup.set(sinceS(vitals.lastBackupAt));
    vital.bytes.set(vitals.bytes);
    if (vitals.oldestTransactionMs !== null) vital.oldestTransaction.set(vitals.oldestTransactionMs / 1_000);
  }

  /** Both gauges come from one read, so that their sums can be compared. A difference means a lost delivery. */
  async function readDeliveries(): Promise<void> {
    const counts = await store.counts().catch(() => []);
    planned.reset();
    deliveries.reset();
    for (const { sink, planned: count, states } of counts) {
      if (lookupOf(sink) !== null) continue;
      planned.set({ sink }, count);
      for (const state of deliveryStates) deliveries.set({ sink, state }, states[state]);
    }
  }

  async function readEvents(): Promise<void> {
    const counted = await store.eventCounts().catch(() => null);
    events.reset();
    for (const [state, count] of Object.entries(counted ?? {})) events.set({ state }, count);
  }

  async function readRefused(): Promise<void> {
    const all = await refusedOf({ reads: store, refused: refusals }).catch(() => null);
    refusedEvents.reset();
    if (all === null) return;
    for (const reason of refusalReasons)
      refusedEvents.set({ reason }, totalOf(all.filter((one) => one.reason === reason)));
  }

  async function readFailing(): Promise<void> {
    const figures = await store.sinkFigures(now()).catch(() => null);
    failing.reset();
    const down = new Set(figures?.filter((one) => isFailing(one, now())).map(({ sink }) => sink));
    if (figures !== null) for (const sink of known) failing.set({ sink }, down.has(sink) ? 1 : 0);
  }

  async function readPaused(): Promise<void> {
    const all = await store.pauses().catch(() => null);
    paused.reset();
    const down = new Set(all?.map(({ sink }) => sink));
    if (all !== null) for (const sink of known) paused.set({ sink }, down.has(sink) ? 1 : 0);
  }

  async function readPausedByPeople(): Promise<void> {
    const all = await store.personPauses().catch(() => null);
    for (const one of [pausedByPerson, pauseForgotten]) one.reset();
    if (all === null) return;
    const pauses = pausesOfPeople(all, now());
    for (const sink of known) {
      pausedByPerson.set({ sink }, pauses.has(sink) ? 1 : 0);
      pauseForgotten.set({ sink }, pauses.get(sink)?.isForgotten ? 1 : 0);
    }
  }

  return {
    /** `durationS`: from the end of the headers to the answer. The histogram has only events that were stored. */
    requests(result: RequestResult, durationS: number, reason?: RefusedFor): void {
      byResult.get(result)?.inc();
      if (reason !== undefined) refused.inc({ reason });
      if (result === 'accepted' || result === 'duplicate') acceptDuration.observe(durationS);
    },
    attempts: (sink: string, outcome: string) => attempts.inc({ sink, outcome }),
    lookups: (lookup: string, outcome: string) => lookups.inc({ lookup, outcome }),
    /** `delayS`: from the event's acceptance to its delivery. `waited`: it was not due as soon as its event came. */
    delivered: (sink: string, delayS: number, waited: boolean) =>
      deliveryDelay.observe({ sink, waited: waited ? 'yes' : 'no' }, delayS),
    /** The sinks of the config in force. Only these are exported as paused, failing and so on, or not. */
    sinksKnown(sinks: Iterable<string>): void {
      known = new Set(sinks);
    },
    /** How many replicas serve the store: those with this one's config, itself among them, and the others. */
    replicas: setReplicas,
    /** `atMs`: since the epoch. Also clears a failed reload. `waiting`: how many changed keys wait for a restart. */
    configLoaded(atMs: number, waiting: number): void {
      loaded.set(atMs / 1_000);
      waitForRestart.set(waiting);
      reloadFailed.set(0);
    },
    configReloadFailed: () => reloadFailed.set(1),
    measureNode,
    /** In Prometheus's text format. `parts`: whether each can be used, as `/readyz` says. */
    async scrape(parts: readonly ReadinessPart[] = []) {
      for (const { part, ok } of parts) if (readyParts.has(part)) ready.set({ part }, Number(ok));
      queued.set(store.queued);
      dropped.inc(linesDropped() - droppedBefore);
      droppedBefore = linesDropped();
      const ofSinks = [readDeliveries(), readFailing(), readPaused(), readPausedByPeople()];
      await Promise.all([measureNode(), readEvents(), readRefused(), readVitals(), ...ofSinks]);
      return { text: await registry.metrics(), contentType: registry.contentType };
    },
  };
}
