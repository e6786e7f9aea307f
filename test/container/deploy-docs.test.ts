import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, matchesGlob } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { connectors } from '../../connectors/index.ts';
import { parseConfig } from '../../src/config/load.ts';
import { settingSchemas } from '../../src/config/settings.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { arrival, configId, prune, t0 } from '../contract/store-fixtures.ts';
import { run } from '../commands/tools.ts';
import { imageEnv, last, read, root } from './dockerfile.ts';

const text = read('docs/deploy.md');

const blocks = (language: string): string[] =>
  Array.from(
    text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms')),
    ([, block = '']) => block,
  );

const kubernetes = 'deploy/kubernetes';
const monitoring = 'deploy/kubernetes-monitoring';
const kustomization = parse(read(`${kubernetes}/kustomization.yaml`));

/** All YAML of the page and of the manifests. */
const documents = [
  ...blocks('yaml'),
  ...kustomization.resources.map((name: string) => read(`${kubernetes}/${name}`)),
].flatMap((block) =>
  parseAllDocuments(block).map((document) => {
    const [fault] = [...document.errors, ...document.warnings];
    if (fault) throw fault;
    return document.toJS();
  }),
);
const podConfig = read(`${kubernetes}/config.yaml`);
const compose = parse(read('compose.yaml'));
const configFolder = dirname(imageEnv()['CONNECTOR_CONFIG'] ?? '');

/** Where a path of a JSON Patch leads: the map or list, and the key in it. */
function place(document: unknown, path: string): [Record<string, unknown>, string] {
  const keys = path.split('/').slice(1);
  const key = keys.pop()!;
  const at = keys.reduce(
    (above, one) => above[one] as Record<string, unknown>,
    document as Record<string, unknown>,
  );
  return [at, key];
}

/** The manifests with an overlay's patches, as `kubectl kustomize` makes them. */
function patched(patches: { target: { kind: string; name: string }; patch: string }[]) {
  const made = structuredClone(documents.filter(({ apiVersion }) => apiVersion !== undefined));
  for (const { target, patch } of patches) {
    const index = made.findIndex(
      ({ kind, metadata: { name } }) => kind === target.kind && name === target.name,
    );
    const changes = parse(patch);
    if (!Array.isArray(changes)) made.splice(index, 1);
    else
      for (const { op, path, value } of changes) {
        const [at, key] = place(made[index], path);
        if (key === '-') (at as unknown as unknown[]).push(value);
        else if (key in at !== (op !== 'add')) throw new Error(`${op} ${path} does not fit ${target.kind}`);
        else if (op !== 'remove') at[key] = value;
        else if (Array.isArray(at)) at.splice(Number(key), 1);
        else delete at[key];
      }
  }
  return made;
}

const overlay = 'deploy/kubernetes-two-copies';
const twoCopies = parse(read(`${overlay}/kustomization.yaml`));

const ofKind = (kind: string, from = documents) => from.find((document) => document.kind === kind);
const podOf = (from = documents) => ofKind('Deployment', from).spec.template.spec;
const namesOf = (list: { name: string }[]) => list.map(({ name }) => name);

/** Checks a config as `check` would, with every secret file there. */
const problemsOf = (config: string) =>
  parseConfig(config, 'config.yaml', {
    connectors,
    env: { ADMIN_PASSWORD: 'a-password', METRICS_PASSWORD: 'another-one' },
    readFile: (path) => `the secret of ${path}`,
  }).warnings;

