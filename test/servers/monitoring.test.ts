import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { scraped } from '../commands/tools.ts';
import { remove, unpackDebian } from './mail-servers.ts';

/** Prometheus's own tool, on what we give to Prometheus. */

const alerts = join(import.meta.dirname, '../../docs/alerts.yaml');
let debian: string;

beforeAll(async () => {
  debian = await unpackDebian(['prometheus']);
}, 300_000);
afterAll(() => remove(debian));

const program = () => join(debian, 'root/usr/bin/promtool');

async function promtool(...argv: string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(program(), argv);
  return stdout + stderr;
}

test('the alerts are in order', async () => {
  expect(await promtool('check', 'rules', alerts)).toMatch(/SUCCESS: \d+ rules found/);
});

test('promtool has nothing against the metrics of a connector that delivered', async () => {
  const metrics = await scraped();
  const child = spawn(program(), ['check', 'metrics']);
  child.stdin.end(metrics);
  expect((await textOf(child.stdout)) + (await textOf(child.stderr))).toBe('');
});

const job = 'job="candidate-connector", instance="a"';
const c = (name: string, labels = '') => `candidate_connector_${name}{${labels}${labels && ', '}${job}}`;

const ofTenant = 'up{job="candidate-connector-eu", instance="c"}';
const ofOther = (series: string) => series.replace('"a"', '"b"');

type Labels = Readonly<Record<string, string>>;

interface Firing {
  readonly alert: string;
  readonly labels: Labels;
  /** As its text has it. */
  readonly value?: string;
}

const ofCopy = { job: 'candidate-connector', instance: 'a' };

/** `le`: as the connector writes it, and Prometheus 2 keeps it; Prometheus 3 makes "60.0" of it. */
const delays = (waited: string, all: string, inTime: string, le = '60'): Labels => ({
  [c('delivery_delay_seconds_bucket', `sink="slack", waited="${waited}", le="${le}"`)]: inTime,
  [c('delivery_delay_seconds_count', `sink="slack", waited="${waited}"`)]: all,
});

