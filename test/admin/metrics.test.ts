import { expect, test } from 'vitest';
import { createMetrics } from '../../src/admin/metrics.ts';
import { measuredStore } from '../fixtures/event.ts';

const nothing = measuredStore();

/** The scrape's samples by name and labels: `total{sink="slack"}` → 3. */
async function samplesOf(metrics: ReturnType<typeof createMetrics>): Promise<Record<string, number>> {
  const { text } = await metrics.scrape();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => {
      const space = line.lastIndexOf(' ');
      return [line.slice(0, space).replace('candidate_connector_', ''), Number(line.slice(space + 1))];
    }),
  );
}

test('a sink of the config that is paused is shown, as the store knows it: so by replicas that do not carry it out, too', async () => {
  const pause = { since: 1, probeAt: 2, probes: 1, because: null };
  const pauses = [
    { sink: 'mail', ...pause },
    { sink: 'gone', ...pause },
  ];
  const metrics = createMetrics(measuredStore({ pauses: async () => pauses }));
  metrics.sinksKnown(['slack', 'mail']);
  const {
    'sink_paused{sink="mail"}': mail,
    'sink_paused{sink="slack"}': slack,
    ...samples
  } = await samplesOf(metrics);
  expect([mail, slack]).toEqual([1, 0]);
  expect(samples).not.toHaveProperty(['sink_paused{sink="gone"}']);
  pauses.length = 0;
  expect(await samplesOf(metrics)).toMatchObject({ 'sink_paused{sink="mail"}': 0 });
  metrics.sinksKnown(['slack']);
  expect(await samplesOf(metrics)).not.toHaveProperty(['sink_paused{sink="mail"}']);
});

test('requests are counted by result, each there from the start; the accept duration has only what was stored', async () => {
  const metrics = createMetrics(nothing);
  metrics.requests('accepted', 0.004);
  metrics.requests('duplicate', 0.03);
  metrics.requests('invalid', 9);
  metrics.requests('failed', 9);
  metrics.requests('refused', 9, 'path');
  expect(await samplesOf(metrics)).toMatchObject({
    accept_duration_seconds_count: 2,
    accept_duration_seconds_sum: 0.034,
    'accept_duration_seconds_bucket{le="0.005"}': 1,
    'accept_duration_seconds_bucket{le="0.05"}': 2,
    'requests_total{result="accepted"}': 1,
    'requests_total{result="duplicate"}': 1,
    'requests_total{result="invalid"}': 1,
    'requests_total{result="refused"}': 1,
    'refused_total{reason="path"}': 1,
    'refused_total{reason="method"}': 0,
    'refused_total{reason="address"}': 0,
    'refused_total{reason="token"}': 0,
    'requests_total{result="failed"}': 1,
  });
});

test('attempts and delays are by sink', async () => {
  const metrics = createMetrics(nothing);
  metrics.attempts('slack', 'retry');
  metrics.attempts('slack', 'delivered');
  metrics.delivered('slack', 2, false);
  metrics.delivered('slack', 70_000, true);
  expect(await samplesOf(metrics)).toMatchObject({
    'attempts_total{sink="slack",outcome="retry"}': 1,
    'attempts_total{sink="slack",outcome="delivered"}': 1,
    'delivery_delay_seconds_sum{sink="slack",waited="no"}': 2,
    'delivery_delay_seconds_bucket{le="2.5",sink="slack",waited="no"}': 1,
    'delivery_delay_seconds_count{sink="slack",waited="yes"}': 1,
  });
});

test('a sink of the config that fails is shown, as the store knows it', async () => {
  const failed = {
    failures: 5,
    firstFailedAt: 0,
    lastFailedAt: 60_000,
    askedUntil: null,
    lastSuccessAt: null,
    because: null,
  };
  const lately = { attempts: 9, failures: 9 };
  const figures = [
    { sink: 'mail', ...failed, lately },
    { sink: 'gone', ...failed, lately },
  ];
  const metrics = createMetrics(measuredStore({ sinkFigures: async () => figures }));
  metrics.sinksKnown(['slack', 'mail']);
  const {
    'sink_failing{sink="mail"}': mail,
    'sink_failing{sink="slack"}': slack,
    ...samples
  } = await samplesOf(metrics);
  expect([mail, slack]).toEqual([1, 0]);
  expect(samples).not.toHaveProperty(['sink_failing{sink="gone"}']);
  figures[0]!.lastFailedAt -= 1;
  expect(await samplesOf(metrics)).toMatchObject({ 'sink_failing{sink="mail"}': 0 });
  metrics.sinksKnown(['slack']);
  expect(await samplesOf(metrics)).not.toHaveProperty(['sink_failing{sink="mail"}']);
});

test("a person's pause is forgotten once it has lasted a day, unless it has an end", async () => {
  const day = 86_400_000;
  const pause = { since: Date.now() - day, until: null, phase: 'taken', who: 'robin', note: null } as const;
  const personPauses = async () => [
    { ...pause, sink: 'slack' },
    { ...pause, sink: 'mail', since: pause.since + 60_000 },
    { ...pause, sink: 'ats', until: Date.now() + day },
  ];
  const metrics = createMetrics(measuredStore({ personPauses }));
  metrics.sinksKnown(['slack', 'mail', 'ats']);
  expect(await samplesOf(metrics)).toMatchObject({
    'sink_pause_forgotten{sink="slack"}': 1,
    'sink_pause_forgotten{sink="mail"}': 0,
    'sink_pause_forgotten{sink="ats"}': 0,
    'sink_paused_by_person{sink="ats"}': 1,
  });
});

