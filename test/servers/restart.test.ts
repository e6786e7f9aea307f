import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { activated, answersOver, post, rules } from '../activated.ts';
import { base, endpoint, jsonLines, run, workplace } from '../commands/tools.ts';
import { ConnectorProcess } from '../faults/connector-process.ts';
import { freePort } from '../fixtures/free-port.ts';
import { freshSchema, PostgresServer, sql } from '../fixtures/postgres.ts';
import type { HttpSandbox } from '../../sandbox/http.ts';
import { librariesIn, remove, unpackDebian } from './mail-servers.ts';
import { eventually } from '../fixtures/eventually.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/deploy.md'), 'utf8');
const main = join(root, 'src/main.ts');
let debian: string;

beforeAll(async () => {
  debian = await unpackDebian(['caddy', 'nginx', 'haproxy', 'systemd']);
}, 300_000);
afterAll(() => remove(debian));

/** The block of docs/deploy.md that has all these parts, with them put otherwise. */
function documented(language: string, ...changes: [RegExp, string][]): string {
  const blocks = page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'));
  const found = Array.from(blocks, ([, text]) => text!).filter((text) =>
    changes.every(([from]) => text.search(from) !== -1),
  );
  expect(found).toHaveLength(1);
  return changes.reduce((text, [from, to]) => text.replace(from, to), found[0]!);
}

/** Starts a proxy of Debian until the test ends. Gives its port. */
async function proxy(
  name: string,
  argv: (config: string, folder: string) => string[],
  config: (port: number, folder: string) => string,
  variables: Record<string, string> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'proxy-'));
  const port = await freePort();
  const file = join(folder, 'config');
  writeFileSync(file, config(port, folder));
  const env = {
    ...process.env,
    ...variables,
    HOME: folder,
    LD_LIBRARY_PATH: await librariesIn(debian),
  };
  const child = spawn(join(debian, 'root/usr', name), argv(file, folder), {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true });
  });
  await eventually(async () =>
    expect(await post({ host: '127.0.0.1', port, path: '/webhooks/candidates' })).toBe(202),
  );
  return port;
}

const nginx = (connector: number) =>
  proxy(
    'sbin/nginx',
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
    'sbin/haproxy',
    (config) => ['-f', config, '-db', '-q'],
    (port) =>
      documented(
        'haproxy',
        [/:443 ssl crt \S+/, `127.0.0.1:${port}`],
        [/127\.0\.0\.1:8080/, `127.0.0.1:${connector}`],
      ),
  );