/** What Prometheus sees, a minute apart; when it is quiet, and which alerts it raises by when. */
const cases: readonly { series: Labels; quietAt: number; firesAt: number; firing: readonly Firing[] }[] = [
  {
    series: { [`up{${job}}`]: '1x5 0x10' },
    quietAt: 7,
    firesAt: 9,
    firing: [{ alert: 'ConnectorDown', labels: ofCopy }],
  },
  {
    series: { [c('requests_total', 'result="failed"')]: '0x5 3x20' },
    quietAt: 5,
    firesAt: 8,
    firing: [
      { alert: 'ConnectorCannotStore', labels: { ...ofCopy, result: 'failed' } },
      { alert: 'ConnectorLosesEventsFast', labels: ofCopy },
    ],
  },
  {
    series: {
      [c('requests_total', 'result="failed"')]: '0+1x40',
      [c('requests_total', 'result="accepted"')]: '0+99x40',
    },
    quietAt: 1,
    firesAt: 20,
    firing: [
      { alert: 'ConnectorCannotStore', labels: { ...ofCopy, result: 'failed' } },
      { alert: 'ConnectorLosesEventsSlowly', labels: ofCopy },
    ],
  },
  {
    series: { [c('ready', 'part="store"')]: '1x5 0x20' },
    quietAt: 6,
    firesAt: 8,
    firing: [{ alert: 'ConnectorIsNotReady', labels: { ...ofCopy, part: 'store' } }],
  },
  {
    series: {
      [c('accept_duration_seconds_bucket', 'le="5"')]: '0x30',
      [c('accept_duration_seconds_bucket', 'le="10"')]: '0+60x30',
      [c('accept_duration_seconds_bucket', 'le="+Inf"')]: '0+60x30',
    },
    quietAt: 9,
    firesAt: 13,
    firing: [{ alert: 'ConnectorAnswersSlowly', labels: ofCopy }],
  },
  {
    series: { [c('store_queued_writes')]: '0x5 1500x20' },
    quietAt: 10,
    firesAt: 12,
    firing: [{ alert: 'ConnectorWritesWait', labels: ofCopy, value: '1500' }],
  },
  {
    series: {
      [c('deliveries', 'sink="slack", state="dead"')]: '0x5 2x20',
      [c('deliveries', 'sink="slack", state="pending"')]: '2x5 0x20',
      [c('deliveries_planned', 'sink="slack"')]: '2x25',
      // Another tenant has a sink of the same name, which works.
      [ofOther(c('deliveries', 'sink="slack", state="dead"'))]: '0x25',
      [ofOther(c('deliveries', 'sink="slack", state="delivered"'))]: '9x25',
      [ofOther(c('deliveries_planned', 'sink="slack"'))]: '9x25',
    },
    quietAt: 9,
    firesAt: 12,
    firing: [
      { alert: 'ConnectorNeedsPerson', labels: { ...ofCopy, sink: 'slack', state: 'dead' }, value: '2' },
    ],
  },
  {
    // Some are dead; later many more are held.
    series: {
      [c('deliveries', 'sink="slack", state="dead"')]: '19x60',
      [c('deliveries', 'sink="slack", state="held"')]: '0x5 15 30x60',
    },
    quietAt: 4,
    firesAt: 14,
    firing: [
      { alert: 'ConnectorNeedsPerson', labels: { ...ofCopy, sink: 'slack', state: 'dead' }, value: '19' },
      { alert: 'ConnectorDeliveriesHeld', labels: { ...ofCopy, sink: 'slack', state: 'held' }, value: '30' },
      { alert: 'ConnectorManyNeedPerson', labels: { ...ofCopy, sink: 'slack', state: 'held' }, value: '30' },
    ],
  },
  {
    // What was replayed at last is dead again.
    series: { [c('deliveries', 'sink="slack", state="dead"')]: '600x90 0x5 600x20' },
    quietAt: 4,
    firesAt: 103,
    firing: [
      { alert: 'ConnectorNeedsPerson', labels: { ...ofCopy, sink: 'slack', state: 'dead' }, value: '600' },
      { alert: 'ConnectorManyNeedPerson', labels: { ...ofCopy, sink: 'slack', state: 'dead' }, value: '600' },
    ],
  },
  {
    // A few an hour, or what became dead long ago, is no growth.
    series: { [c('deliveries', 'sink="slack", state="dead"')]: '0x4 600x100 601x20 602x20' },
    quietAt: 4,
    firesAt: 130,
    firing: [
      { alert: 'ConnectorNeedsPerson', labels: { ...ofCopy, sink: 'slack', state: 'dead' }, value: '602' },
    ],
  },
  {
    series: {
      [c('deliveries', 'sink="slack", state="pending"')]: '2x5 1x30',
      [c('deliveries_planned', 'sink="slack"')]: '2x35',
    },
    quietAt: 19,
    firesAt: 22,
    firing: [{ alert: 'ConnectorLostDelivery', labels: { ...ofCopy, sink: 'slack' } }],
  },
  {
    // Another copy was scraped earlier, while a backlog drained; or it has a store of its own.
    series: {
      [c('deliveries', 'sink="slack", state="pending"')]: '2x60',
      [c('deliveries', 'sink="slack", state="delivered"')]: '9x60',
      [c('deliveries_planned', 'sink="slack"')]: '11x60',
      [ofOther(c('deliveries', 'sink="slack", state="pending"'))]: '7x60',
      [ofOther(c('deliveries', 'sink="slack", state="delivered"'))]: '3x60',
      [ofOther(c('deliveries_planned', 'sink="slack"'))]: '10x60',
    },
    quietAt: 20,
    firesAt: 60,
    firing: [],
  },
  {
    series: { [`up{${job}}`]: '1x5' },
    quietAt: 19,
    firesAt: 23,
    firing: [{ alert: 'ConnectorVanished', labels: { job: ofCopy.job } }],
  },
  {
    series: { [`up{${job}}`]: '1x5' },
    quietAt: 19,
    firesAt: 26 * 60,
    firing: [{ alert: 'ConnectorVanished', labels: {} }],
  },
  {
    // One tenant's job of two; after a day, it was taken away on purpose.
    series: { [ofTenant]: '1x5' },
    quietAt: 25 * 60,
    firesAt: 23 * 60,
    firing: [{ alert: 'ConnectorVanished', labels: { job: 'candidate-connector-eu' } }],
  },
  {
    // One of two replicas goes, which is told for a day; one that an update began beside the old one is none.
    series: { [ofOther(`up{${job}}`)]: '1x80', [`up{${job.replace('"a"', '"c"')}}`]: '_x100 1x4' },
    quietAt: 1440 + 106,
    firesAt: 1440 + 60,
    firing: [{ alert: 'ConnectorReplicaVanished', labels: { job: ofCopy.job }, value: '1' }],
  },
  {
    series: { [c('store_oldest_transaction_seconds')]: '3000+60x40' },
    quietAt: 20,
    firesAt: 22,
    firing: [{ alert: 'ConnectorStoreIsHeldBack', labels: ofCopy, value: '1h 12m 0s' }],
  },
  {
    // One alert for both of one tenant, and one for the other tenant's sink of the same name.
    series: {
      [c('sink_paused', 'sink="mail"')]: '0x5 1x30',
      [c('sink_failing', 'sink="mail"')]: '0x5 1x30',
      [ofOther(c('sink_paused', 'sink="mail"'))]: '0x35',
      [ofOther(c('sink_failing', 'sink="mail"'))]: '0x5 1x30',
    },
    quietAt: 19,
    firesAt: 22,
    firing: [
      { alert: 'ConnectorSinkPaused', labels: { ...ofCopy, sink: 'mail' } },
      { alert: 'ConnectorSinkFailing', labels: { ...ofCopy, instance: 'b', sink: 'mail' } },
    ],
  },
  {
    // A person has paused it, and then its backlog goes out.
    series: {
      [c('sink_paused_by_person', 'sink="mail"')]: '1x200 0x40',
      [c('sink_paused', 'sink="mail"')]: '1x200 0x40',
      [c('sink_failing', 'sink="mail"')]: '1x200 0x40',
      [c('sink_overdue_seconds', 'sink="mail"')]: '0+60x210 0x30',
      [c('sink_oldest_pending_age_seconds', 'sink="mail"')]: '345000+60x210 0x30',
    },
    quietAt: 190,
    firesAt: 230,
    firing: [],
  },
  {
    series: {
      [c('sink_paused_by_person', 'sink="mail"')]: '1x40',
      [c('sink_pause_forgotten', 'sink="mail"')]: '0x20 1x20',
    },
    quietAt: 20,
    firesAt: 27,
    firing: [{ alert: 'ConnectorPauseForgotten', labels: { ...ofCopy, sink: 'mail' } }],
  },
  {
    series: { [c('sink_overdue_seconds', 'sink="mail"')]: '0+60x60' },
    quietAt: 29,
    firesAt: 32,
    firing: [{ alert: 'ConnectorDeliversLate', labels: { ...ofCopy, sink: 'mail' }, value: '32m 0s' }],
  },
  {
    series: { [c('sink_oldest_pending_age_seconds', 'sink="mail"')]: '345000+60x200' },
    quietAt: 70,
    firesAt: 73,
    firing: [
      { alert: 'ConnectorDeliveryWaitsLong', labels: { ...ofCopy, sink: 'mail' }, value: '4d 1h 3m 0s' },
    ],
  },
  {
    series: { [c('config_reload_failed')]: '0x5 1x20' },
    quietAt: 9,
    firesAt: 12,
    firing: [{ alert: 'ConnectorConfigRefused', labels: ofCopy }],
  },
  {
    series: { [c('config_waits_for_restart')]: '0x5 2x100' },
    quietAt: 65,
    firesAt: 67,
    firing: [{ alert: 'ConnectorWaitsForRestart', labels: ofCopy }],
  },
  {
    series: { [c('copies', 'config="other"')]: '0x5 1x30' },
    quietAt: 20,
    firesAt: 22,
    firing: [{ alert: 'ConnectorConfigsDiffer', labels: { ...ofCopy, config: 'other' } }],
  },
  {
    series: {
      [c('last_event_timestamp_seconds')]: '-604000x100',
      // Another tenant, which hears of events.
      [ofOther(c('last_event_timestamp_seconds'))]: '0+60x100',
    },
    quietAt: 73,
    firesAt: 76,
    firing: [{ alert: 'ConnectorHearsNothing', labels: ofCopy, value: '7d 1h 2m 40s' }],
  },
  {
    series: { [c('refused_total', 'reason="address"')]: '0x5 1x20' },
    quietAt: 5,
    firesAt: 8,
    firing: [{ alert: 'ConnectorRefusesCallers', labels: { ...ofCopy, reason: 'address' } }],
  },
  {
    series: { [c('refused_events', 'reason="path"')]: '0x5 1x20' },
    quietAt: 5,
    firesAt: 8,
    firing: [{ alert: 'ConnectorRefusesCallers', labels: { ...ofCopy, reason: 'path' } }],
  },
  {
    // A scan.
    series: {
      [c('refused_total', 'reason="path"')]: '0+5x70',
      [c('refused_total', 'reason="method"')]: '0+5x70',
      [c('requests_total', 'result="refused"')]: '0+10x70',
    },
    quietAt: 5,
    firesAt: 60,
    firing: [],
  },
  {
    series: { [c('requests_total', 'result="invalid"')]: '0x5 1x20' },
    quietAt: 5,
    firesAt: 8,
    firing: [{ alert: 'ConnectorCannotReadEvents', labels: { ...ofCopy, result: 'invalid' } }],
  },
  {
    series: { [c('last_backup_age_seconds')]: '172000+60x100' },
    quietAt: 73,
    firesAt: 76,
    firing: [{ alert: 'ConnectorBackupIsOld', labels: ofCopy, value: '2d 1h 2m 40s' }],
  },
  {
    series: { [`nodejs_eventloop_lag_p99_seconds{${job}}`]: '0x5 0.8x20' },
    quietAt: 15,
    firesAt: 17,
    firing: [{ alert: 'ConnectorIsBlocked', labels: ofCopy }],
  },
  {
    series: { [c('log_lines_dropped_total')]: '0x5 7x20' },
    quietAt: 5,
    firesAt: 8,
    firing: [{ alert: 'ConnectorLogLinesDropped', labels: ofCopy }],
  },
  {
    series: { [`process_start_time_seconds{${job}}`]: '1 2 3 4 5x20' },
    quietAt: 3,
    firesAt: 6,
    firing: [{ alert: 'ConnectorRestarts', labels: ofCopy, value: '4' }],
  },
  {
    series: delays('no', '0+10x30', '0+5x30'),
    quietAt: 2,
    firesAt: 5,
    firing: [{ alert: 'ConnectorTellsLateFast', labels: ofCopy }],
  },
  {
    series: delays('no', '0+10x60', '0+9x60'),
    quietAt: 14,
    firesAt: 20,
    firing: [{ alert: 'ConnectorTellsLateSlowly', labels: ofCopy }],
  },
  {
    // Of Prometheus 3.
    series: delays('no', '0+10x30', '0+5x30', '60.0'),
    quietAt: 2,
    firesAt: 5,
    firing: [{ alert: 'ConnectorTellsLateFast', labels: ofCopy }],
  },
  {
    series: delays('no', '0+10x60', '0+9x60', '60.0'),
    quietAt: 14,
    firesAt: 20,
    firing: [{ alert: 'ConnectorTellsLateSlowly', labels: ofCopy }],
  },
  {
    // A digest that goes out once a day is late for nobody.
    series: { ...delays('no', '0+10x60', '0+10x60'), ...delays('yes', '0+90x60', '0x60') },
    quietAt: 20,
    firesAt: 60,
    firing: [],
  },
];

