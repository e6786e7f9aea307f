import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseAllDocuments, parseDocument, type Document } from 'yaml';
import { connectors } from '../../connectors/index.ts';
import { parseConfig } from '../../src/config/load.ts';
import { settingSchemas } from '../../src/config/settings.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { arrival, configId, prune, t0 } from '../contract/store-fixtures.ts';
import { run } from '../commands/tools.ts';
import { imageEnv, last, read } from './dockerfile.ts';

const text = read('docs/deploy.md');

const blocks = (language: string): string[] =>
  Array.from(
    text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms')),
    ([, block = '']) => block,
  );

const kubernetes = 'deploy/kubernetes';
const kustomization = parseDocument(read(`${kubernetes}/kustomization.yaml`));
const resources = (kustomization.get('resources') as { toJSON(): string[] }).toJSON();

const documents = [
  ...blocks('yaml'),
  ...resources.map((name) => read(`${kubernetes}/${name}`)),
].flatMap<Document.Parsed>((block) => parseAllDocuments(block));
const podConfig = read(`${kubernetes}/config.yaml`);

/** As GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

const podContainer = ['spec', 'template', 'spec', 'containers', 0];

const json = (document: Document, path: readonly (string | number)[]): unknown =>
  (document.getIn(path) as { toJSON(): unknown }).toJSON();

const compose = parseDocument(read('compose.yaml'));

interface Composed {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: object;
}

interface Service {
  readonly container_name?: string;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

interface Operation {
  readonly op: 'add' | 'replace' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}

interface Overlay {
  readonly resources: readonly string[];
  readonly patches: readonly { readonly target: { readonly kind: string }; readonly patch: string }[];
}

/** The manifests with an overlay's patches, as `kubectl kustomize` makes them. */
function patched({ patches }: Overlay): Document.Parsed[] {
  const made = documents.filter((document) => document.has('apiVersion')).map((document) => document.clone());
  for (const { target, patch } of patches) {
    const place = made.findIndex((document) => document.get('kind') === target.kind);
    const found = made[place]!;
    const changes = parseDocument(patch).toJS() as Operation[] | { readonly $patch: 'delete' };
    if (!Array.isArray(changes)) made.splice(place, 1);
    else
      for (const { op, path, value } of changes) {
        const keys = path.split('/').slice(1);
        if (found.hasIn(keys) !== (op !== 'add'))
          throw new Error(`${op} ${path} does not fit ${target.kind}`);
        if (op === 'remove') found.deleteIn(keys);
        else found.setIn(keys, found.createNode(value));
      }
  }
  return made as Document.Parsed[];
}

const overlay = 'deploy/kubernetes-two-copies';
const twoCopies = parseDocument(read(`${overlay}/kustomization.yaml`)).toJS() as Overlay;

function ofKind(kind: string, from: readonly Document[] = documents): Document {
  const found = from.find((document) => document.get('kind') === kind);
  if (!found) throw new Error(`no ${kind} in ${kubernetes}`);
  return found;
}

/** Checks a config as `check` would, with every secret file there. */
const problemsOf = (config: string) =>
  parseConfig(config, 'config.yaml', {
    connectors,
    env: { ADMIN_PASSWORD: 'a-password' },
    readFile: () => 'a-secret',
  }).warnings;

