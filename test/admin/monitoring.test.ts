import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { openPostgres } from '../../src/store/postgres.ts';
import { scraped } from '../commands/tools.ts';
import { PostgresServer, sql } from '../fixtures/postgres.ts';

const docs = (name: string) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8');

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook: string };
}

const dashboard = JSON.parse(docs('grafana.json')) as { readonly panels: readonly Panel[] };
const targets = dashboard.panels.flatMap((panel) => panel.targets ?? []);
const rules = (parse(docs('alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups
  .flatMap((group) => group.rules)
  .filter(({ alert }) => alert !== undefined);

/** The scrape is of a store in SQLite that has no backup, by a config without look-ups. */
const elsewhere = `candidate_connector_last_backup_age_seconds 0
candidate_connector_store_oldest_transaction_seconds 0
candidate_connector_lookups_total{lookup="candidate",outcome="answered"} 1
`;

/** What each sample of a real scrape is called, and its labels. */
let samples: { readonly name: string; readonly labels: Readonly<Record<string, string>> }[] = [];

test('a real scrape has every metric and label that dashboard, alerts and pages name, with what to do', async () => {
  samples = samplesIn((await scraped()) + elsewhere);
  expect(samples).not.toEqual([]);
  expectDashboardKnown();
  expectAlertsKnown();
  expectPagesKnown();
});

const labelPattern = /(\w+)="([^"]*)"/g;

function samplesIn(text: string): typeof samples {
  return Array.from(text.matchAll(/^(\w+)(?:\{(.*)\})? /gm), ([, name = '', labels = '']) => ({
    name,
    labels: Object.fromEntries(
      Array.from(labels.matchAll(labelPattern), ([, label = '', value = '']) => [label, value]),
    ),
  }));
}

/** These come from Prometheus. */
const ofPrometheus = ['job', 'instance'];

/** What an expression or a text of ours names that no scrape has, in words. */
function unknownIn(text: string): string[] {
  const selectors = text.matchAll(/\b((?:candidate_connector|nodejs|process)_\w+)(?:\{([^}]*)\})?/g);
  return Array.from(selectors, ([, name = '', matchers = '']) => {
    const named = samples.filter((sample) => sample.name === name);
    if (named.length === 0) return [`no metric ${name}`];
    return Array.from(matchers.matchAll(/(\w+) *(?:=~?"([^"]*)")?/g), ([, label = '', values]) => {
      if (ofPrometheus.includes(label)) return [];
      const known = new Set(named.map(({ labels }) => labels[label]));
      if (known.has(undefined)) return [`${name} has no label ${label}`];
      const asked = values === undefined ? [] : values.split(/\\?\|/);
      return asked.filter((value) => !known.has(value)).map((value) => `${name} has no ${label}="${value}"`);
    }).flat();
  }).flat();
}

/** Labels that an expression groups by, or a text prints, and none of its metrics has. */
function unknownLabels(expr: string, text: string): string[] {
  const names = new Set(Array.from(expr.matchAll(/\b[a-z]+_\w+/g), ([name]) => name));
  const known = new Set([
    ...ofPrometheus,
    ...samples.filter(({ name }) => names.has(name)).flatMap(({ labels }) => Object.keys(labels)),
  ]);
  const grouped = Array.from(expr.matchAll(/\bby \(([^)]*)\)/g), ([, list = '']) => list.split(/, */)).flat();
  const printed = Array.from(text.matchAll(/\{\{ *(?:\$labels\.)?(\w+) *\}\}/g), ([, label = '']) => label);
  return [...grouped, ...printed].filter((label) => !known.has(label));
}

function expectDashboardKnown(): void {
  expect(targets.length).toBeGreaterThan(20);
  for (const { expr, legendFormat } of targets) {
    expect({ expr, unknown: unknownIn(expr) }).toEqual({ expr, unknown: [] });
    expect({ expr, unknown: unknownLabels(expr, legendFormat) }).toEqual({ expr, unknown: [] });
  }
}

