import { spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { ConnectorProcess } from '../faults/connector-process.ts';
import { freePort } from '../fixtures/free-port.ts';
import { freshDatabase, sql } from '../fixtures/postgres.ts';
import { theProgram } from '../fixtures/program.ts';
import {
  base,
  endpoint,
  jsonLines,
  type Line,
  logging,
  loud,
  nothing,
  post,
  run,
  serve,
  stack,
  workplace,
} from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

/** Runs the program as a process of its own until it ends. */
async function program(argv: readonly string[]) {
  const child = spawn(process.execPath, [await theProgram(), ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code: code as number, out, err };
}

async function heldPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe('serve', () => {
  test('is not ended by SIGHUP while it starts or stops, nor by a Ctrl-C that npm passes on', async () => {
    const { folder, write } = await workplace();
    const hangs = `http://127.0.0.1:${await heldPort()}`;
    const sinks = `sinks: { ats: { connector: webhook, url: "${hangs}", allowPrivate: true, timeout: 1s } }`;
    const rules = 'rules: [{ name: all, when: {}, then: [{ sink: ats }] }]';
    const asStarted = `process.on('newListener', (name) => name === 'SIGTERM' && process.kill(process.pid, 'SIGHUP'))`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(asStarted)}` };
    const { app, connector } = await serve(
      await write('config.yaml', `${loud(folder)}${sinks}\n${rules}\n`),
      env,
    );
    await post(app, { candidateId: 'Dana' });
    const stopping = connector.logs('"stopping"');
    process.kill(connector.pid!, 'SIGINT');
    await stopping;
    process.kill(connector.pid!, 'SIGINT');
    process.kill(connector.pid!, 'SIGHUP');
    expect(await connector.ended()).toBe(0);
  });

  test('opens no debugger and goes on at signals by which other servers open their logs again', async () => {
    const { folder, write } = await workplace();
    const { app, connector } = await serve(await write('config.yaml', loud(folder) + nothing));
    for (const signal of ['SIGUSR1', 'SIGUSR2']) process.kill(connector.pid!, signal);
    expect(await post(app, { candidateId: 'Dana' })).toMatchObject({ status: 202 });
    expect(await connector.stop()).toBe(0);
    expect(connector.lines.join('\n')).not.toContain('Debugger listening');
  });

  test.each([
    ['SIGTERM', 2, ['rule-1', 'rule-2']],
    ['SIGINT', 12, [...Array.from({ length: 10 }, (_, index) => `rule-${index + 1}`), 'and 2 more']],
  ] as const)(
    'says what it serves, and stops on %s with exit code 0, though a library left a connection open',
    async (signal, count, rules) => {
      const { folder, write } = await workplace();
      const written = Array.from(
        { length: count },
        (_, index) => `{ name: rule-${index + 1}, when: {}, then: [] }`,
      );
      const sinks = 'sinks: { ats: { connector: webhook, url: https://ats.example.com } }';
      const file = await write('config.yaml', `${loud(folder)}${sinks}\nrules: [${written.join(', ')}]\n`);
      const connects = `import { connect } from 'node:net'; connect(${await heldPort()}, '127.0.0.1')`;
      const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(connects)}` };
      const { connector, lines } = await serve(file, env);
      expect(await connector.stop(signal)).toBe(0);
      const [ready, ...others] = lines().filter(({ level }) => level === 'info');
      expect(others.map(({ msg }) => msg)).toEqual(['stopping', 'stopped']);
      const store = `sqlite:${folder}/connector.db`;
      expect(ready).toMatchObject({ msg: 'ready', file, store, rules, sinks: ['ats (webhook)'] });
    },
  );

  test('does not begin with a config that has problems: it lists them and exits 1', async () => {
    const { folder, write } = await workplace();
    const file = await write('config.yaml', `${base(folder)}sinks: { a: { connector: slak } }\nrules: {}\n`);
    const { code, out, err } = await run(['serve', '--config', file]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(`${file}:6:26: error: there is no connector "slak"; did you mean "slack"?`);
    expect(err).toMatch(/\n2 errors\n$/);
    expect(err).not.toMatch(stack);
  });

  test.each(['receiver', 'admin'])(
    'ends with a plain message where the port of %s is taken',
    async (server) => {
      const { folder, write } = await workplace();
      const port = await heldPort();
      const config = base(folder).replace(new RegExp(`(${server}: .*port: )0`), `$1${port}`);
      const { code, err } = await run(['serve', '--config', await write('config.yaml', config + nothing)]);
      expect(code).toBe(1);
      expect(err).toMatch(
        new RegExp(`^candidate-connector: cannot listen on 127.0.0.1:${port}: .*choose another port`),
      );
      expect(err).not.toMatch(stack);
    },
  );

  test('ends with a plain message where another one serves the store, which goes on', async () => {
    const { folder, write } = await workplace();
    const file = await write(
      'config.yaml',
      base(folder) + nothing.replace('[]', '[{ name: a, when: {}, then: [] }]'),
    );
    const { app, connector } = await serve(await write('first.yaml', loud(folder) + nothing));
    const { code, err } = await program(['serve', '--config', file]);
    expect(code).toBe(1);
    expect(err).toMatch(
      /^candidate-connector: the store cannot be used: Another connector serves this store \(.*connector\.db\)/,
    );
    expect(err).toContain(`: process ${connector.pid} on ${hostname()}, since 20`);
    expect(err).toContain('UTC. Stop it first, or give this one another store.url.');
    expect(err).not.toMatch(stack);
    expect(await post(app, { candidateId: 'Dana' })).toMatchObject({ status: 202 });
  });
});

test.each([
  ['-wal', 'Nothing is lost: all is in'],
  ['', 'All that the store had is in'],
])('ends with exit code 1 and loses nothing where its connector.db%s is removed', async (suffix, message) => {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', loud(folder) + nothing);
  const path = join(folder, 'connector.db');
  const { app, connector, lines } = await serve(file);
  const answers: number[] = [];
  const send = async () =>
    void answers.push((await post(app, { candidateId: `Dana ${answers.length}` })).status);
  await send();
  await rm(path + suffix);
  // Until nobody listens any more.
  for (let isUp = true; isUp;)
    isUp = await send()
      .then(() => true)
      .catch(() => false);
  expect(await connector.ended()).toBe(1);
  expect(lines()).toContainEqual(
    expect.objectContaining({
      level: 'fatal',
      err: expect.objectContaining({ message: expect.stringContaining(message) }),
    }),
  );
  const rescued = (await readdir(folder)).find((name) => name.includes('rescued-'));
  if (rescued !== undefined) await rename(join(folder, rescued), path);
  const accepted = answers.filter((status) => status === 202);
  expect(jsonLines(await run(['events', '--json', '--config', file]))).toHaveLength(accepted.length);
  // Once the damage is seen, no event is accepted.
  expect(new Set(answers.slice(accepted.length))).toEqual(new Set([503]));
});

test('says what it refused also where PostgreSQL takes too long to be told, when it ends', async () => {
  const url = await freshDatabase();
  const { folder, write } = await workplace();
  const config = `${loud(folder)}${nothing}`
    .replace(/sqlite:[^"'\s]+/, url)
    .replace('receiver: {', 'receiver: { token: a-token-of-some-length,');
  const { app, connector, lines } = await serve(await write('config.yaml', config));
  const holding = sql(url, 'begin; lock table refused in access exclusive mode; select pg_sleep(600)');
  const locks = (granted: boolean) =>
    eventually(async () =>
      expect(
        await sql(
          url,
          `select 1 from pg_locks where relation = 'refused'::regclass and granted = ${granted}`,
        ),
      ).toHaveLength(1),
    );
  await locks(true);
  expect(await post(app, { candidateId: 'Dana' })).toMatchObject({ status: 401 });
  // One write waits for the lock, and so would the next one.
  await locks(false);
  expect(await connector.stop()).toBe(0);
  await Promise.all([
    expect(holding).rejects.toThrow('terminating'),
    sql(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(600)' and pid <> pg_backend_pid()`,
    ),
  ]);
  expect(lines()).toContainEqual(expect.objectContaining({ reason: 'token', count: 1 }));
}, 60_000);

test('with few open files, connections that do nothing keep nobody out', async () => {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', loud(folder) + nothing);
  const connector = new ConnectorProcess(file, {}, { openFiles: 64 });
  onTestFinished(() => connector.kill());
  const receiver = await connector.start();
  const { admin } = JSON.parse(connector.lines.find((line) => line.includes('"ready"')) ?? '') as {
    admin: string;
  };
  const idle = [receiver, admin].flatMap((url) =>
    Array.from({ length: 100 }, () => connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})),
  );
  onTestFinished(() => idle.forEach((socket) => void socket.destroy()));
  await Promise.all(idle.map((socket) => once(socket, 'connect')));
  expect(await post({ receiverUrl: `${receiver}/hook` }, { candidateId: 'Dana' })).toMatchObject({
    status: 202,
  });
  expect((await fetch(`${admin}/metrics`)).status).toBe(200);
  await writeFile(file, `${loud(folder)}${nothing}unmatched: []\n`);
  await eventually(() => expect(connector.lines.join()).toContain('config reloaded'));
});

describe('a reload', () => {
  const guarded = (folder: string, host: string, secrets: { password?: string; token?: string }) => `
receiver: { host: ${host}, port: 0, path: /hook, allowFrom: any${secrets.token ? `, token: ${secrets.token}` : ''} }
store: { url: "sqlite:${folder}/${host === 'localhost' ? 'other' : 'connector'}.db", retention: ${host === 'localhost' ? '24h' : '30d'} }
admin: { host: ${host}, port: 0${secrets.password ? `, password: ${secrets.password}` : ''} }
log: { level: info, format: ${host === 'localhost' ? 'pretty' : 'json'} }
sinks: {}
rules: []
`;

  async function reloading() {
    const { folder, write } = await workplace();
    const first = { password: 'first-word', token: 'first-token' };
    const file = await write('config.yaml', guarded(folder, '127.0.0.1', first));
    const { app, out, lines } = await logging(file);
    const { adminUrl: admin } = app;
    const statusOf = async (url: string, authorization: string, method = 'GET') =>
      (await fetch(url, { method, headers: { authorization } })).status;
    let reloads = 0;
    return {
      app,
      out,
      reload: async (host: string, secrets: { password?: string; token?: string }) => {
        await writeFile(file, guarded(folder, host, secrets));
        reloads += 1;
        await eventually(() =>
          expect(lines().filter(({ msg }) => msg === 'config reloaded')).toHaveLength(reloads),
        );
        const waiting = lines().filter(({ msg }) => msg.includes('wait for a restart'));
        return waiting.at(-1)?.['keys'];
      },
      readiness: async () => (await fetch(`${admin}/readyz`)).json() as Promise<{ parts: unknown[] }>,
      metrics: (password: string) =>
        statusOf(`${admin}/metrics`, password && `Basic ${Buffer.from(`x:${password}`).toString('base64')}`),
      /** 415: the caller may, but not without content. */
      receiver: (token: string) => statusOf(app.receiverUrl, token && `Bearer ${token}`, 'POST'),
    };
  }

  test('keeps what protects an open port together with the port, and names what waits; else it takes effect at once', async () => {
    const { app, out, metrics, readiness, receiver, reload } = await reloading();
    const waiting = await reload('localhost', {});
    expect(waiting).toEqual([
      'receiver.host',
      'receiver.token',
      'admin.host',
      'admin.password',
      'store.url',
      'store.retention',
      'log.format',
    ]);
    expect([await metrics(''), await metrics('first-word')]).toEqual([401, 200]);
    expect([await receiver(''), await receiver('first-token')]).toEqual([401, 415]);
    expect((await readiness()).parts).toContainEqual({
      part: 'config',
      ok: true,
      detail: expect.stringContaining('wait for a restart'),
    });
    // A second change: the values of the start are still in force, and stay secret.
    await reload('localhost', { password: 'second-word', token: 'second-token' });
    expect([await metrics('second-word'), await metrics('first-word')]).toEqual([401, 200]);
    expect([await receiver('second-token'), await receiver('first-token')]).toEqual([401, 415]);
    // With an unchanged port, new values take effect.
    await reload('127.0.0.1', { password: 'second-word', token: 'second-token' });
    expect([await metrics('first-word'), await metrics('second-word')]).toEqual([401, 200]);
    // The service cannot change at the same moment: its old token counts until the new one comes.
    for (const [token, status] of [
      ['first', 415],
      ['second', 415],
      ['first', 401],
    ] as const)
      expect(await receiver(`${token}-token`)).toBe(status);
    // Answers are cached for a second.
    await eventually(async () =>
      expect((await readiness()).parts).toContainEqual({ part: 'config', ok: true }),
    );
    await fetch(new URL('/first-token/first-word', app.receiverUrl));
    await app.stop();
    expect(out()).not.toMatch(/(first|second)-(word|token)/);
  });
});

describe('the program', () => {
  test('ends with the exit code of its command, and prints nothing else', async () => {
    const { folder, write } = await workplace();
    const file = await write('config.yaml', base(folder) + nothing);
    await (await openStore(`sqlite:${folder}/connector.db`, { serve: true })).close();
    const [good, missing, unknown] = await Promise.all([
      program(['events', '--config', file]),
      program(['event', 'evt_nobody', '--config', file]),
      program(['evnts']),
    ]);
    expect(good).toEqual({ code: 0, out: 'No events.\n', err: '' });
    expect(missing).toMatchObject({ code: 1, out: '', err: expect.stringContaining('no event evt_nobody') });
    expect(unknown).toMatchObject({ code: 2, out: '', err: expect.stringContaining('Did you mean events?') });
  });

  test('ends quietly when nobody reads on, as in `schema | head`', async () => {
    const pipe = `{ '${process.execPath}' '${await theProgram()}' schema; echo "code $?" >&2; } | head -c 1`;
    const child = spawn('sh', ['-c', pipe], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect({ out, err }).toEqual({ out: '{', err: 'code 0\n' });
  });
});

/** Gives a process another /etc/resolv.conf, which root may. */
const withResolver = (resolv: string) => [
  'unshare',
  '--mount',
  'sh',
  '-c',
  `mount --make-rprivate / && mount --bind ${resolv} /etc/resolv.conf && exec "$@"`,
  'sh',
];
const [unshare = '', ...unshared] = withResolver('/etc/resolv.conf');
const mayHaveResolver = spawnSync(unshare, [...unshared, 'true']).status === 0;

test.runIf(mayHaveResolver)('a name that no DNS answers for keeps no other sink waiting', async () => {
  const { folder, write } = await workplace();
  const dns = createSocket('udp4').bind(53, '127.83.20.53');
  onTestFinished(() => void dns.close());
  await once(dns, 'listening');
  const resolv = await write('resolv.conf', 'nameserver 127.83.20.53\noptions timeout:20\n');
  const http = await endpoint();
  const port = await freePort();
  const config = `${loud(folder).replace('port: 0', `port: ${port}`)}
sinks:
  dead: { connector: webhook, url: 'http://dead.example/', allowPrivate: true }
  good: { connector: webhook, url: '${http.url.replace('127.0.0.1', 'localhost')}', allowPrivate: true }
rules: [{ name: all, when: {}, then: [{ sink: dead }, { sink: good }] }]
`;
  const served = [await theProgram(), 'serve', '--config', await write('config.yaml', config)];
  const argv = [...withResolver(resolv).slice(1), process.execPath, ...served];
  const child = spawn(unshare, argv, { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  await eventually(() => expect(lines.join('\n')).toContain('"ready"'));
  for (let event = 0; event < 4; event += 1)
    await post({ receiverUrl: `http://127.0.0.1:${port}/hook` }, { candidateId: `Dana ${event}` });
  await eventually(() => expect(http.calls).toHaveLength(4), { timeout: 60_000 });
  const ofGood = lines.map((line) => JSON.parse(line) as Line).filter(({ sink }) => sink === 'good');
  expect(ofGood.filter(({ outcome }) => outcome !== 'delivered')).toEqual([]);
});
