import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { startTools } from '../../sandbox/tools.ts';
import { exampleChannels, exampleEnv, useAllTools } from '../fixtures/example.ts';
import { read, root } from '../container/dockerfile.ts';
import { freePort } from '../fixtures/free-port.ts';
import { librariesIn, remove, unpackDebian } from './mail-servers.ts';
import { eventually } from '../fixtures/eventually.ts';

/**
 * The image of a release, made by the script that the workflow calls: on a base of Debian's packages and the Node that
 * runs this, with a registry on loopback, for this machine's kind of processor.
 */

const { version } = manifest;
const source = 'https://forge.example.com/hiring/candidate-connector';
const schema = `${source}/raw/v${version}/config.schema.json`;
let folder = '';
let env: NodeJS.ProcessEnv = {};
let registry = '';
let server: ReturnType<typeof start> | null = null;
/** What the script printed. */
let printed = '';

const start = (script: string, more: NodeJS.ProcessEnv = {}) =>
  spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: root,
    env: { ...env, ...more },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });

/** What a script of bash prints. Fails with all that it said. */
async function bash(script: string, more?: NodeJS.ProcessEnv): Promise<string> {
  const child = start(script, more);
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (child.exitCode !== 0) throw new Error(`${script}\n${out}\n${err}`);
  return out.trim();
}

beforeAll(async () => {
  folder = await unpackDebian(['buildah', 'skopeo', 'docker-registry', 'mmdebstrap', 'patchelf']);
  const [bin, home] = [join(folder, 'root/usr/bin'), join(folder, 'home')];
  const port = await freePort();
  registry = `127.0.0.1:${port}`;
  const settings = {
    'policy.json': '{ "default": [{ "type": "insecureAcceptAnything" }] }',
    'registries.conf': `[[registry]]\nlocation = "${registry}"\ninsecure = true\n`,
    'storage.conf': `[storage]\ndriver = "vfs"\ngraphroot = "${folder}/images"\nrunroot = "${folder}/run"\n`,
    'registry.yml': `version: 0.1\nstorage: { filesystem: { rootdirectory: ${folder}/registry } }\nhttp: { addr: '${registry}' }\n`,
  };
  const containers = join(home, '.config/containers');
  await mkdir(containers, { recursive: true });
  await Promise.all(Object.entries(settings).map(([name, one]) => writeFile(join(containers, name), one)));
  env = {
    PATH: `${bin}:${process.env['PATH']}`,
    LD_LIBRARY_PATH: await librariesIn(folder),
    HOME: home,
    BUILDAH_ISOLATION: 'chroot',
    CONTAINERS_STORAGE_CONF: join(containers, 'storage.conf'),
    SOURCE: source,
    SCHEMA_URL: schema,
  };
  // It starts itself again without this environment.
  await bash(`patchelf --force-rpath --set-rpath "$LD_LIBRARY_PATH" ${bin}/buildah`);
  server = start(`exec docker-registry serve ${containers}/registry.yml`);
  await eventually(() => fetch(`http://${registry}/v2/`));
  await bash(
    `mmdebstrap --variant=essential --include=libstdc++6,libatomic1,ca-certificates bookworm ${folder}/base.tar
     base=$(buildah from scratch)
     buildah add $base ${folder}/base.tar /
     buildah copy $base "$NODE" /usr/local/bin/node
     buildah copy $base "$NPM" /usr/local/lib/node_modules/npm
     if [ "$CA" ]; then buildah copy $base "$CA" /ca.crt; buildah config --env NODE_EXTRA_CA_CERTS=/ca.crt $base; fi
     buildah run $base -- ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
     buildah config --env PATH=/usr/local/bin:/usr/bin:/bin $base
     buildah commit --format docker --rm $base ${registry}/base:26
     buildah push ${registry}/base:26`,
    {
      NODE: process.execPath,
      NPM: join(process.env['npm_execpath'] ?? '', '../..'),
      CA: process.env['NODE_EXTRA_CA_CERTS'] ?? '',
    },
  );
  printed = await bash(
    `.ci/image ${registry}/candidate-connector:${version} ${registry}/base:26 linux/amd64`,
  );
}, 900_000);
afterAll(async () => {
  server?.kill();
  await remove(folder);
});

