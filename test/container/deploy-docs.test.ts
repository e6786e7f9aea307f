import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments, type Document } from 'yaml';
import { connectors } from '../../connectors/index.ts';
import { createMetrics } from '../../src/admin/metrics.ts';
import { parseConfig } from '../../src/config/load.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { run } from '../commands/tools.ts';
import { imageEnv, last, read } from './dockerfile.ts';

const text = read('docs/deploy.md');

const blocks = (language: string): string[] =>
  Array.from(
    text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms')),
    ([, block = '']) => block,
  );

const documents = blocks('yaml').flatMap<Document.Parsed>((block) => parseAllDocuments(block));

/** As GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

function ofKind(kind: string): Document.Parsed {
  const found = documents.find((document) => document.get('kind') === kind);
  if (!found) throw new Error(`no ${kind} in docs/deploy.md`);
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
    const config = ofKind('ConfigMap').getIn(['data', 'config.yaml']) as string;
    expect(problemsOf(config)).toEqual([]);
    const admin = blocks('yaml').find((block) => block.startsWith('admin:')) ?? '';
    const rest = config.replace(/^admin:\n(?: .*\n)+/m, '');
    expect(problemsOf(admin + rest)).toEqual([]);
  });

  test('names metrics that there are, with labels that they have', async () => {
    const metrics = createMetrics(() =>
      Promise.resolve([
        {
          sink: 'slack',
          planned: 1,
          states: { pending: 0, sending: 0, delivered: 0, dead: 1, held: 0, discarded: 0 },
        },
      ]),
    );
    metrics.sinksKnown(['slack']);
    const { text: scraped } = await metrics.scrape();
    const named = text.matchAll(/\b(candidate_connector_\w+)(?:\{(\w+)=~?"([^"\\]+))?/g);
    for (const [, name = '', label, value] of named) {
      const sample = label === undefined ? name : `${name}{.*${label}="${value}"`;
      expect(scraped).toMatch(new RegExp(`^${sample}`, 'm'));
    }
  });

  test('mounts what the image expects where it expects it', () => {
    const container = ['spec', 'template', 'spec', 'containers', 0];
    const deployment = ofKind('Deployment');
    const mounts = (
      deployment.getIn([...container, 'volumeMounts']) as { toJSON(): { mountPath: string }[] }
    ).toJSON();
    const paths = mounts.map(({ mountPath }) => mountPath);
    expect(paths).toContain(dirname(imageEnv()['CONNECTOR_CONFIG'] ?? ''));
    expect(paths).toContain(last('VOLUME'));
    expect(deployment.getIn([...container, 'ports', 0, 'containerPort'])).toBe(Number(last('EXPOSE')));
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
    const compose = documents.find((document) => document.hasIn(['services', 'connector']));
    expect(compose?.getIn(['services', 'connector', 'secrets', 0])).toBe('google.json');
    expect(text).toContain('`GOOGLE_CREDENTIALS=/run/secrets/google.json`');
    expect(read('config.example.yaml')).toContain('${GOOGLE_CREDENTIALS}');
  });

  test('calls the container by the name that it has', () => {
    const compose = documents.find((document) => document.hasIn(['services', 'connector']));
    const called = Array.from(
      text.matchAll(/docker (?:exec|kill --signal \w+|cp) ([\w-]+)/g),
      ([, name]) => name,
    );
    expect(new Set(called)).toEqual(new Set([compose?.getIn(['services', 'connector', 'container_name'])]));
    expect(text).toContain(`docker run -d --name ${called[0]} `);
    expect(ofKind('Deployment').getIn(['metadata', 'name'])).toBe(called[0]);
  });

  test('names commands and options that there are', async () => {
    const named = Array.from(
      text.matchAll(/candidate-connector (events|send|check)\b([^`|]*)/g),
      ([, command = '', rest = '']) => ({ command, options: rest.match(/--[a-z]+/g) ?? [] }),
    );
    expect(named.length).toBeGreaterThan(4);
    for (const { command, options } of named) {
      const { out } = await run([command, '--help']);
      for (const option of options) expect(out).toContain(` ${option} `);
    }
  });

  test('runs one pod at a time', () => {
    expect(ofKind('Deployment').getIn(['spec', 'replicas'])).toBe(1);
    expect(ofKind('Deployment').getIn(['spec', 'strategy', 'type'])).toBe('Recreate');
  });

  test('refers only to objects that it makes', () => {
    const spec = ['spec', 'template', 'spec', 'volumes'];
    const deployment = ofKind('Deployment');
    expect(deployment.getIn([...spec, 0, 'configMap', 'name'])).toBe(
      ofKind('ConfigMap').getIn(['metadata', 'name']),
    );
    expect(deployment.getIn([...spec, 1, 'secret', 'secretName'])).toBe(
      ofKind('Secret').getIn(['metadata', 'name']),
    );
    expect(deployment.getIn([...spec, 2, 'persistentVolumeClaim', 'claimName'])).toBe(
      ofKind('PersistentVolumeClaim').getIn(['metadata', 'name']),
    );
    const config = ofKind('ConfigMap').getIn(['data', 'config.yaml']) as string;
    const files = Array.from(
      config.matchAll(/\/run\/secrets\/connector\/([\w-]+)/g),
      ([, name = '']) => name,
    );
    for (const file of files) expect(ofKind('Secret').hasIn(['stringData', file])).toBe(true);
    expect(files.length).toBe(3);
  });
});

describe('the documented backup', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'backup-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('is whole while the connector runs', async () => {
    const store = await openSqlite(join(folder, 'connector.db'), { serve: true });
    await store.saveConfig({ id: 'cfg_1', source: { rules: [] }, savedAt: 1 });
    const script = /node -e "(.*vacuum into.*)"$/m.exec(text)?.[1]?.replaceAll('\\"', '"') ?? '';
    await promisify(execFile)(process.execPath, ['-e', script.replaceAll('/data/', `${folder}/`)]);
    await store.close();
    const backup = new DatabaseSync(join(folder, 'backup.db'));
    expect(backup.prepare('select id from configs').all()).toMatchObject([{ id: 'cfg_1' }]);
    backup.close();
  });
});
