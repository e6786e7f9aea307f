import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { settingSchemas } from '../../src/config/settings.ts';
import bundle from '../../rolldown.config.ts';
import { imageEnv, instructions, last, read, root } from './dockerfile.ts';

/** What the Dockerfile copies out of the repository. */
const copied = instructions()
  .filter(({ name, rest }) => name === 'COPY' && !rest.startsWith('--from='))
  .flatMap(({ rest }) => rest.split(' ').slice(0, -1));

const bundled = `${bundle.output.dir}/main.js`;

interface Manifest {
  readonly version: string;
  readonly bin: { readonly [command: string]: string };
  readonly dependencies: { readonly [name: string]: string };
}

const manifest = JSON.parse(read('package.json')) as Manifest;

/** What the code imports when it runs, packages only. Types are gone by then. */
function packagesImported(): { file: string; module: string }[] {
  return globSync('{src,connectors}/**/*.ts', { cwd: root }).flatMap((file) => {
    const found = read(file).matchAll(
      /^(?:import|export)\s+(?!type\b)[^;]*?from\s+'([^'.][^']*)'|\bawait import\(\s*'([^'.][^']*)'\s*\)/gm,
    );
    return [...found]
      .map(([, from, lazy]) => ({ file, module: from ?? lazy ?? '' }))
      .filter(({ module }) => !module.startsWith('node:'));
  });
}

/** `@slack/web-api/dist/x.js` comes from the package `@slack/web-api`. */
const packageOf = (module: string): string =>
  module
    .split('/')
    .slice(0, module.startsWith('@') ? 2 : 1)
    .join('/');

describe('the image', () => {
  test('copies only what the repository has', () => {
    expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(copied).toContain('src');
  });

  test('is sent what it copies, and nothing else', () => {
    const sent = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(sent[0]).toBe('*');
    expect(sent.slice(1).toSorted()).toEqual(copied.map((path) => `!${path}`).toSorted());
  });

  test('has every package that the code imports', () => {
    const imported = packagesImported();
    expect(imported.filter(({ module }) => manifest.dependencies[packageOf(module)] === undefined)).toEqual(
      [],
    );
    expect(imported.map(({ module }) => packageOf(module))).toEqual(
      expect.arrayContaining(['express', 'googleapis', '@slack/web-api']),
    );
  });

  test('loads googleapis in its cut down form as the connector does', () => {
    const used = packagesImported().filter(({ module }) => module.startsWith('googleapis'));
    const tried = instructions().find(({ rest }) => rest.includes('googleapis'))?.rest ?? '';
    for (const { module } of used) expect(tried).toContain(`require('${module}')`);
    expect(used).not.toEqual([]);
  });

  test('leaves out install scripts that nothing in life needs', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { dev?: boolean; hasInstallScript?: boolean }>;
    };
    const withScript = Object.entries(packages).filter(([, entry]) => entry.hasInstallScript && !entry.dev);
    expect(withScript).toEqual([]);
  });

  test('keeps the default store on its volume, and listens where the default config does', () => {
    const store = settingSchemas.store.parse({});
    const receiver = settingSchemas.receiver.parse({});
    expect(resolve(last('WORKDIR'), store.url.replace('sqlite:', ''))).toBe(
      join(last('VOLUME'), 'connector.db'),
    );
    expect(last('EXPOSE')).toBe(String(receiver.port));
    expect(new URL(imageEnv()['HEALTH_URL'] ?? '').port).toBe(String(receiver.port));
  });

  test('runs as a user without rights, and Node gets its signals', () => {
    expect(last('USER')).toMatch(/^\d+:\d+$/);
    expect(JSON.parse(last('ENTRYPOINT'))).toEqual(['node', `/app/${bundled}`]);
  });

  test('has the program as a command', () => {
    const [, target, command] =
      /ln -s \/app\/(\S+) \S+\/([\w-]+)$/m.exec(
        instructions()
          .map(({ rest }) => rest)
          .join('\n'),
      ) ?? [];
    expect([command, target]).toEqual([Object.keys(manifest.bin)[0], bundled]);
  });
});

describe("the image's health check", () => {
  const server = createServer();
  afterEach(() => {
    server.removeAllListeners('request').closeAllConnections();
    server.close();
  });

  /** The exit code of the command in the Dockerfile, asked of a server that answers with this status. */
  async function healthOf(status: number | null): Promise<number | null> {
    server.on('request', (_req, res) => res.writeHead(status ?? 500).end('{}'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    if (status === null) await new Promise((done) => server.close(done));
    const [program = '', ...args] = JSON.parse(last('HEALTHCHECK').replace(/^.*CMD /, '')) as string[];
    const env = { HEALTH_URL: `http://127.0.0.1:${port}/readyz`, PATH: process.env['PATH'] };
    const child = execFile(program, args, { env });
    const [code] = (await once(child, 'exit')) as [number | null];
    return code;
  }

  test('takes no Node process, which is dear while nothing comes', () => {
    expect(last('HEALTHCHECK')).not.toContain('node');
    expect(read('compose.ha.yaml')).not.toContain('healthcheck: { interval');
  });

  test.each([
    [200, 0],
    [503, 1],
    [null, 1],
  ])('says of the status %j, or of nobody who answers: %i', async (status, code) => {
    expect(await healthOf(status)).toBe(code);
  });
});