describe('docs/deploy.md', () => {
  test('links to its own headings', () => {
    // As GitHub makes an anchor of a heading.
    const anchorOf = (heading: string) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-');
    const headings = text.match(/(?<=^#+ ).*$/gm)!.map(anchorOf);
    const links = Array.from(text.matchAll(/\]\(#([^)]+)\)/g), ([, link = '']) => link);
    expect(headings).toEqual(expect.arrayContaining(links));
  });

  test('shows configs that the connector takes', () => {
    expect(problemsOf(podConfig)).toEqual([]);
    const admin = blocks('yaml').find((block) => block.startsWith('admin:')) ?? '';
    const rest = podConfig.replace(/^admin:\n(?: .*\n)+/m, '');
    expect(problemsOf(admin + rest)).toEqual([]);
  });

  test('mounts what the image expects where it expects it', () => {
    const [container] = podOf().containers;
    const paths = container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath);
    expect(paths).toEqual(expect.arrayContaining([configFolder, last('VOLUME')]));
    expect(container.ports[0].containerPort).toBe(Number(last('EXPOSE')));
    expect(text).toContain(`:${configFolder}:ro`);
    expect(text).toContain(`connector-data:${last('VOLUME')} `);
  });

  test('begins with a config that there is, and says where its schema is then', () => {
    const [, from = '', to = ''] = /^cp (\S+) (\S+)$/m.exec(text) ?? [];
    expect(`/${to}`).toBe(imageEnv()['CONNECTOR_CONFIG']);
    const [, schema = ''] = /\$schema=(\S+)`/.exec(text) ?? [];
    expect(join(dirname(to), schema)).toBe('config.schema.json');
    expect(read(from)).toContain(`$schema=./${basename(schema)}\n`);
  });

  test('opens the operations page by what the example takes, or a config of your own', () => {
    const [example, own = ''] = [read('config.example.yaml'), /`(admin: \{.*\})`/.exec(text)?.[1]];
    for (const name of ['ADMIN_HOST', 'ADMIN_PASSWORD']) {
      expect(text).toMatch(new RegExp(`^echo "?${name}=`, 'm'));
      expect(example).toContain(`\${${name}:-`);
    }
    expect(problemsOf(`${own}\n${podConfig.replace(/^admin:\n(?: .*\n)+/m, '')}`)).toEqual([]);
  });

  test('has the key of the service account at one place', () => {
    const mounts = text.match(/google\.json:(\S+):ro"/g);
    expect(mounts).toEqual(Array(2).fill('google.json:/run/secrets/google.json:ro"'));
    const override = documents.find(({ services }) => services?.connector);
    expect(override.services.connector.secrets[0]).toBe('google.json');
    expect(text).toContain('`GOOGLE_CREDENTIALS=/run/secrets/google.json`');
    expect(read('config.example.yaml')).toContain('${GOOGLE_CREDENTIALS}');
  });

  test('calls the container by the name that it has', () => {
    const called = Array.from(
      text.matchAll(/docker (?:exec|kill --signal \w+|cp) ([\w-]+)/g),
      ([, name]) => name,
    );
    expect(new Set(called)).toEqual(new Set([compose.services.connector.container_name]));
    expect(text).toContain(`docker run -d --name ${called[0]} `);
    expect(ofKind('Deployment').metadata.name).toBe(called[0]);
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
    const names = namesOf(podOf().containers[0].ports);
    const ports = names.map((name) => expect.objectContaining({ name, targetPort: name }));
    expect(ofKind('Service').spec.ports).toEqual(ports);
    expect(ofKind('Ingress').spec.ingressClassName).toEqual(expect.any(String));
  });

  test('has room for the memory that was measured under load', () => {
    const [, measured = ''] = /(\d+) MB with all four tools/.exec(text) ?? [];
    const [, limit = ''] = /^(\d+)Mi$/.exec(podOf().containers[0].resources.limits.memory) ?? [];
    expect(Number(measured)).toBeGreaterThan(0);
    expect(Number(limit)).toBeGreaterThanOrEqual(2 * Number(measured));
  });

  test('lets Compose read .env as docker run does', () => {
    expect(compose.services.connector.env_file).toEqual([{ path: '.env', format: 'raw' }]);
    expect(text).toContain('--env-file .env');
  });

  test('starts, by compose.yaml, what the image expects, as docker run does', () => {
    expect(compose.services.connector).toMatchObject({
      volumes: [`./config:${configFolder}:ro`, `data:${last('VOLUME')}`],
      ports: [`127.0.0.1:8080:${last('EXPOSE')}`],
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      read_only: true,
      stop_grace_period: '15s',
      logging: { driver: 'local' },
    });
    expect(text).toContain(' --log-driver local ');
    expect(text).toContain('docker compose up -d');
  });

  test('starts, by compose.ha.yaml, three copies with the same care, where HAProxy looks for them', () => {
    const { services, volumes } = parse(read('compose.ha.yaml'));
    const { container_name: _, ports, volumes: mounts, ...same } = compose.services.connector;
    const copies = Object.keys(services).filter((name) => name.startsWith('connector-'));
    const haproxy = read('deploy/haproxy.cfg');
    expect(haproxy.match(/(?<=^  presetenv COPY_\d )\S+/gm)).toEqual(
      copies.map((name) => `${name}:${last('EXPOSE')}`),
    );
    expect(haproxy.match(/(?<=^  server )\S+ \S+/gm)).toEqual([
      ...copies.map((name, n) => `${name} "\${COPY_${n + 1}}"`),
      ...copies.map((_name, n) => `unready-${n + 1} "\${COPY_${n + 1}}"`),
    ]);
    expect(copies).toHaveLength(3);
    for (const name of copies) expect(services[name]).toMatchObject({ ...same, volumes: [mounts[0]] });
    expect(services['haproxy']).toMatchObject({
      ports,
      volumes: [expect.stringMatching('^./deploy/haproxy.cfg:')],
    });
    expect(Object.keys(volumes)).toEqual(['postgres']);
    const { STORE_URL: url } = services[copies[0]!].environment;
    expect(settingSchemas.store.parse({ url: url.replace(/\$\{.*?\}/, 'password') }).url).toContain(
      '@postgres/',
    );
    expect(Object.keys(services)).toContain('postgres');
    for (const name of ['STORE_URL', 'TRUST_PROXY', 'HOST', 'PORT', 'ADMIN_PORT', 'ALLOW_FROM'])
      expect(read('config.example.yaml')).toContain(`\${${name}:-`);
  });

  test('runs one pod at a time, which counts what it refuses', () => {
    expect(ofKind('Service').spec.publishNotReadyAddresses).toBe(true);
    expect(ofKind('Deployment').spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
  });

  test('runs two copies at a time on PostgreSQL, and one at least during an update or a drain', () => {
    expect(twoCopies.resources).toEqual([`../${basename(kubernetes)}`]);
    const made = patched(twoCopies.patches);
    const { spec } = ofKind('Deployment', made);
    expect(spec.replicas).toBe(2);
    expect(spec.strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
    expect(ofKind('PodDisruptionBudget', made).spec.maxUnavailable).toBe(1);
    expect(ofKind('Service', made).spec.publishNotReadyAddresses).toBeUndefined();
    for (const kind of ['PersistentVolumeClaim', 'CronJob']) expect(ofKind(kind, made)).toBeUndefined();
    expect(ofKind('NetworkPolicy', made).spec.egress).toContainEqual({ ports: [{ port: 5432 }] });
    const pod = podOf(made);
    // Not /readyz, which is 503 on both while PostgreSQL is away: nobody would hold and count the events.
    expect(pod.containers[0].readinessProbe.httpGet.path).toBe('/healthz');
    expect(namesOf(pod.volumes)).toEqual(['config', 'secrets']);
    expect(namesOf(pod.containers[0].volumeMounts)).toEqual(['config', 'secrets']);
    const [variable] = pod.containers[0].env;
    expect(podConfig).toContain(`\${${variable.name}:-sqlite:`);
    const { name, key } = variable.valueFrom.secretKeyRef;
    expect(text).toContain(`kubectl create secret generic ${name} --from-literal=${key}=postgres://`);
    expect(pod.topologySpreadConstraints[0].labelSelector.matchLabels).toEqual(spec.template.metadata.labels);
    expect(text).toContain(`kubectl apply -k ${overlay}\n`);
  });

  test('refers only to objects that it makes', () => {
    const { volumes, containers } = podOf();
    expect(kustomization.configMapGenerator[0]).toEqual({
      name: volumes[0].configMap.name,
      files: ['config.yaml'],
    });
    expect(kustomization.images[0].name).toBe(containers[0].image);
    expect(volumes[2].persistentVolumeClaim.claimName).toBe(ofKind('PersistentVolumeClaim').metadata.name);
    const [secret = ''] = /kubectl create secret generic (.*\\\n)+.*/.exec(text) ?? [];
    expect(secret).toContain(`generic ${volumes[1].secret.secretName} `);
    const files = podConfig.match(/(?<=\/run\/secrets\/connector\/)[\w-]+/g);
    const { username } = parse(read(`${monitoring}/monitor.yaml`)).spec.endpoints[0].basicAuth;
    const made = secret.match(/(?<=--from-literal=)[\w-]+(?==)/g);
    expect(new Set(made)).toEqual(new Set([...files!, username.key]));
    const [{ secretName }] = ofKind('Ingress').spec.tls;
    expect(text).toContain(`kubectl create secret tls ${secretName} `);
  });

  test.each([
    ['one copy', documents],
    ['two copies', patched(twoCopies.patches)],
  ])('selects the pods of %s everywhere, and names ports that they have', (_name, made) => {
    const find = (kind: string) => ofKind(kind, made).spec;
    const { labels } = find('Deployment').template.metadata;
    for (const { matchLabels } of [
      find('Deployment').selector,
      find('PodDisruptionBudget').selector,
      find('NetworkPolicy').podSelector,
      { matchLabels: find('Service').selector },
    ])
      expect(matchLabels).toEqual(labels);
    const [container] = podOf(made).containers;
    const ports = new Set(namesOf(container.ports));
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect(ports).toContain(container[probe].httpGet.port);
    const admitted = find('NetworkPolicy').ingress.map(
      ({ ports: [{ port }] }: { ports: [{ port: string }] }) => port,
    );
    expect(new Set(admitted)).toEqual(ports);
    const [{ path, pathType, backend }] = find('Ingress').rules[0].http.paths;
    expect(ports).toContain(backend.service.port.name);
    // All paths: the connector tells of an event for a wrong one.
    expect([path, pathType]).toEqual(['/', 'Prefix']);
    expect(backend.service.name).toBe(ofKind('Service', made).metadata.name);
  });
});

describe('the units for systemd', () => {
  const unit = (kind: string, of = '') => read(`deploy/systemd/candidate-connector${of}.${kind}`);

  test('have only sections and keys, and start what there is', () => {
    const units = ['socket', 'service'].map((kind) => unit(kind));
    for (const one of [...units, ...['service', 'timer'].map((kind) => unit(kind, '-backup'))])
      for (const line of one.split('\n'))
        expect(line).toMatch(/^$|^#|^\[(Unit|Socket|Service|Timer|Install)\]$|^[A-Z]\w+=/);
    const [, main = ''] =
      /^ExecStart=\/usr\/bin\/node \/opt\/candidate-connector\/(\S+) serve --config \/etc\/candidate-connector\/config\.yaml$/m.exec(
        unit('service'),
      ) ?? [];
    expect(read(main)).toContain("import('./commands/program.ts')");
    expect(unit('service')).toContain('Requires=candidate-connector.socket\n');
  });

  test('are all where the page puts them when it enables them', () => {
    const [, pattern = ''] = /^cp deploy\/systemd\/(\S+) \/etc\/systemd\/system\/$/m.exec(text) ?? [];
    const [, enabled = ''] = /^systemctl enable --now (.+)$/m.exec(text) ?? [];
    const copied = readdirSync(join(root, 'deploy/systemd')).filter((file) => matchesGlob(file, pattern));
    expect(copied).toEqual(expect.arrayContaining(enabled.split(' ')));
    // What a timer starts is not named there.
    expect(copied).toContain('candidate-connector-backup.service');
  });

  test('listen where the proxies of the page connect to', () => {
    const [, address = ''] = /^ListenStream=(.*)$/m.exec(unit('socket')) ?? [];
    expect(text).toContain(`proxy_pass http://${address};`);
    expect(text).toContain(`server connector ${address}\n`);
    expect(text).toContain(`reverse_proxy ${address} {`);
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