interface Rule {
  readonly alert: string;
  readonly labels: Labels;
  readonly annotations: Labels;
}

const rules = (parse(readFileSync(alerts, 'utf8')) as { groups: { rules: Rule[] }[] }).groups
  .flatMap((group) => group.rules)
  .filter(({ alert }) => alert !== undefined);

/** What promtool wants to hear of an alert: all of its labels and texts. */
function expected({ labels, annotations }: Rule, { labels: found, value = '' }: Firing) {
  const filled = (text: string) =>
    text
      .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => found[label] ?? '')
      .replaceAll(/\{\{ \$value.*?\}\}/g, value);
  const texts = Object.entries(annotations).map(([name, text]) => [name, filled(text)] as const);
  return { exp_labels: { ...labels, ...found }, exp_annotations: Object.fromEntries(texts) };
}

test('each alert is held by a case', () => {
  const held = new Set(cases.flatMap(({ firing }) => firing.map(({ alert }) => alert)));
  expect(rules.map(({ alert }) => alert).filter((alert) => !held.has(alert))).toEqual([]);
});

test('the alerts fire when they should, not before, and no other with them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'alerts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const at = (minute: number, firing: readonly Firing[]) =>
    rules.map((rule) => ({
      eval_time: `${minute}m`,
      alertname: rule.alert,
      exp_alerts: firing.filter(({ alert }) => alert === rule.alert).map((one) => expected(rule, one)),
    }));
  const tests = cases.map(({ series, quietAt, firesAt, firing }) => ({
    interval: '1m',
    input_series: Object.entries({ [`up{${job}}`]: '1x1600', ...series }).map(([name, values]) => ({
      series: name,
      values,
    })),
    alert_rule_test: [...at(quietAt, []), ...at(firesAt, firing)],
  }));
  const file = join(folder, 'test.yaml');
  writeFileSync(file, stringify({ rule_files: [alerts], evaluation_interval: '1m', tests }));
  expect(await promtool('test', 'rules', file)).toContain('SUCCESS');
  // promtool goes through a day minute by minute.
}, 300_000);
