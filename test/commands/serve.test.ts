import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import { ConnectorProcess, freePort } from '../faults/connector-process.ts';
import { head, Wire } from '../receiver/wire.ts';
import { base, endpoint, jsonLines, post, run, stack, workplace } from './tools.ts';

const main = join(import.meta.dirname, '../../src/main.ts');

/** Runs the program as a process of its own until it ends. */
async function program(argv: readonly string[]) {
  const child = spawn(process.execPath, [main, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code: code as number, out, err };
}

/** `serve` as a process of its own, killed at the end if it is still there. */
async function serve(file: string, env: Record<string, string> = {}) {
  const connector = new ConnectorProcess(file, env);
  onTestFinished(() => connector.kill());
  const receiver = await connector.start();
  return {
    connector,
    app: { receiverUrl: `${receiver}/hook` },
    lines: () =>
      connector.lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Line),
  };
}

type Line = Record<string, unknown> & { msg: string };

const nothing = 'sinks: {}\nrules: []\n';
const loud = (folder: string) => base(folder).replace('level: fatal', 'level: info');

async function heldPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe('serve', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('stops on %s with exit code 0', async (signal) => {
    const { folder, write } = await workplace();
    const { connector, lines } = await serve(await write('config.yaml', loud(folder) + nothing));
    expect(await connector.stop(signal)).toBe(0);
    expect(lines().map(({ msg }) => msg)).toEqual(['ready', 'stopping', 'stopped']);
  });

  test.each([
    [2, ['rule-1', 'rule-2']],
    [12, [...Array.from({ length: 10 }, (_, index) => `rule-${index + 1}`), 'and 2 more']],
  ])('says what it serves when it is ready, with %i rules', async (count, rules) => {
    const { folder, write } = await workplace();
    const written = Array.from(
      { length: count },
      (_, index) => `{ name: rule-${index + 1}, when: {}, then: [] }`,
    );
    const sinks = 'sinks: { ats: { connector: webhook, url: https://ats.example.com } }';
    const file = await write('config.yaml', `${loud(folder)}${sinks}\nrules: [${written.join(', ')}]\n`);
    const { lines } = await serve(file);
    expect(lines().find(({ msg }) => msg === 'ready')).toMatchObject({
      file,
      store: `sqlite:${folder}/connector.db`,
      rules,
      sinks: ['ats (webhook)'],
    });
  });

  test('does not begin with a config that has problems: it lists them and exits 1', async () => {
    const { folder, write } = await workplace();
    const file = await write('config.yaml', `${base(folder)}sinks: { a: { connector: slak } }\nrules: {}\n`);
    const { code, out, err } = await program(['serve', '--config', file]);
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
      const { code, err } = await program([
        'serve',
        '--config',
        await write('config.yaml', config + nothing),
      ]);
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

test('with few open files, connections that do nothing keep nobody out', async () => {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', loud(folder) + nothing);
  const connector = new ConnectorProcess(file, {}, 64);
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
  await vi.waitFor(() => expect(connector.lines.join()).toContain('config reloaded'), { timeout: 15_000 });
});

describe('the log', () => {
  const config = (folder: string, url: string, more = '') => `${loud(folder)}
sinks: { ats: { connector: webhook, url: '${url}', allowPrivate: true, secret: '\${ATS_SECRET}' } }
rules: [ { name: told, when: {}, then: [ { sink: ats } ] } ]
${more}`;
  const env = { ATS_SECRET: 'whsec_bm90IGZvciB0aGUgbG9n', TOKEN: 'also-not-for-the-log' };

  test('has one line for each request and one for each attempt, with all ids, and no payload', async () => {
    const { folder, write } = await workplace();
    const http = await endpoint();
    http.faults.once({ kind: 'status', status: 410 });
    const { app, lines, connector } = await serve(await write('config.yaml', config(folder, http.url)), env);
    const { eventId } = await post(app, { candidateId: 'Dana', note: 'private matters' }, 'cor-1');
    await vi.waitFor(() => expect(lines().filter(({ msg }) => msg === 'attempt')).toHaveLength(1), {
      timeout: 5000,
    });
    const robin = await post(app, { candidateId: 'Robin' }, 'cor-2');
    await vi.waitFor(() => expect(lines().filter(({ msg }) => msg === 'attempt')).toHaveLength(2), {
      timeout: 5000,
    });
    await connector.stop();
    const requests = lines().filter(({ msg }) => msg === 'request');
    const line = { level: 'info', time: expect.stringMatching(/Z$/), durationMs: expect.any(Number) };
    expect(requests).toMatchObject([
      { ...line, eventId, correlationId: 'cor-1', outcome: 'accepted', status: 202 },
      { ...line, eventId: robin.eventId, correlationId: 'cor-2', outcome: 'accepted' },
    ]);
    const told = { rule: 'told', sink: 'ats', attempt: 1, durationMs: expect.any(Number) };
    expect(lines().filter(({ msg }) => msg === 'attempt')).toMatchObject([
      {
        ...told,
        level: 'warn',
        eventId,
        deliveryId: `dlv_${eventId.slice(4)}_1`,
        correlationId: 'cor-1',

        outcome: 'rejected',
        reason: 'not_found',
        state: 'dead',
        detail: expect.stringContaining('410'),
      },
      { ...told, eventId: robin.eventId, correlationId: 'cor-2', outcome: 'delivered', state: 'delivered' },
    ]);
    expect(connector.lines.join('\n')).not.toContain('private matters');
  });

  test('tells what no alert could tell: that a notice of deliveries given up was itself given up', async () => {
    const { folder, write } = await workplace();
    const [ats, ops] = [await endpoint(), await endpoint()];
    for (const { faults } of [ats, ops]) faults.once({ kind: 'status', status: 410 });
    const file = await write(
      'config.yaml',
      `${loud(folder)}
sinks:
  ats: { connector: webhook, url: '${ats.url}', allowPrivate: true }
  ops: { connector: webhook, url: '${ops.url}', allowPrivate: true }
rules: [ { name: told, when: {}, then: [ { sink: ats } ] } ]
alerts: { dead: { then: [ { sink: ops } ] } }
`,
    );
    const { app, lines } = await serve(file);
    await post(app, { candidateId: 'Dana' });
    const notTold = () =>
      lines().find(({ level, msg }) => level === 'error' && msg.includes('alert could not be delivered'));
    await vi.waitFor(() => expect(notTold()).toBeDefined(), { timeout: 18_000, interval: 100 });
    type Notice = { id: string; deliveries: { id: string }[] };
    const [notice] = jsonLines<Notice>(await run(['events', '--notices', '--json', '--config', file]));
    expect(notTold()).toMatchObject({
      noticeId: notice?.id,
      rule: 'alerts.dead',
      sink: 'ops',
      state: 'dead',
      notice: { cause: 'dead ats: not_found in told 0', detail: expect.stringContaining('410') },
    });
    expect(notice).toMatchObject({
      cause: 'dead ats: not_found in told 0',
      deliveries: [{ sink: 'ops', state: 'dead' }],
    });
    await run(['replay', notice?.deliveries[0]?.id ?? '', '--config', file]);
    await vi.waitFor(() => expect(ops.calls).toHaveLength(1), { timeout: 15_000 });
    expect(JSON.parse(ops.calls[0]?.body ?? '')).toMatchObject({
      type: 'connector.alert',
      data: { alert: 'dead', sink: 'ats', count: 1 },
    });
  });

  test('has the problems of a changed config that cannot be used, and neither a stack nor a secret', async () => {
    const { folder, write } = await workplace();
    const http = await endpoint();
    const file = await write('config.yaml', config(folder, http.url));
    const { lines, connector } = await serve(file, env);
    await writeFile(file, config(folder, http.url, "unmatched: [ { sink: atz, path: '${TOKEN}' } ]"));
    await vi.waitFor(() => expect(lines().at(-1)?.msg).toContain('config not reloaded'), { timeout: 15_000 });
    const { level, err } = lines().at(-1)!;
    expect({ level, err }).toEqual({
      level: 'error',
      err: {
        type: 'ConfigError',
        file,
        problems: [{ line: 9, column: 22, message: 'there is no sink "atz"; did you mean "ats"?' }],
      },
    });
    await writeFile(file, config(folder, http.url, 'unmatched: [ { sink: ats } ]'));
    await vi.waitFor(() => expect(lines().at(-1)?.msg).toBe('config reloaded'), { timeout: 15_000 });
    for (const secret of Object.values(env)) expect(connector.lines.join('\n')).not.toContain(secret);
  });

  test.each(['json', 'pretty'])('shows what a stranger sends and nobody sees: %s', async (format) => {
    const { folder, write } = await workplace();
    const proxied = loud(folder).replace('allowFrom: any', 'allowFrom: any, trustProxy: 1') + nothing;
    const file = await write('config.yaml', proxied.replace('level: info', `level: info, format: ${format}`));
    const child = spawn(process.execPath, [main, 'serve', '--config', file], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (data: string) => (out += data));
    await vi.waitFor(() => expect(out).toMatch(/\brescued\b.*\n/), 15_000);
    const [, port] = /receiver(?:":"|=)http:\/\/127\.0\.0\.1:(\d+)/.exec(out) ?? [];
    const wire = await Wire.open(Number(port));
    const sent = head('/hook', { 'content-length': 2, 'x-forwarded-for': 'a\u009B2J\u00AD' });
    wire.send(Buffer.from(`${sent}{}`, 'latin1'));
    await wire.answer();
    await vi.waitFor(() => expect(out).toContain('2J'), 15_000);
    expect(out).toContain(format === 'json' ? '"a\\u009b2J\\u00ad"' : 'a\\u{9b}2J\\u{ad}');
    expect(out).not.toMatch(/[^\P{Cc}\n]|\p{Default_Ignorable_Code_Point}/u);
  });

  test('has no secret, whoever says it', async () => {
    const { folder, write } = await workplace();
    const { app, connector, lines } = await serve(
      await write('config.yaml', config(folder, 'http://127.0.0.1:1')),
      env,
    );
    await post(app, { candidateId: 'Dana' }, env.ATS_SECRET);
    await connector.stop();
    expect(lines().find(({ msg }) => msg === 'request')).toMatchObject({ correlationId: '***' });
    expect(connector.lines.join('\n')).not.toContain(env.ATS_SECRET);
  });
});

describe('a stdout', () => {
  const config = (folder: string) => loud(folder) + nothing;
  const accepts = async (app: { receiverUrl: string }, events: number) => {
    for (let event = 0; event < events; event += 1) {
      expect(await post(app, { candidateId: `candidate-${event}` })).toMatchObject({ status: 202 });
    }
  };
  const dropped = async (admin: string) => {
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    return Number(/^candidate_connector_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1]);
  };
  const patient = { timeout: 10_000 };
  const adminOf = (lines: readonly Line[]) => String(lines.find(({ msg }) => msg === 'ready')?.['admin']);

  /** Until lines are dropped. What becomes of these requests is another matter. */
  const fill = (app: { receiverUrl: string }, admin: string) =>
    vi.waitFor(
      async () => {
        const posts = Array.from({ length: 50 }, () => post(app, {}, 'x'.repeat(200)).catch(() => {}));
        await Promise.all(posts);
        expect(await dropped(admin)).toBeGreaterThan(0);
      },
      { timeout: 60_000, interval: 1 },
    );

  test('that closes stops nothing, and what it does not take is counted', async () => {
    const { folder, write } = await workplace();
    const { connector, app, lines } = await serve(await write('config.yaml', config(folder)));
    connector.closeStdout();
    await accepts(app, 50);
    await vi.waitFor(async () => expect(await dropped(adminOf(lines()))).toBeGreaterThan(0), patient);
    expect(await connector.stop()).toBe(0);
  });

  test(
    'that nobody reads stops nothing, and tells what it missed once it is read again',
    { timeout: 120_000 },
    async () => {
      const { folder, write } = await workplace();
      const { connector, app, lines } = await serve(await write('config.yaml', config(folder)));
      const admin = adminOf(lines());
      connector.holdStdout();
      await fill(app, admin);
      await accepts(app, 5);
      connector.readStdout();
      await vi.waitFor(
        () =>
          expect(lines()).toContainEqual(
            expect.objectContaining({
              level: 'warn',
              dropped: expect.any(Number),
              msg: expect.stringContaining('stdout'),
            }),
          ),
        patient,
      );
      expect(await connector.stop()).toBe(0);
    },
  );

  test('that nobody reads does not keep it from its end', { timeout: 120_000 }, async () => {
    const { folder, write } = await workplace();
    const { connector, app, lines } = await serve(await write('config.yaml', config(folder)));
    const admin = adminOf(lines());
    connector.holdStdout();
    await fill(app, admin);
    expect(await connector.stop()).toBe(0);
  });

  test('that is a file on a full disk stops nothing', async () => {
    const { folder, write } = await workplace();
    const [port, adminPort] = [await freePort(), await freePort()];
    const written = config(folder)
      .replace('port: 0', `port: ${port}`)
      .replace('admin: { port: 0', `admin: { port: ${adminPort}`);
    const full = openSync('/dev/full', 'w');
    const argv = [main, 'serve', '--config', await write('config.yaml', written)];
    const child = spawn(process.execPath, argv, { stdio: ['ignore', full, 'ignore'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    closeSync(full);
    const admin = `http://127.0.0.1:${adminPort}`;
    await vi.waitFor(() => fetch(`${admin}/healthz`), { timeout: 10_000 });
    await accepts({ receiverUrl: `http://127.0.0.1:${port}/hook` }, 20);
    await vi.waitFor(async () => expect(await dropped(admin)).toBeGreaterThan(0), patient);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  /** Of util-linux: a real terminal. */
  const script = '/usr/bin/script';

  async function onTerminal(folder: string, file: string, env: Record<string, string> = {}) {
    const command = `sh -c 'echo $$ > ${folder}/pid; exec ${process.execPath} ${main} serve --config ${file}'`;
    const { NO_COLOR, FORCE_COLOR, ...inherited } = process.env;
    const terminal = spawn(script, ['-qfec', command, '/dev/null'], {
      env: { ...inherited, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => void terminal.kill('SIGKILL'));
    let shown = '';
    terminal.stdout.on('data', (data: Buffer) => (shown += data.toString()));
    await vi.waitFor(() => expect(shown).toMatch(/ready[^\n]*\n/), { timeout: 10_000 });
    const pid = Number(readFileSync(`${folder}/pid`, 'utf8'));
    onTestFinished(() => void (isThere(pid) && process.kill(pid, 'SIGKILL')));
    const [, receiver = '', admin = ''] =
      /receiver=(\S+) admin=(\S+)/.exec(stripVTControlCharacters(shown)) ?? [];
    return { terminal, pid, ready: { receiver, admin }, shown: () => shown };
  }

  test.runIf(existsSync(script)).each([
    ['in colour', {}, true],
    ['without colour where NO_COLOR says so', { NO_COLOR: '1' }, false],
  ])('that is a terminal gets one readable line an event, %s', async (_how, env, colored) => {
    const { folder, write } = await workplace();
    const { ready, shown } = await onTerminal(folder, await write('config.yaml', config(folder)), env);
    await accepts({ receiverUrl: `${ready.receiver}/hook` }, 1);
    await vi.waitFor(() => expect(shown()).toMatch(/request[^\n]*\n/), patient);
    const lines = stripVTControlCharacters(shown()).trimEnd().split(/\r?\n/);
    expect(lines).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z INFO ready receiver=http:/),
      expect.stringMatching(/Z INFO request outcome=accepted status=202 eventId=evt_/),
    ]);
    expect(shown() !== stripVTControlCharacters(shown())).toBe(colored);
  });

  test.runIf(existsSync(script))('that is a terminal may close', async () => {
    const { folder, write } = await workplace();
    const file = await write('config.yaml', config(folder));
    const { terminal, ready, pid } = await onTerminal(folder, file);
    terminal.kill('SIGKILL');
    await once(terminal, 'exit');
    await accepts({ receiverUrl: `${ready.receiver}/hook` }, 50);
    await vi.waitFor(async () => expect(await dropped(ready.admin)).toBeGreaterThan(0), patient);
    process.kill(pid, 'SIGTERM');
    await vi.waitFor(() => expect(isThere(pid)).toBe(false), { timeout: 10_000 });
  });
});

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

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
    const { app, connector, lines } = await serve(file);
    const admin = String(lines().find(({ msg }) => msg === 'ready')?.['admin']);
    const statusOf = async (url: string, authorization: string, method = 'GET') =>
      (await fetch(url, { method, headers: { authorization } })).status;
    let reloads = 0;
    return {
      app,
      connector,
      reload: async (host: string, secrets: { password?: string; token?: string }) => {
        await writeFile(file, guarded(folder, host, secrets));
        reloads += 1;
        await vi.waitFor(
          () => expect(lines().filter(({ msg }) => msg === 'config reloaded')).toHaveLength(reloads),
          { timeout: 15_000 },
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

  test('keeps what protects an open port together with the port, and names what waits', async () => {
    const { app, connector, metrics, readiness, receiver, reload } = await reloading();
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
    // Again, with others: what is in force are those of the start still, and they stay secret.
    await reload('localhost', { password: 'second-word', token: 'second-token' });
    expect([await metrics('second-word'), await metrics('first-word')]).toEqual([401, 200]);
    expect([await receiver('second-token'), await receiver('first-token')]).toEqual([401, 415]);
    await fetch(new URL('/first-token/first-word', app.receiverUrl));
    await connector.stop();
    expect(connector.lines.join('\n')).not.toMatch(/(first|second)-(word|token)/);
  });

  test('with the port as it is takes new passwords and tokens at once', async () => {
    const { metrics, readiness, receiver, reload } = await reloading();
    await reload('localhost', {});
    await reload('127.0.0.1', { password: 'second-word', token: 'second-token' });
    expect([await metrics('first-word'), await metrics('second-word')]).toEqual([401, 200]);
    expect([await receiver('first-token'), await receiver('second-token')]).toEqual([401, 415]);
    // One answer is for all who ask within a second.
    await vi.waitFor(
      async () => expect((await readiness()).parts).toContainEqual({ part: 'config', ok: true }),
      5_000,
    );
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
    const pipe = `{ '${process.execPath}' '${main}' schema; echo "code $?" >&2; } | head -c 1`;
    const child = spawn('sh', ['-c', pipe], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect({ out, err }).toEqual({ out: '{', err: 'code 0\n' });
  });
});

test('commands work beside a connector in a process of its own', async () => {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', loud(folder) + nothing);
  const { app } = await serve(file);
  const { eventId } = await post(app, { candidateId: 'Dana' });
  expect(jsonLines(await run(['events', '--json', '--config', file]))).toMatchObject([{ id: eventId }]);
});