describe('docs/deploy.md', () => {
  test('has YAML without faults', () => {
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    expect(documents.length).toBeGreaterThan(6);
  });

  test('links to its own headings', () => {
    const headings = new Set(
      Array.from(text.matchAll(/^#+ (.*)$/gm), ([, heading = '']) => anchorOf(heading)),
    );
    const links = Array.from(text.matchAll(/\]\(#([^)]+)\)/g), ([, link = '']) => link);
    expect(links.filter((link) => !headings.has(link))).toEqual([]);
  });

  test('shows configs that the connector takes', () => {
    expect(problemsOf(podConfig)).toEqual([]);
    const admin = blocks('yaml').find((block) => block.startsWith('admin:')) ?? '';
    const rest = podConfig.replace(/^admin:\n(?: .*\n)+/m, '');
    expect(problemsOf(admin + rest)).toEqual([]);
  });

  test('mounts what the image expects where it expects it', () => {
    const deployment = ofKind('Deployment');
    const mounts = (
      deployment.getIn([...podContainer, 'volumeMounts']) as { toJSON(): { mountPath: string }[] }
    ).toJSON();
    const paths = mounts.map(({ mountPath }) => mountPath);
    expect(paths).toContain(dirname(imageEnv()['CONNECTOR_CONFIG'] ?? ''));
    expect(paths).toContain(last('VOLUME'));
    expect(deployment.getIn([...podContainer, 'ports', 0, 'containerPort'])).toBe(Number(last('EXPOSE')));
    expect(text).toContain(`:${dirname(imageEnv()['CONNECTOR_CONFIG'] ?? '')}:ro`);
    expect(text).toContain(`connector-data:${last('VOLUME')} `);
  });

  test('begins with a config that there is, and says where its schema is then', () => {
    const [, from = '', to = ''] = /^cp (\S+) (\S+)$/m.exec(text) ?? [];
    expect(`/${to}`).toBe(imageEnv()['CONNECTOR_CONFIG']);
    const [, schema = ''] = /\$schema=(\S+)`/.exec(text) ?? [];
    expect(join(dirname(to), schema)).toBe('config.schema.json');
    expect(read(from)).toContain(`$schema=./${basename(schema)}\n`);
  });

  test('has the key of the service account at one place', () => {
    const mounts = text.match(/google\.json:(\S+):ro"/g);
    expect(mounts).toEqual(Array(2).fill('google.json:/run/secrets/google.json:ro"'));
    const override = documents.find((document) => document.hasIn(['services', 'connector']));
    expect(override?.getIn(['services', 'connector', 'secrets', 0])).toBe('google.json');
    expect(text).toContain('`GOOGLE_CREDENTIALS=/run/secrets/google.json`');
    expect(read('config.example.yaml')).toContain('${GOOGLE_CREDENTIALS}');
  });

  test('calls the container by the name that it has', () => {
    const called = Array.from(
      text.matchAll(/docker (?:exec|kill --signal \w+|cp) ([\w-]+)/g),
      ([, name]) => name,
    );
    expect(new Set(called)).toEqual(new Set([compose.getIn(['services', 'connector', 'container_name'])]));
    expect(text).toContain(`docker run -d --name ${called[0]} `);
    expect(ofKind('Deployment').getIn(['metadata', 'name'])).toBe(called[0]);
  });

  test('names commands and options that there are', async () => {
    const named = Array.from(
      text.matchAll(/candidate-connector (events|send|check|backup)\b([^`|]*)/g),
      ([, command = '', rest = '']) => ({ command, options: rest.match(/--[a-z]+/g) ?? [] }),
    );
    expect(named.length).toBeGreaterThan(4);
    for (const { command, options } of named) {
      const { out } = await run([command, '--help']);
      for (const option of options) expect(out).toContain(` ${option} `);
    }
  });

  test('lets Prometheus in where the Service is, and names what answers the Ingress', () => {
    const named = (kind: string, path: (string | number)[]) =>
      (ofKind(kind).getIn(path) as { toJSON(): { name: string; targetPort?: string }[] }).toJSON();
    const container = named('Deployment', ['spec', 'template', 'spec', 'containers', 0, 'ports']);
    const service = named('Service', ['spec', 'ports']);
    expect(service.map(({ name, targetPort }) => [name, targetPort])).toEqual(
      container.map(({ name }) => [name, name]),
    );
    expect(ofKind('Ingress').getIn(['spec', 'ingressClassName'])).toEqual(expect.any(String));
  });

  test('has room for the memory that was measured under load', () => {
    const limits = ['spec', 'template', 'spec', 'containers', 0, 'resources', 'limits', 'memory'];
    const [, measured = ''] = /(\d+) MB with all four tools/.exec(text) ?? [];
    const [, limit = ''] = /^(\d+)Mi$/.exec(String(ofKind('Deployment').getIn(limits))) ?? [];
    expect(Number(measured)).toBeGreaterThan(0);
    expect(Number(limit)).toBeGreaterThanOrEqual(2 * Number(measured));
  });

  test('lets Compose read .env as docker run does', () => {
    const env = compose.getIn(['services', 'connector', 'env_file']) as { toJSON(): unknown };
    expect(env.toJSON()).toEqual([{ path: '.env', format: 'raw' }]);
    expect(text).toContain('--env-file .env');
  });

  test('starts, by compose.yaml, what the image expects, as docker run does', () => {
    expect(compose.errors).toEqual([]);
    const connector = compose.getIn(['services', 'connector']) as { toJSON(): Record<string, unknown> };
    const { volumes, ports, cap_drop, security_opt, read_only, stop_grace_period, logging } =
      connector.toJSON();
    expect(volumes).toEqual([
      `./config:${dirname(imageEnv()['CONNECTOR_CONFIG'] ?? '')}:ro`,
      `data:${last('VOLUME')}`,
    ]);
    expect(ports).toEqual([`127.0.0.1:8080:${last('EXPOSE')}`]);
    expect([cap_drop, security_opt, read_only]).toEqual([['ALL'], ['no-new-privileges:true'], true]);
    expect([stop_grace_period, logging]).toEqual(['15s', { driver: 'local' }]);
    expect(text).toContain(' --log-driver local ');
    expect(read('README.md')).toContain('docker compose up -d');
  });

  test('starts, by compose.ha.yaml, three copies with the same care, where HAProxy looks for them', () => {
    const ha = parseDocument(read('compose.ha.yaml'));
    const { services, volumes } = ha.toJS() as Composed;
    const {
      container_name: _,
      ports,
      volumes: mounts,
      ...same
    } = (compose.toJS() as Composed).services['connector']!;
    const copies = Object.keys(services).filter((name) => name.startsWith('connector-'));
    const haproxy = read('deploy/haproxy.cfg');
    expect(haproxy.match(/(?<=^  presetenv COPY_\d )\S+/gm)).toEqual(
      copies.map((name) => `${name}:${last('EXPOSE')}`),
    );
    expect(haproxy.match(/(?<=^  server )\S+ \S+/gm)).toEqual(
      copies.map((name, n) => `${name} "\${COPY_${n + 1}}"`),
    );
    expect(copies).toHaveLength(3);
    for (const name of copies) expect(services[name]).toMatchObject({ ...same, volumes: [mounts![0]] });
    expect(services['haproxy']).toMatchObject({
      ports,
      volumes: [expect.stringMatching('^./deploy/haproxy.cfg:')],
    });
    expect(Object.keys(volumes)).toEqual(['postgres']);
    const { STORE_URL: url = '' } = services[copies[0]!]!.environment!;
    expect(settingSchemas.store.parse({ url: url.replace(/\$\{.*?\}/, 'password') }).url).toContain(
      '@postgres/',
    );
    expect(Object.keys(services)).toContain('postgres');
    for (const name of ['STORE_URL', 'TRUST_PROXY', 'HOST', 'PORT', 'ADMIN_PORT', 'ALLOW_FROM'])
      expect(read('config.example.yaml')).toContain(`\${${name}:-`);
  });

  test('runs one pod at a time', () => {
    expect(ofKind('Deployment').getIn(['spec', 'replicas'])).toBe(1);
    expect(ofKind('Deployment').getIn(['spec', 'strategy', 'type'])).toBe('Recreate');
  });

  test('runs two copies at a time on PostgreSQL, and one at least during an update or a drain', () => {
    expect(twoCopies.resources).toEqual([`../${basename(kubernetes)}`]);
    const made = patched(twoCopies);
    const deployment = ofKind('Deployment', made);
    expect(deployment.getIn(['spec', 'replicas'])).toBe(2);
    expect(json(deployment, ['spec', 'strategy', 'rollingUpdate'])).toEqual({
      maxSurge: 1,
      maxUnavailable: 0,
    });
    expect(ofKind('PodDisruptionBudget', made).getIn(['spec', 'maxUnavailable'])).toBe(1);
    expect(made.map((document) => document.get('kind'))).not.toContain('PersistentVolumeClaim');
    const [volumes, mounts] = [
      ['spec', 'template', 'spec', 'volumes'],
      [...podContainer, 'volumeMounts'],
    ].map((path) => (json(deployment, path) as { name: string }[]).map(({ name }) => name));
    expect(volumes).toEqual(['config', 'secrets']);
    expect(mounts).toEqual(volumes);
    const variable = json(deployment, [...podContainer, 'env', 0]) as {
      readonly name: string;
      readonly valueFrom: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
    };
    expect(podConfig).toContain(`\${${variable.name}:-sqlite:`);
    const { name, key } = variable.valueFrom.secretKeyRef;
    expect(text).toContain(`kubectl create secret generic ${name} --from-literal=${key}=postgres://`);
    const spread = json(deployment, ['spec', 'template', 'spec', 'topologySpreadConstraints', 0]);
    expect(spread).toMatchObject({
      labelSelector: { matchLabels: json(deployment, ['spec', 'template', 'metadata', 'labels']) },
    });
    expect(text).toContain(`kubectl apply -k ${overlay}\n`);
  });

  test('refers only to objects that it makes', () => {
    const spec = ['spec', 'template', 'spec', 'volumes'];
    const deployment = ofKind('Deployment');
    expect(json(kustomization, ['configMapGenerator', 0])).toEqual({
      name: deployment.getIn([...spec, 0, 'configMap', 'name']),
      files: ['config.yaml'],
    });
    expect(kustomization.getIn(['images', 0, 'name'])).toBe(
      deployment.getIn(['spec', 'template', 'spec', 'containers', 0, 'image']),
    );
    expect(deployment.getIn([...spec, 2, 'persistentVolumeClaim', 'claimName'])).toBe(
      ofKind('PersistentVolumeClaim').getIn(['metadata', 'name']),
    );
    const [secret = ''] = /kubectl create secret generic (.*\\\n)+.*/.exec(text) ?? [];
    expect(secret).toContain(`generic ${String(deployment.getIn([...spec, 1, 'secret', 'secretName']))} `);
    const files = Array.from(
      podConfig.matchAll(/\/run\/secrets\/connector\/([\w-]+)/g),
      ([, name = '']) => name,
    );
    expect(files.toSorted()).toEqual(
      Array.from(secret.matchAll(/--from-literal=([\w-]+)=/g), ([, name = '']) => name).toSorted(),
    );
  });

  test.each([
    ['one copy', documents],
    ['two copies', patched(twoCopies)],
  ])('selects the pods of %s everywhere, and names ports that they have', (_name, made) => {
    const find = (kind: string) => ofKind(kind, made);
    const labels = json(find('Deployment'), ['spec', 'template', 'metadata', 'labels']);
    for (const [kind, path] of [
      ['Deployment', ['spec', 'selector', 'matchLabels']],
      ['PodDisruptionBudget', ['spec', 'selector', 'matchLabels']],
      ['NetworkPolicy', ['spec', 'podSelector', 'matchLabels']],
      ['Service', ['spec', 'selector']],
    ] as const)
      expect(json(find(kind), path)).toEqual(labels);
    const ports = new Set(
      Array.from(
        JSON.stringify(json(find('Deployment'), [...podContainer, 'ports'])).matchAll(/"name":"(\w+)"/g),
        ([, name]) => name,
      ),
    );
    const probed = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((probe) =>
      find('Deployment').getIn([...podContainer, probe, 'httpGet', 'port']),
    );
    const admitted = [0, 1].map((rule) =>
      find('NetworkPolicy').getIn(['spec', 'ingress', rule, 'ports', 0, 'port']),
    );
    const path = ['spec', 'rules', 0, 'http', 'paths', 0];
    const served = find('Ingress').getIn([...path, 'backend', 'service', 'port', 'name']);
    expect([...probed, ...admitted, served].filter((port) => !ports.has(port as string))).toEqual([]);
    expect(new Set(admitted)).toEqual(ports);
    expect(find('Ingress').getIn([...path, 'path'])).toBe(settingSchemas.receiver.parse({}).path);
    expect(find('Ingress').getIn([...path, 'backend', 'service', 'name'])).toBe(
      find('Service').getIn(['metadata', 'name']),
    );
  });
});