test('deliveries are what the store has at the scrape, so that their sums can be compared', async () => {
  const states = { pending: 1, sending: 0, delivered: 5, dead: 2, held: 0, discarded: 0 };
  const store = { counts: [{ sink: 'slack', planned: 8, states }] };
  const metrics = createMetrics(measuredStore({ counts: async () => store.counts }));
  const samples = await samplesOf(metrics);
  expect(samples).toMatchObject({
    'deliveries_planned{sink="slack"}': 8,
    'deliveries{sink="slack",state="pending"}': 1,
    'deliveries{sink="slack",state="delivered"}': 5,
    'deliveries{sink="slack",state="dead"}': 2,
    'deliveries{sink="slack",state="held"}': 0,
  });
  store.counts = [];
  expect(await samplesOf(metrics)).not.toHaveProperty(['deliveries{sink="slack",state="pending"}']);
});

test('of two scrapes at the same moment, as of a pair of Prometheus servers, each has all figures', async () => {
  const states = { pending: 1, sending: 0, delivered: 5, dead: 2, held: 0, discarded: 0 };
  const mayEnd = Promise.withResolvers<void>();
  const mayGoOn = Promise.withResolvers<void>();
  /** What the first scrape reads last, and all that the second one reads, after the end of the first. */
  let [vitalsWait, othersWait] = [mayEnd.promise, Promise.resolve()];
  const figures = measuredStore();
  const metrics = createMetrics({
    ...figures,
    counts: () => othersWait.then(() => [{ sink: 'slack', planned: 8, states }]),
    eventCounts: () => othersWait.then(figures.eventCounts),
    sinkFigures: (now) => othersWait.then(() => figures.sinkFigures(now)),
    pauses: () => othersWait.then(figures.pauses),
    personPauses: () => othersWait.then(figures.personPauses),
    vitals: (now) => vitalsWait.then(() => figures.vitals(now)),
  });
  metrics.sinksKnown(['slack']);
  const first = samplesOf(metrics);
  await new Promise(setImmediate);
  [vitalsWait, othersWait] = [mayGoOn.promise, mayGoOn.promise];
  const second = samplesOf(metrics);
  mayEnd.resolve();
  const all = {
    'deliveries{sink="slack",state="dead"}': 2,
    'deliveries_planned{sink="slack"}': 8,
    'events{state="decided"}': 0,
    'sink_failing{sink="slack"}': 0,
    'sink_overdue_seconds{sink="slack"}': 0,
    'sink_paused{sink="slack"}': 0,
    'sink_paused_by_person{sink="slack"}': 0,
    store_bytes: 0,
  };
  expect(await first).toMatchObject(all);
  mayGoOn.resolve();
  expect(await second).toMatchObject(all);
});

const ofStore = /^(deliveries|last_event|oldest|overdue|store_bytes)/;
const down = () => Promise.reject(new Error('down'));

test('a store that cannot be read leaves the other metrics', async () => {
  const metrics = createMetrics(measuredStore({ counts: down, vitals: down }));
  metrics.requests('failed', 1);
  const samples = await samplesOf(metrics);
  expect(samples).toHaveProperty(['requests_total{result="failed"}'], 1);
  expect(Object.keys(samples).filter((name) => ofStore.test(name))).toEqual([]);
});

test("Node's own metrics are there, and two sets do not get in each other's way", async () => {
  const [one, other] = [createMetrics(nothing), createMetrics(nothing)];
  one.requests('accepted', 1);
  expect(await samplesOf(other)).toMatchObject({
    'requests_total{result="accepted"}': 0,
    process_resident_memory_bytes: expect.any(Number),
    nodejs_heap_size_used_bytes: expect.any(Number),
  });
});

test('what the store tells of itself is there, and nothing where it has nothing to tell', async () => {
  const pending = {
    lastEventAt: 1_763_713_000_500,
    oldestPendingAt: 1,
    firstDueAt: 1,
    pending: [{ sink: 'mail', firstDueAt: 1, oldestPendingAt: 1 }],
    lastBackupAt: 1,
    bytes: 9,
    oldestTransactionMs: 90_500,
  };
  const metrics = createMetrics(measuredStore({ queued: 3, vitals: async () => pending }));
  metrics.sinksKnown(['slack', 'mail']);
  const told = await samplesOf(metrics);
  expect(told).toMatchObject({
    last_event_timestamp_seconds: 1_763_713_000.5,
    store_bytes: 9,
    store_queued_writes: 3,
    store_oldest_transaction_seconds: 90.5,
    'sink_overdue_seconds{sink="slack"}': 0,
    'sink_oldest_pending_age_seconds{sink="slack"}': 0,
  });
  const bySink = ['sink_oldest_pending_age_seconds{sink="mail"}', 'sink_overdue_seconds{sink="mail"}'];
  for (const name of ['oldest_pending_age_seconds', 'overdue_seconds', 'last_backup_age_seconds', ...bySink])
    expect(told[name]).toBeGreaterThan(1_700_000_000);
  const idle = {
    lastEventAt: null,
    oldestPendingAt: null,
    firstDueAt: Date.now() + 60_000,
    pending: [],
    lastBackupAt: null,
    bytes: 9,
    oldestTransactionMs: null,
  };
  const samples = await samplesOf(createMetrics(measuredStore({ vitals: async () => idle })));
  expect(samples).toMatchObject({ oldest_pending_age_seconds: 0, overdue_seconds: 0 });
  for (const name of [
    'last_event_timestamp_seconds',
    'last_backup_age_seconds',
    'store_oldest_transaction_seconds',
  ])
    expect(samples).not.toHaveProperty(name);
});