describe('the dashboard', () => {
  test('has its rows in order, each id once, and no panel upon another', () => {
    const { panels } = dashboard;
    expect(panels.filter(({ type }) => type === 'row').map(({ title }) => title)).toEqual([
      'Receiver',
      'Deliveries',
      'Sinks',
      'Store',
      'Process',
    ]);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
  });

  test('is bound to no data source of ours, so that it imports anywhere', () => {
    const sources = new Set(docs('grafana.json').match(/"uid": ".*?"/g));
    expect([...sources].toSorted()).toEqual(['"uid": "${datasource}"', '"uid": "candidate-connector"']);
  });
});

function expectAlertsKnown(): void {
  expect(rules.length).toBeGreaterThan(10);
  for (const { alert, expr, for: pending, labels, annotations } of rules) {
    const { summary, description } = annotations;
    expect({ alert, unknown: unknownIn(expr) }).toEqual({ alert, unknown: [] });
    expect({ alert, unknown: unknownLabels(expr, summary + description) }).toEqual({ alert, unknown: [] });
    expect(pending).toMatch(/^\d+[mh]$/);
    expect(labels.severity).toMatch(/^(page|ticket)$/);
    expect(description.length).toBeGreaterThan(40);
  }
}

test('each alert names its row of On call, and that row the alert', () => {
  const cells = docs('operating.md').matchAll(/^\| (.*?) +\| (none|Connector.*?) +\| /gm);
  const rows = new Map(Array.from(cells, ([, row = '', named = '']) => [row, named.split(', ')]));
  const beside = rules.map(({ alert, annotations: { runbook } }) => {
    const [page, row = ''] = runbook.split(', On call: ');
    const named = ['dead', 'held'].map((state) => rows.get(row.replace('{{ $labels.state }}', state)));
    return [alert, page, named.every((alerts) => alerts?.includes(alert))];
  });
  expect(beside).toEqual(rules.map(({ alert }) => [alert, 'docs/operating.md', true]));
  const known = new Set(['none', ...rules.map(({ alert }) => alert)]);
  expect([...rows.values()].flat().filter((alert) => !known.has(alert))).toEqual([]);
});

test('what the alert about a long transaction asks PostgreSQL finds each that the metric counts, and no other', async () => {
  const { description } = rules.find(({ alert }) => alert === 'ConnectorStoreIsHeldBack')!.annotations;
  const asked = Array.from(description.matchAll(/`(select [^`]* from [^`]*)`/g), ([, text = '']) => text);
  const server = await PostgresServer.start({ max_prepared_transactions: '1' });
  try {
    await sql(server.url(), 'create database elsewhere');
    const [another, between] = ['elsewhere', 'postgres'].map(
      (database) => new Client({ connectionString: server.url(database) }),
    ) as [Client, Client];
    await Promise.all([another.connect(), between.connect()]);
    await another.query('begin; select 1 as another');
    await between.query(`begin; create table mine (a int); prepare transaction 'forgotten'`);
    const answers = await Promise.all(asked.map((text) => between.query(text)));
    const found = JSON.stringify(answers.flatMap(({ rows }) => rows as unknown[]));
    await Promise.all([another.end(), between.end()]);
    const store = await openPostgres(`${server.url()}?schema=ours`);
    const counted = (await store.vitals(0)).oldestTransactionMs;
    await store.close();
    expect(counted).toBeGreaterThan(0);
    expect(found).toContain('forgotten');
    expect(found).not.toContain('as another');
  } finally {
    await server.remove();
  }
});

function expectPagesKnown(): void {
  const page = docs('monitoring.md');
  const rows = Array.from(page.matchAll(/^\| `(.*?)` +\|/gm), ([, cell = '']) => cell.split('`, `')).flat();
  const named = rows.map((name) => `candidate_connector_${name}`);
  expect([...named, page, docs('deploy.md')].flatMap((text) => unknownIn(withoutHistograms(text)))).toEqual(
    [],
  );
  const ours = samples.map(({ name }) => name).filter((name) => name.startsWith('candidate_connector_'));
  const missing = new Set(ours.map((name) => name.replace(/_(bucket|sum|count)$/, '')));
  for (const name of named) missing.delete(name.replace(/\{.*/, ''));
  expect([...missing]).toEqual([]);
}

const withoutHistograms = (text: string): string =>
  text.replaceAll(/\b(candidate_connector_(?:accept_duration|delivery_delay)_seconds)(?!_)/g, '$1_count');