describe('the units for systemd', () => {
  const unit = (kind: string) => read(`deploy/systemd/candidate-connector.${kind}`);

  test('have only sections and keys, and start what there is', () => {
    for (const kind of ['socket', 'service'])
      for (const line of unit(kind).split('\n'))
        expect(line).toMatch(/^$|^#|^\[(Unit|Socket|Service|Install)\]$|^[A-Z]\w+=/);
    const [, main = ''] =
      /^ExecStart=\/usr\/bin\/node \/opt\/candidate-connector\/(\S+) serve$/m.exec(unit('service')) ?? [];
    expect(read(main)).toContain("import('./commands/program.ts')");
    expect(unit('service')).toContain('Requires=candidate-connector.socket\n');
  });

  test('listen where the proxies of the page connect to', () => {
    const [, address = ''] = /^ListenStream=(.*)$/m.exec(unit('socket')) ?? [];
    expect(text).toContain(`proxy_pass http://${address};`);
    expect(text).toContain(`server connector ${address}\n`);
    expect(text).toContain(`reverse_proxy /webhooks/candidates ${address} {`);
  });
});

describe('the documented care of the store', () => {
  let folder = '';
  let store: Store;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'care-'));
    store = await openSqlite(join(folder, 'connector.db'), { serve: true });
    await store.saveConfig({ id: configId, source: { rules: [] }, savedAt: t0 });
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  /** Runs each script of the page that this is found in, as a shell would pass it. */
  async function runScripts(containing: string): Promise<number> {
    const scripts = Array.from(text.matchAll(/ -e "(.*)"$/gm), ([, script = '']) => script).filter((script) =>
      script.includes(containing),
    );
    for (const script of scripts) {
      const passed = script.replaceAll('\\"', '"').replaceAll('/data/', `${folder}/`);
      await promisify(execFile)(process.execPath, ['-e', passed]);
    }
    return scripts.length;
  }

  test('makes a whole backup while the connector runs, also where there is one already', async () => {
    const [, argv = ''] = /^docker exec connector candidate-connector (backup .*)$/m.exec(text) ?? [];
    const command = [
      ...argv.replace('/data/', `${folder}/`).split(' '),
      '--store',
      `sqlite:${folder}/connector.db`,
    ];
    for (const count of [1, 2]) {
      await store.accept(arrival());
      expect(await run(command)).toMatchObject({ code: 0, err: '' });
      const backup = new DatabaseSync(join(folder, 'backup.db'));
      expect(backup.prepare('select count(*) as n from events').get()).toEqual({ n: count });
      backup.close();
    }
  });

  test('shrinks the file, while the connector runs too', async () => {
    const raw = { filler: 'x'.repeat(10_000) };
    const old = Array.from({ length: 100 }, () => arrival({ raw }, { deliveries: [] }));
    await Promise.all(old.map((one) => store.accept(one)));
    await prune(store, t0 + 1, 1000);
    const young = await store.accept(arrival({ receivedAt: t0 + 1 }));
    expect(await runScripts('vacuum;')).toBe(1);
    expect((await stat(join(folder, 'connector.db'))).size).toBeLessThan(500_000);
    await store.accept(arrival());
    expect(await store.event(young.eventId)).not.toBeNull();
    expect(await runScripts("'vacuum'")).toBe(1);
  });
});