const caddy = (connector: number) =>
  proxy(
    'bin/caddy',
    (config) => ['run', '--config', config, '--adapter', 'caddyfile'],
    (port) =>
      documented(
        'caddyfile',
        [/^\{/, '{\n\tadmin off'],
        [/hooks\.example\.com/, `http://127.0.0.1:${port}`],
        [/\tlog\n/, ''],
        [/\tlog \{/, '\tlog {\n\t\toutput discard'],
        [/127\.0\.0\.1:8080/, `127.0.0.1:${connector}`],
      ),
  );

const hook = { host: '127.0.0.1', path: '/webhooks/candidates' };
const refused = (answers: unknown[]) => answers.filter((status) => status !== 202);

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

/** `3456`, where 34561, 34562 and 34563 are free. */
async function freeTen(): Promise<number> {
  const ten = Math.floor((await freePort()) / 10);
  const servers = [1, 2, 3].map((n) => createServer().listen(ten * 10 + n, '127.0.0.1'));
  const listening = await Promise.allSettled(servers.map((server) => once(server, 'listening')));
  for (const server of servers) server.close();
  return listening.every(({ status }) => status === 'fulfilled') ? ten : freeTen();
}

const proxies = { nginx, haproxy, caddy };

test.each(['nginx', 'haproxy', 'caddy'] as const)(
  'behind %s, as it is documented, an event for a wrong path is refused, and people are told',
  { timeout: 60_000 },
  async (name) => {
    const { port, file } = await behindProxy();
    const wrong = { host: '127.0.0.1', path: '/webhooks/candidates/', port: await proxies[name](port) };
    expect(await post(wrong)).toBe(404);
    await eventually(async () =>
      expect(jsonLines(await run(['events', '--refused', '--json', '--config', file]))).toMatchObject([
        { reason: 'path' },
      ]),
    );
  },
);

describe('a restart under load', () => {
  test('behind HAProxy, as it is documented, loses no request', { timeout: 240_000 }, async () => {
    const { port, file, restart } = await behindProxy();
    const answers = await answersOver(restart, { ...hook, port: await haproxy(port) });
    // 200: the connector had stored it, and HAProxy got no answer.
    expect(refused(answers).filter((status) => status !== 200)).toEqual([]);
    expect(await eventsIn(file)).toHaveLength(answers.length + 1);
  });

  test.each(['nginx', 'caddy'] as const)(
    'behind %s loses no request where systemd holds the socket',
    { timeout: 240_000 },
    async (name) => {
      const { address, file, restart } = await activated(
        { host: '127.0.0.1', port: 0 },
        'any',
        '/webhooks/candidates',
      );
      const answers = await answersOver(restart, { ...hook, port: await proxies[name](address.port) });
      expect(refused(answers)).toEqual([]);
      expect((await eventsIn(file)).length).toBeGreaterThanOrEqual(answers.length);
    },
  );

  // Caddy as Debian 12 has it; later ones send the body again.
  test.each(['nginx', 'caddy'] as const)(
    'behind %s alone is seen as 502, as the page says',
    { timeout: 240_000 },
    async (name) => {
      const { port, restart } = await behindProxy();
      const answers = await answersOver(restart, { ...hook, port: await proxies[name](port) });
      expect([...new Set(refused(answers))]).toEqual([502]);
    },
  );
});

const toWebhook = (url: string) => `
sinks: { ats: { connector: webhook, url: "${url}", allowPrivate: true, timeout: 2s, concurrency: 100 } }
rules: [{ name: all, when: {}, then: [{ sink: ats }] }]
`;

/** A config that names the same variables as the example. */
const exampleFor = (folder: string, tool: string) =>
  base(folder)
    .replace('port: 0', 'port: "${PORT}", trustProxy: "${TRUST_PROXY}"')
    .replace(/"sqlite:.*"/, '"${STORE_URL}"')
    .replace('/hook', '/webhooks/candidates')
    .replace('fatal', 'info') + toWebhook(tool);

/** deploy/haproxy.cfg, but for its own port. */
const haproxyFor = (port: number) =>
  readFileSync(join(root, 'deploy/haproxy.cfg'), 'utf8').replace('bind :8080', `bind 127.0.0.1:${port}`);

/** Three replicas behind HAProxy. */
async function threeReplicas(url: string) {
  const tool = await endpoint();
  const { folder, write } = await workplace();
  const file = await write('config.yaml', exampleFor(folder, tool.url));
  const ports = [await freePort(), await freePort(), await freePort()];
  const replicas = ports.map((port) => {
    const replica = new ConnectorProcess(file, { PORT: String(port), TRUST_PROXY: '1', STORE_URL: url });
    onTestFinished(() => replica.kill());
    return replica;
  });
  await Promise.all(replicas.map((replica) => replica.start()));
  const places = Object.fromEntries(ports.map((port, n) => [`COPY_${n + 1}`, `127.0.0.1:${port}`]));
  const port = await proxy('sbin/haproxy', (config) => ['-f', config, '-db', '-q'], haproxyFor, places);
  return { tool, replicas, port };
}

/** Each accepted event was delivered, and there are no others. */
async function allDelivered(url: string, tool: HttpSandbox, events: number): Promise<void> {
  const left = `select count(*)::int as n from deliveries where state <> 'delivered'`;
  await eventually(async () => expect(await sql(url, left)).toEqual([{ n: 0 }]), 120_000);
  expect(await sql(url, 'select count(*)::int as n from events')).toEqual([{ n: events }]);
  expect(new Set(tool.calls.map(({ deliveryId }) => deliveryId)).size).toBe(events);
}

const isStored = (status: unknown) => status === 202 || status === 200;

describe('three replicas on PostgreSQL behind HAProxy', () => {
  test('are restarted in turn under load: no request fails, and each event is delivered', async () => {
    const url = await freshSchema();
    const { tool, replicas, port } = await threeReplicas(url);
    const left = [...replicas];
    const restart = async () => {
      const replica = left.shift()!;
      await replica.stop();
      await replica.start();
    };
    const answers = await answersOver(restart, { ...hook, port });
    expect(answers.filter((status) => !isStored(status))).toEqual([]);
    await allDelivered(url, tool, answers.length + 1);
  }, 400_000);

  test('started as the page says, lose no request and no delivery when one is killed under load', async () => {
    const url = await freshSchema();
    const tool = await endpoint();
    const { folder, write } = await workplace();
    const port = await freePort();
    const start = await freeTen();
    const program = `#!/bin/sh\nLD_LIBRARY_PATH=${await librariesIn(debian)} exec ${debian}/root/usr/sbin/haproxy "$@"\n`;
    chmodSync(await write('haproxy', program), 0o755);
    const block = documented(
      'sh',
      // First: the name of the schema or of a folder may have these digits by chance.
      [/809/g, String(start)],
      [/819/g, String(start)],
      [/postgres:\S+/, url],
      [/src\/main.ts/, main],
      [/config\/config.yaml/, await write('config.yaml', exampleFor(folder, tool.url))],
      [/deploy\/haproxy.cfg/, await write('haproxy.cfg', haproxyFor(port))],
    );
    const env = { ...process.env, PATH: `${folder}:${dirname(process.execPath)}:${process.env.PATH}` };
    const child = spawn('sh', ['-c', block], { cwd: folder, env, stdio: 'ignore', detached: true });
    const ended = once(child, 'exit');
    onTestFinished(async () => {
      process.kill(-child.pid!, 'SIGKILL');
      await ended;
    });
    await eventually(async () => expect(await post({ ...hook, port })).toBe(202), 60_000);
    // A replica that has more than its share gives leases back: nobody holds them for a moment.
    const holder = `select holder from leases where name = 'sink ats' and holder <> '' and (select count(*) from copies) = 3`;
    const [first] = await eventually(async () => {
      const found = await sql(url, holder);
      expect(found).toHaveLength(1);
      return found;
    }, 60_000);
    const steps = [() => process.kill(Number(String(first!['holder']).split(' ')[1]), 'SIGKILL')];
    const answers = await answersOver(async () => steps.shift()?.(), { ...hook, port });
    expect(answers.filter((status) => !isStored(status))).toEqual([]);
    await allDelivered(url, tool, answers.length + 1);
  }, 400_000);

  test('answer events themselves while PostgreSQL is away, so that all of them are counted, and take them when it is back', async () => {
    const server = await PostgresServer.start();
    onTestFinished(() => server.remove());
    const { port } = await threeReplicas(server.url());
    await server.crash();
    const url = `http://127.0.0.1:${port}/webhooks/candidates`;
    const body = JSON.stringify({ candidateId: 'one', testId: 1, status: 'Completed' });
    const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    let notStored = 0;
    const ask = async () => {
      const answer = await fetch(url, request);
      if (answer.status === 503) notStored += 1;
      return answer;
    };
    // Each takes seconds: at the last ones HAProxy knows that no replica is ready.
    for (let n = 0; n < 5; n += 1) {
      const answer = await ask();
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
      expect(await answer.json()).toMatchObject({
        detail: 'The event could not be stored. Send it again.',
      });
    }
    await server.start();
    await eventually(async () => expect((await ask()).status).toBe(202), 60_000);
    const counted = `select sum(n)::int as n from refused where reason = 'store'`;
    await eventually(
      async () => expect(await sql(server.url(), counted)).toEqual([{ n: notStored }]),
      60_000,
    );
  }, 240_000);
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
    await eventually(async () => expect(await post({ host: '127.0.0.1', port })).toBe(202));
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});
