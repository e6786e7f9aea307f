import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseEnv, promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { openSqlite } from '../../src/store/sqlite.ts';
import { arrival, configId, t0 } from '../contract/store-fixtures.ts';
import { run } from '../commands/tools.ts';
import { read, root } from './dockerfile.ts';

const objects = ['connector', 'network', 'backup'].flatMap((file) =>
  parseAllDocuments(read(`deploy/kubernetes/${file}.yaml`)).map((document) => document.toJS()),
);
const ofKind = (kind: string) => objects.find((object) => object.kind === kind);
const deployment = ofKind('Deployment').spec.template;
const backupPod = ofKind('CronJob').spec.jobTemplate.spec.template;

test('the Prometheus Operator gets the alerts that the pages have; `vitest -u` writes them anew', async () => {
  const [, groups = ''] = /^(groups:\n.*)$/ms.exec(read('docs/alerts.yaml')) ?? [];
  const made = `# Those of docs/alerts.yaml: \`npx vitest run test/container -u\` writes them here.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: connector
spec:
${groups.trimEnd().replaceAll(/^(?=.)/gm, '  ')}
`;
  expect(parse(made).spec).toEqual(parse(read('docs/alerts.yaml')));
  await expect(made).toMatchFileSnapshot(join(root, 'deploy/kubernetes-monitoring/rules.yaml'));
});

test('the Prometheus Operator finds the metrics, and calls the job as the alerts do', () => {
  const { spec } = parse(read('deploy/kubernetes-monitoring/monitor.yaml'));
  const service = ofKind('Service');
  expect(service.metadata.labels).toMatchObject(spec.selector.matchLabels);
  const [{ port, relabelings, basicAuth }] = spec.endpoints;
  expect(service.spec.ports.map(({ name }: { name: string }) => name)).toContain(port);
  expect(read('docs/alerts.yaml')).toContain(
    `${relabelings[0].targetLabel}=~"${relabelings[0].replacement}.*"`,
  );
  expect(basicAuth.password.name).toBe(deployment.spec.volumes[1].secret.secretName);
  // The one for the metrics alone: whoever reads Prometheus' secrets may change nothing.
  const { admin } = parse(read('deploy/kubernetes/config.yaml'));
  expect(admin.metrics).toBe(`\${file:/run/secrets/connector/${basicAuth.password.key}}`);
});

test('the backups of Kubernetes are beside the connector, on its volume, and no pod of its Service', () => {
  const [data] = backupPod.spec.volumes;
  expect(data).toEqual(deployment.spec.volumes.find(({ name }: { name: string }) => name === data.name));
  const [{ labelSelector }] =
    backupPod.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution;
  expect(labelSelector.matchLabels).toEqual(deployment.metadata.labels);
  expect(backupPod.metadata.labels).not.toMatchObject(ofKind('Service').spec.selector);
  expect(backupPod.spec.securityContext).toEqual(deployment.spec.securityContext);
  expect(read('deploy/kubernetes/kustomization.yaml')).toContain('- backup.yaml\n');
});

test.each([
  ['CronJob', () => backupPod.spec.containers[0].args[0] as string],
  ['timer of systemd', () => read('deploy/systemd/candidate-connector-backup.service')],
])('the command of the %s makes a backup while the connector runs', async (_, command) => {
  const folder = await mkdtemp(join(tmpdir(), 'backup-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const store = await openSqlite(join(folder, 'connector.db'), { serve: true });
  onTestFinished(() => store.close());
  await store.saveConfig({ id: configId, source: { rules: [] }, savedAt: t0 });
  await store.accept(arrival());
  const [, options = '', from = '', to = ''] =
    /(backup --overwrite --store) sqlite:\/\S*?([^/]+\.db) \/\S*?([^/]+-\$+\(date \+%+u\)\.db)/.exec(
      command(),
    ) ?? [];
  const target = join(folder, to.replaceAll(/\$+\(.*?\)/g, '1'));
  const done = await run([...options.split(' '), `sqlite:${join(folder, from)}`, target]);
  expect(done).toMatchObject({ code: 0, err: '' });
  const copy = new DatabaseSync(target);
  expect(copy.prepare('select count(*) as n from events').get()).toEqual({ n: 1 });
  copy.close();
});

test('the first start by systemd makes a password for the operations page, and later ones keep it', async () => {
  const unit = read('deploy/systemd/candidate-connector.service');
  const folder = await mkdtemp(join(tmpdir(), 'unit-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [, script = ''] = /^ExecStartPre=\/bin\/sh -c '(.*)'$/m.exec(unit) ?? [];
  const [, stateFolder = '', name = ''] = /^EnvironmentFile=-(\/var\/lib\/[^/\n]+)\/(.*)$/m.exec(unit) ?? [];
  expect(unit).toContain(`\nWorkingDirectory=${stateFolder}\n`);
  const started = async () => {
    // In a unit's line systemd reads $$ as $.
    await promisify(execFile)('/bin/sh', ['-c', script.replaceAll('$$', () => '$')], { cwd: folder });
    return parseEnv(await readFile(join(folder, name), 'utf8'))['ADMIN_PASSWORD'] ?? '';
  };
  const password = await started();
  expect(password.length).toBeGreaterThanOrEqual(24);
  expect(await started()).toBe(password);
  await rm(join(folder, name));
  expect(await started()).not.toBe(password);
});

test('each probe says how long it waits, and the memory asked for is that of a busy connector', () => {
  const [container] = deployment.spec.containers;
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
    expect(container[probe].timeoutSeconds).toBeGreaterThan(0);
  const [, measured = ''] = /(\d+) MB at 100 events a second/.exec(read('docs/deploy.md')) ?? [];
  expect(Number(measured)).toBeGreaterThan(0);
  expect(Number.parseInt(container.resources.requests.memory) * 1.048_576).toBeGreaterThan(
    1.3 * Number(measured),
  );
});

test('the connector reaches what its tools need, and nothing that answers on the plain port of the web', () => {
  const ports = ofKind('NetworkPolicy').spec.egress.flatMap(
    ({ ports: some }: { ports: { port: number }[] }) => some.map(({ port }) => port),
  );
  expect(new Set(ports)).toEqual(new Set([53, 443, 465, 587]));
});
