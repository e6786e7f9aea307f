import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { activated, answersOver, post, rules } from '../activated.ts';
import { base, jsonLines, run, workplace } from '../commands/tools.ts';
import { ConnectorProcess, freePort } from '../faults/connector-process.ts';
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
