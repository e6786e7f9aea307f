import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { activated, answersOver, post, rules } from '../activated.ts';
import { base, endpoint, jsonLines, run, workplace } from '../commands/tools.ts';
import { ConnectorProcess, freePort } from '../faults/connector-process.ts';
import { freshSchema, sql } from '../fixtures/postgres.ts';
import { librariesIn, remove, unpackDebian } from './mail-servers.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/deploy.md'), 'utf8');
const main = join(root, 'src/main.ts');
let debian: string;

beforeAll(async () => {
  debian = await unpackDebian(['nginx', 'haproxy', 'systemd']);
}, 300_000);
afterAll(() => remove(debian));

/** A block of docs/deploy.md, with these parts of it put otherwise. */
function documented(language: string, ...changes: [RegExp, string][]): string {
  const [, block = ''] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(page) ?? [];
  return changes.reduce((text, [from, to]) => {
    expect(text).toMatch(from);
    return text.replace(from, to);
  }, block);
}

/** Starts a proxy of Debian until the test ends. Gives its port. */
async function proxy(
  name: string,
  argv: (config: string, folder: string) => string[],
  config: (port: number, folder: string) => string,
) {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  const port = await freePort();
  const file = join(folder, 'config');
  writeFileSync(file, config(port, folder));
  const env = { ...process.env, LD_LIBRARY_PATH: await librariesIn(debian) };
  const child = spawn(join(debian, 'root/usr/sbin', name), argv(file, folder), {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
  });
  await vi.waitFor(
    async () => expect(await post({ host: '127.0.0.1', port, path: '/webhooks/candidates' })).toBe(202),
    20_000,
  );
  return port;
}

const nginx = (connector: number) =>
  proxy(
    'nginx',
    (config, folder) => ['-p', folder, '-c', config, '-e', `${folder}/error.log`],
    (port, folder) => `daemon off;
pid ${folder}/pid;
error_log ${folder}/error.log;
user root;
events {}
http {
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `  ${kind}_temp_path ${folder}/${kind};`).join('\n')}
${documented('nginx', [/listen 443 ssl/, `listen 127.0.0.1:${port}`], [/ +ssl_certificate .*\n.*\n/, ''], [/\/var\/log\/nginx\/hooks.log/, `${folder}/hooks.log`], [/\/var\/log\/nginx\/hooks-error/, `${folder}/hooks-error`], [/127\.0\.0\.1:8080/, `127.0.0.1:${connector}`])}
}`,
  );

const haproxy = (connector: number) =>
  proxy(
    'haproxy',
    (config) => ['-f', config, '-db', '-q'],
    (port) =>
      documented(
        'haproxy',
        [/:443 ssl crt \S+/, `127.0.0.1:${port}`],
        [/127\.0\.0\.1:8080/, `127.0.0.1:${connector}`],
      ),
  );

const hook = { host: '127.0.0.1', path: '/webhooks/candidates' };
const others = (answers: unknown[]) => answers.filter((status) => status !== 202);

/** A connector on a port of its own, behind one proxy. */
async function behindProxy() {
  const { folder, write } = await workplace();
  const port = await freePort();
  const config = base(folder).replace('port: 0', `port: ${port}`).replace('/hook', '/webhooks/candidates');
  const file = await write('config.yaml', config.replace('fatal', 'info') + rules);
  const connector = new ConnectorProcess(file);
  onTestFinished(() => connector.kill());
  await connector.start();
  return { port, file, restart: () => connector.stop().then(() => connector.start()) };
}

const eventsIn = async (file: string) => jsonLines(await run(['events', '--json', '--config', file]));

describe('a restart under load', () => {
  test('behind HAProxy, as it is documented, loses no request', { timeout: 240_000 }, async () => {
    const { port, file, restart } = await behindProxy();
    const answers = await answersOver(restart, { ...hook, port: await haproxy(port) });
    // 200: the connector had stored it, and HAProxy got no answer.
    expect(others(answers).filter((status) => status !== 200)).toEqual([]);
    expect(await eventsIn(file)).toHaveLength(answers.length + 1);
  });

  test('behind nginx loses no request where systemd holds the socket', { timeout: 240_000 }, async () => {
    const { address, file, restart } = await activated(
      { host: '127.0.0.1', port: 0 },
      'any',
      '/webhooks/candidates',
    );
    const answers = await answersOver(restart, { ...hook, port: await nginx(address.port) });
    expect(others(answers)).toEqual([]);
    expect((await eventsIn(file)).length).toBeGreaterThanOrEqual(answers.length);
  });

  test('behind nginx alone is seen as 502, as the page says', { timeout: 240_000 }, async () => {
    const { port, restart } = await behindProxy();
    const answers = await answersOver(restart, { ...hook, port: await nginx(port) });
    expect([...new Set(others(answers))]).toEqual([502]);
  });
});

