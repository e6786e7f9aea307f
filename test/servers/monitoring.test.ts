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

const ofOther = (series: string) => series.replace('"a"', '"b"');

type Labels = Readonly<Record<string, string>>;

interface Firing {
  readonly alert: string;
  readonly labels: Labels;
  /** As its text has it. */
  readonly value?: string;
}

const ofCopy = { job: 'candidate-connector', instance: 'a' };

/** What Prometheus sees, a minute apart; until when it is quiet, and which one alert it raises by when. */
const cases: readonly { series: Labels; quietAt: number; firesAt: number; firing: Firing | null }[] = [
  {
    series: { [`up{${job}}`]: '1x5 0x10' },
    quietAt: 7,
    firesAt: 9,
    firing: { alert: 'ConnectorDown', labels: ofCopy },
  },
  {
    series: { [c('requests_total', 'result="failed"')]: '0x5 3x20' },
    quietAt: 5,
    firesAt: 8,
    firing: { alert: 'ConnectorCannotStore', labels: { ...ofCopy, result: 'failed' } },
  },
  {
    series: {
      [c('deliveries', 'sink="slack", state="dead"')]: '0x5 2x20',
      [c('deliveries', 'sink="slack", state="pending"')]: '2x5 0x20',
      [c('deliveries_planned', 'sink="slack"')]: '2x25',
      // A second copy says the same of the same store.
      [ofOther(c('deliveries', 'sink="slack", state="dead"'))]: '0x5 2x20',
      [ofOther(c('deliveries_planned', 'sink="slack"'))]: '0x5 2x20',
    },
    quietAt: 9,
    firesAt: 12,
    firing: { alert: 'ConnectorNeedsPerson', labels: { sink: 'slack', state: 'dead' }, value: '2' },
  },
  {
    series: {
      [c('deliveries', 'sink="slack", state="pending"')]: '2x5 1x30',
      [c('deliveries_planned', 'sink="slack"')]: '2x35',
    },
    quietAt: 19,
    firesAt: 22,
    firing: { alert: 'ConnectorLostDelivery', labels: { ...ofCopy, sink: 'slack' } },
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
    firing: null,
  },
  {
    series: { [`up{${job}}`]: '1x5' },
    quietAt: 19,
    firesAt: 23,
    firing: { alert: 'ConnectorVanished', labels: { job: ofCopy.job } },
  },
  {
    series: { [ofOther(`up{${job}}`)]: '1x65' },
    quietAt: 79,
    firesAt: 83,
    firing: { alert: 'ConnectorVanished', labels: { job: ofCopy.job } },
  },
  {
    series: { [c('store_oldest_transaction_seconds')]: '3000+60x40' },
    quietAt: 20,
    firesAt: 22,
    firing: {
      alert: 'ConnectorStoreIsHeldBack',
      labels: { job: ofCopy.job },
      value: '1h 12m 0s',
    },
  },
  {
    // One alert for both.
    series: { [c('sink_paused', 'sink="mail"')]: '0x5 1x30', [c('sink_failing', 'sink="mail"')]: '0x5 1x30' },
    quietAt: 19,
    firesAt: 22,
    firing: { alert: 'ConnectorSinkPaused', labels: { sink: 'mail' } },
  },
  {
    series: { [c('sink_failing', 'sink="mail"')]: '0x5 1x30' },
    quietAt: 19,
    firesAt: 22,
    firing: { alert: 'ConnectorSinkFailing', labels: { sink: 'mail' } },
  },
  {
    series: { [c('overdue_seconds')]: '0+60x60' },
    quietAt: 29,
    firesAt: 32,
    firing: { alert: 'ConnectorDeliversLate', labels: {}, value: '32m 0s' },
  },
  {
    series: { [c('config_reload_failed')]: '0x5 1x20' },
    quietAt: 9,
    firesAt: 12,
    firing: { alert: 'ConnectorConfigRefused', labels: ofCopy },
  },
  {
    series: { [c('last_event_timestamp_seconds')]: '0x11000' },
    quietAt: 7 * 1440 + 59,
    firesAt: 7 * 1440 + 62,
    firing: { alert: 'ConnectorHearsNothing', labels: {}, value: '7d 1h 2m 0s' },
  },
];

interface Rule {
  readonly alert: string;
  readonly labels: Labels;
  readonly annotations: Labels;
}

const rules = (parse(readFileSync(alerts, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);

/** What promtool wants to hear of an alert: all of its labels and texts. */
function expected({ labels, annotations }: Rule, { labels: found, value = '' }: Firing) {
  const filled = (text: string) =>
    text
      .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => found[label] ?? '')
      .replaceAll(/\{\{ \$value.*?\}\}/g, value);
  const texts = Object.entries(annotations).map(([name, text]) => [name, filled(text)] as const);
  return { exp_labels: { ...labels, ...found }, exp_annotations: Object.fromEntries(texts) };
}

test('the alerts fire when they should, not before, and no other with them', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'alerts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const at = (minute: number, firing: Firing | null) =>
    rules.map((rule) => ({
      eval_time: `${minute}m`,
      alertname: rule.alert,
      exp_alerts: rule.alert === firing?.alert ? [expected(rule, firing)] : [],
    }));
  const tests = cases.map(({ series, quietAt, firesAt, firing }) => ({
    interval: '1m',
    input_series: Object.entries({ [`up{${job}}`]: '1x11000', ...series }).map(([name, values]) => ({
      series: name,
      values,
    })),
    alert_rule_test: [...at(quietAt, null), ...at(firesAt, firing)],
  }));
  const file = join(folder, 'test.yaml');
  writeFileSync(file, stringify({ rule_files: [alerts], evaluation_interval: '1m', tests }));
  expect(await promtool('test', 'rules', file)).toContain('SUCCESS');
});