/** A container of the image as the registry has it. */
const container = () => bash(`buildah from --pull-always ${registry}/candidate-connector:${version}`);

test('says which version, which commit and what it is built on, and has the digest that was printed', async () => {
  const digestOf = (name: string) =>
    bash(`skopeo inspect --raw docker://${registry}/${name} | sha256sum | head -c 64`);
  expect(printed).toBe(`digest=sha256:${await digestOf(`candidate-connector:${version}`)}`);
  const { Labels: labels } = JSON.parse(
    await bash(`skopeo inspect docker://${registry}/candidate-connector:${version}`),
  ) as { Labels: Record<string, string> };
  expect(labels).toMatchObject({
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.revision': await bash('git rev-parse HEAD'),
    'org.opencontainers.image.source': source,
    'org.opencontainers.image.base.name': `${registry}/base:26`,
    'org.opencontainers.image.base.digest': `sha256:${await digestOf('base:26')}`,
  });
});

test('lists in its SBOM what it has of npm, and nothing that only development needs', async () => {
  const { components } = JSON.parse(read('dist/sbom.cdx.json')) as {
    components: { name: string; version: string }[];
  };
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { version: string; dev?: boolean }>;
  };
  const installed = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
  expect(new Set(components.map(({ name, version: one }) => `${name}@${one}`))).toEqual(
    new Set(installed.map(([path, { version: one }]) => `${path.replace(/^.*node_modules\//, '')}@${one}`)),
  );
});

test('refuses a tag that is not the version', async () => {
  await expect(
    bash(`.ci/image ${registry}/candidate-connector:9.9.9 ${registry}/base:26 linux/amd64`),
  ).rejects.toThrow(/:9\.9\.9, and package\.json has/);
});

test('as it comes from the registry it says its version, writes a config, and tells all four tools', async () => {
  const name = await container();
  const [config, data] = [join(folder, 'config'), join(folder, 'data')];
  for (const path of [config, data]) {
    await mkdir(path);
    await chown(path, 1000, 1000);
  }
  await chmod(folder, 0o755);
  const run = `buildah run -v ${config}:/config -v ${data}:/data`;
  expect(await bash(`${run} ${name} -- candidate-connector --version`)).toBe(version);
  expect(await bash(`${run} ${name} -- id -u`)).toBe('1000');

  await bash(`${run} ${name} -- candidate-connector init --tools webhook`);
  expect(await readFile(join(config, 'config.yaml'), 'utf8')).toMatch(
    `# yaml-language-server: $schema=${schema}\n`,
  );

  await copyFile(join(root, 'config.example.yaml'), join(config, 'config.yaml'));
  const tools = await startTools(exampleChannels);
  onTestFinished(async () => void (await tools.close()));
  const variables = Object.entries({ ...exampleEnv(tools, 'sqlite:/data/connector.db') });
  const given = variables.map(([key]) => `--env ${key}="$${key}"`).join(' ');
  const connector = start(
    `exec ${run} ${given} ${name} -- node /app/dist/main.js serve`,
    Object.fromEntries(variables),
  );
  onTestFinished(() => void process.kill(-connector.pid!, 'SIGKILL'));
  let said = '';
  for (const stream of [connector.stdout, connector.stderr]) stream.on('data', (part) => (said += part));
  await expect.poll(() => said).toContain('"msg":"ready"');
  const ready = said.split('\n').find((line) => line.includes('"msg":"ready"')) ?? '';
  const { receiver } = JSON.parse(ready) as { receiver: string };
  await useAllTools(receiver, tools);

  const status = await bash(
    `${run} ${name} -- candidate-connector status --json --store sqlite:/data/connector.db`,
  );
  expect(JSON.parse(status)).toMatchObject({ running: true });
  const { Docker } = JSON.parse(await bash(`buildah inspect ${name}`)) as {
    Docker: { config: { Healthcheck: { Test: string[] } } };
  };
  const [kind, ...check] = Docker.config.Healthcheck.Test;
  expect(kind).toBe('CMD');
  const asked = check.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(' ');
  await bash(`${run} --env HEALTH_URL=${receiver}/readyz ${name} -- ${asked}`);
});