/** Two copies behind HAProxy, with deploy/haproxy.cfg but for where they are. */
async function twoCopies() {
  const tool = await endpoint();
  const url = await freshSchema();
  const { folder, write } = await workplace();
  const text = base(folder)
    .replace(/"sqlite:.*"/, `"${url}"`)
    .replace('/hook', '/webhooks/candidates');
  const start = async () => {
    const port = await freePort();
    const config = text.replace('port: 0', `port: ${port}`).replace('fatal', 'info');
    const copy = new ConnectorProcess(await write(`${port}.yaml`, config + toWebhook(tool.url)));
    onTestFinished(() => copy.kill());
    return { port, copy, file: `${folder}/${port}.yaml` };
  };
  const copies = [await start(), await start()] as const;
  return { url, tool, copies };
}

const toWebhook = (url: string) => `
sinks: { ats: { connector: webhook, url: "${url}", allowPrivate: true, timeout: 2s, concurrency: 100 } }
rules: [{ name: all, when: {}, then: [{ sink: ats }] }]
`;

const haproxyOfTwo = (ports: readonly number[]) =>
  proxy(
    'haproxy',
    (config) => ['-f', config, '-db', '-q'],
    (port) =>
      ports.reduce(
        (text, own, n) => text.replace(`connector-${n + 1}:8080`, `127.0.0.1:${own}`),
        readFileSync(join(root, 'deploy/haproxy.cfg'), 'utf8').replace(
          'bind :8080',
          `bind 127.0.0.1:${port}`,
        ),
      ),
  );

describe('two copies on PostgreSQL behind HAProxy', () => {
  test('are restarted in turn, and one is killed, under load: no request fails, and each event is delivered', async () => {
    const { url, tool, copies } = await twoCopies();
    const [one, two] = copies.map(({ copy }) => copy) as [ConnectorProcess, ConnectorProcess];
    await Promise.all([one.start(), two.start()]);
    const port = await haproxyOfTwo(copies.map((copy) => copy.port));
    const steps = [
      () => one.stop().then(() => one.start()),
      () => two.stop().then(() => two.start()),
      () => one.kill().then(() => one.start()),
    ];
    const answers = await answersOver(() => steps.shift()!(), { ...hook, port });
    expect(others(answers).filter((status) => status !== 200)).toEqual([]);
    const left = `select count(*)::int as n from deliveries where state <> 'delivered'`;
    await vi.waitFor(async () => expect(await sql(url, left)).toEqual([{ n: 0 }]), 120_000);
    expect(await eventsIn(copies[0].file)).toHaveLength(answers.length + 1);
    const delivered = new Set(tool.calls.map(({ deliveryId }) => deliveryId));
    expect(delivered.size).toBe(answers.length + 1);
  }, 400_000);
});

describe('the units for systemd', () => {
  test('have no fault that systemd knows of', async () => {
    const { folder } = await workplace();
    cpSync(join(root, 'deploy/systemd'), folder, { recursive: true });
    const service = join(folder, 'candidate-connector.service');
    writeFileSync(service, readFileSync(service, 'utf8').replace('/usr/bin/node', process.execPath));
    const env = { ...process.env, LD_LIBRARY_PATH: await librariesIn(debian) };
    const program = join(debian, 'root/usr/bin/systemd-analyze');
    const { stdout, stderr } = await promisify(execFile)(
      program,
      ['verify', service, join(folder, 'candidate-connector.socket')],
      { env },
    );
    expect(stdout + stderr).toBe('');
  });

  test("the connector takes the socket of systemd's own program", async () => {
    const { folder, write } = await workplace();
    const port = await freePort();
    const file = await write('config.yaml', base(folder) + rules);
    const program = join(debian, 'root/usr/bin/systemd-socket-activate');
    const env = { ...process.env, LD_LIBRARY_PATH: await librariesIn(debian) };
    const argv = ['-l', `127.0.0.1:${port}`, process.execPath, main, 'serve', '--config', file];
    const child = spawn(program, argv, { env, stdio: 'ignore' });
    const ended = once(child, 'exit');
    onTestFinished(() => void child.kill('SIGKILL'));
    await vi.waitFor(async () => expect(await post({ host: '127.0.0.1', port })).toBe(202), 20_000);
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});
