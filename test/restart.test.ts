import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { takeHandedOver } from '../src/http/listen.ts';
import { activated, answersOver, heldAt, post, rules } from './activated.ts';
import { startApp } from '../src/app.ts';
import { openStore } from '../src/store/open.ts';
import { eventIds } from '../src/support/ids.ts';
import { theProgram } from './fixtures/program.ts';
import {
  agedBy,
  base,
  endpoint,
  jsonLines,
  logging,
  loud,
  nothing,
  post as postEvent,
  run,
  serve,
  settled,
  workplace,
} from './commands/tools.ts';
import { SmtpSandbox } from '../sandbox/smtp.ts';
import { arrival, configId } from './contract/store-fixtures.ts';
import { eventually } from './fixtures/eventually.ts';

describe('a socket that is handed over', () => {
  test(
    'refuses nobody and loses nothing while the connector is restarted under load',
    { timeout: 180_000 },
    async () => {
      const { file, address, restart } = await activated({ host: '127.0.0.1', port: 0 });
      const ended: boolean[] = [];
      const answers = await answersOver(async () => ended.push(await restart()), {
        host: address.address,
        port: address.port,
      });
      expect(ended).toEqual([true, true, true]);
      expect(answers.filter((status) => status !== 202)).toEqual([]);
      expect(jsonLines(await run(['events', '--json', '--config', file]))).toHaveLength(answers.length);
    },
  );

  test('may be a unix socket: its callers are this machine, and may be a proxy', async () => {
    const { folder } = await workplace();
    const path = join(folder, 'http.sock');
    const socketPath = heldAt(path);
    const { lines } = await activated({ path }, '[203.0.113.7, 127.0.0.1], trustProxy: 1');
    expect(lines.join('')).toContain('"receiver":"unix socket"');
    const from = (address: string) => post({ socketPath }, { 'x-forwarded-for': address });
    expect([await from('203.0.113.7'), await from('203.0.113.8')]).toEqual([202, 403]);
    expect(await post({ socketPath })).toBe(202);
  });

  test('is taken for itself alone: the variables are gone for what it starts', () => {
    const env = { LISTEN_FDS: '1', LISTEN_PID: '42', LISTEN_FDNAMES: 'http', OTHER: 'stays' };
    expect(takeHandedOver(env, 42)).toEqual({ fd: 3 });
    expect(env).toEqual({ OTHER: 'stays' });
    expect(takeHandedOver(env, 42)).toBeNull();
    expect(takeHandedOver({ LISTEN_FDS: '0', LISTEN_PID: '42' }, 42)).toBeNull();
    expect(() => takeHandedOver({ LISTEN_FDS: '2', LISTEN_PID: '42' }, 42)).toThrow(
      /2 sockets were handed over .*only the receiver takes one/,
    );
    expect(() => takeHandedOver({ LISTEN_FDS: '1', LISTEN_PID: '1' }, 42)).toThrow(
      /to process 1 \(LISTEN_PID\), and this is process 42\..* without npm/,
    );
  });

  test('is refused in plain words where it is none', async () => {
    const { folder, write } = await workplace();
    const argv = ['serve', '--config', await write('config.yaml', base(folder) + rules)];
    const script = 'export LISTEN_FDS=1 LISTEN_PID=$$; exec "$0" "$@" 3</dev/null';
    const child = spawn('sh', ['-c', script, process.execPath, await theProgram(), ...argv], {
      stdio: 'pipe',
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    const message = /descriptor 3, .*no listening TCP or unix socket.*ListenStream=/;
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(message) });
  });
});

test('what waits in a store that was restored is asked for, or held, and not sent again', async () => {
  const { folder, write } = await workplace();
  const ats = await endpoint();
  const sink = `{ connector: webhook, url: '${ats.url}', allowPrivate: true, onUnknown: hold, retry: { minDelay: 50ms, maxDelay: 50ms } }`;
  const file = await write(
    'config.yaml',
    `${base(folder)}sinks: { ats: ${sink} }\nrules: [{ name: told, when: {}, then: [{ sink: ats }] }]\n`,
  );
  const served = async (use: (app: { receiverUrl: string }) => Promise<unknown>) => {
    const app = await startApp(file, {});
    await use(app).finally(() => app.stop());
  };
  let refused = 0;
  ats.faults.decide = () => {
    refused += 1;
    return { kind: 'rate-limit', retryAfterS: 1 };
  };
  await served(async (app) => {
    await postEvent(app, { candidateId: 'Dana' });
    await expect.poll(() => refused).toBeGreaterThan(0);
  });
  copyFileSync(`${folder}/connector.db`, `${folder}/snapshot.db`);
  ats.faults.clear();
  // In its old place it goes on.
  await served(() => settled(file, /^delivered$/));
  expect(ats.calls).toHaveLength(1);
  renameSync(`${folder}/snapshot.db`, `${folder}/connector.db`);
  await served(() => settled(file, /^(delivered|held)$/));
  expect((await run(['events', '--state', 'held', '--config', file])).out).toContain('Dana');
  expect(ats.calls).toHaveLength(1);
});

test('what came by a clock that was ahead refuses no event, also after a restart', async () => {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', base(folder) + nothing);
  const receivedAt = Date.now() + 3_600_000;
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
  await store.saveConfig({ id: configId, source: {}, savedAt: receivedAt });
  await store.accept(arrival({ id: eventIds()(receivedAt), receivedAt }, { deliveries: [] }));
  await store.close();
  for (const candidateId of ['Dana', 'Kim']) {
    const app = await startApp(file, {});
    expect(await postEvent(app, { candidateId })).toMatchObject({ status: 202 });
    await app.stop();
  }
});

test('a restart while a mail server refuses all mails in words of its own costs no mail', async () => {
  const server = await new SmtpSandbox().start();
  onTestFinished(() => server.close());
  let refusals = 0;
  server.faults.only = ['DATA'];
  server.faults.decide = () => {
    refusals += 1;
    return { kind: 'status', status: 550, body: '5.7.1 Not just now' };
  };
  const { folder, write } = await workplace();
  const file = await write(
    'config.yaml',
    `${base(folder)}
sinks: { mail: { connector: email, url: 'smtp://127.0.0.1:${server.port}', from: a@example.com, concurrency: 1, retry: { minDelay: 10ms, maxDelay: 20ms } } }
rules: [ { name: told, when: {}, then: [ { sink: mail, to: [b@example.com] } ] } ]
`,
  );
  const states = async () => {
    const events = jsonLines<{ deliveries: { state: string }[] }>(
      await run(['events', '--json', '--config', file]),
    );
    return events.map(({ deliveries: [mail] }) => String(mail?.state)).toSorted();
  };
  const others = Array.from({ length: 7 }, () => 'pending');
  for (const candidates of [['Ana', 'Ben', 'Cleo', 'Dana', 'Eva', 'Finn', 'Gus', 'Hana'], [], []]) {
    const app = await startApp(file, {});
    for (const candidateId of candidates) await postEvent(app, { candidateId });
    const before = refusals;
    await eventually(() => expect(refusals).toBeGreaterThan(before + 10));
    await app.stop();
    // The first one could be about that mail alone.
    expect(await states()).toEqual(['dead', ...others]);
  }
  server.faults.clear();
  const app = await startApp(file, {});
  await settled(file);
  await app.stop();
  expect(server.mails).toHaveLength(7);
});

test('what nobody could receive is told: since when and until when no connector served the store', async () => {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', loud(folder) + nothing);
  const restarted = async (agedMs: number) => {
    await agedBy(agedMs, `sqlite:${folder}/connector.db`);
    const { app, lines } = await logging(file);
    const { code, out } = await run(['status', '--config', file]);
    const { notServed } = JSON.parse((await run(['status', '--json', '--config', file])).out);
    const page = (await (await fetch(app.adminUrl)).text()).replaceAll(/<[^>]+>/g, '');
    const told = lines().filter(({ msg }) => msg.startsWith('nobody served this store for a while'));
    await app.stop();
    return { code, out, page, notServed, told };
  };
  const hour = 3_600_000;
  const first = await logging(file);
  await first.app.stop();
  // Nobody has sent anything yet.
  expect(await restarted(hour)).toMatchObject({ code: 0, notServed: [], told: [] });
  const second = await logging(file);
  await postEvent(second.app, { candidateId: 'Dana' });
  await second.app.stop();

  const { code, out, page, notServed, told } = await restarted(hour);
  const says =
    /No connector served this store from .* to .*: events of that time are not in it, .* reconcile/s;
  expect({ code, out, page }).toEqual({
    code: 0,
    out: expect.stringMatching(says),
    page: expect.stringMatching(says),
  });
  const [{ from, to }] = notServed;
  expect(notServed).toHaveLength(1);
  expect(Date.parse(to) - Date.parse(from)).toBeGreaterThanOrEqual(hour);
  expect(told).toMatchObject([{ level: 'warn', from, to }]);
  // An update is short, and what was found before it is said all the same.
  expect(await restarted(60_000)).toMatchObject({ notServed, told: [] });
  // So it is after another one.
  const again = await restarted(180_000);
  expect(again.notServed).toEqual([notServed[0], { from: again.told[0]!.from, to: again.told[0]!.to }]);
  const both = /No connector served this store from .* to .*, and from .* to .*: events of that time/s;
  expect(again).toMatchObject({ out: expect.stringMatching(both), page: expect.stringMatching(both) });
  // For a week.
  const store = await openStore(`sqlite:${folder}/connector.db`, { serve: false });
  const [last] = await store.replicaStates();
  const ago = { from: Date.now() - 170 * hour, to: Date.now() - 169 * hour };
  await store.keepReplicaState({ ...last!, absences: [ago] });
  await store.close();
  expect(await restarted(0)).toMatchObject({ notServed: [], told: [] });
});

test('when a machine was suspended nobody served either; a clock that was ahead at a start makes it no longer than it was', async () => {
  const { folder, write } = await workplace();
  const file = await write('config.yaml', loud(folder) + nothing);
  const hour = 3_600_000;
  /** Starts with a clock that is off, and is set right at a signal. The sign of life comes soon. */
  const startedOff = async (ms: number) => {
    const code = `let off=${ms};const now=Date.now,wait=setTimeout;Date.now=()=>now()+off;process.on('SIGWINCH',()=>{off=0});globalThis.setTimeout=(f,ms,...a)=>wait(f,ms===1e4?10:ms,...a)`;
    const { app, connector } = await serve(file, {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
    });
    const setRight = () => process.kill(connector.pid!, 'SIGWINCH');
    return { app, connector, setRight };
  };
  const told = async () => {
    const [status] = jsonLines<{ notServed: { from: string; to: string }[] }>(
      await run(['status', '--json', '--config', file]),
    );
    return status!.notServed.map(({ from, to }) => (Date.parse(to) - Date.parse(from)) / hour);
  };

  const suspended = await startedOff(-3 * hour);
  await postEvent(suspended.app, { candidateId: 'Dana' });
  suspended.setRight();
  await eventually(async () => expect(await told()).toEqual([expect.closeTo(3, 1)]));
  expect(await suspended.connector.stop()).toBe(0);

  await agedBy(hour, `sqlite:${folder}/connector.db`);
  const ahead = await startedOff(48 * hour);
  ahead.setRight();
  await eventually(async () => expect(await told()).toEqual([expect.closeTo(3, 1), expect.closeTo(1, 1)]));
  expect(await ahead.connector.stop()).toBe(0);
});

test('silence is counted over restarts where no event has ever come', async () => {
  const { folder, write } = await workplace();
  const tool = await endpoint();
  const file = await write(
    'config.yaml',
    `${loud(folder)}sinks: { ops: { connector: webhook, url: ${tool.url}, allowPrivate: true } }
rules: []
alerts: { silence: { after: 7d, then: [{ sink: ops }] } }`,
  );
  /** Starts with a clock that is `days` back. What is looked at every ten seconds is looked at soon. */
  const startedAgo = async (days: number) => {
    const code = `const now=Date.now,wait=setTimeout;Date.now=()=>now()-${days * 86_400_000};globalThis.setTimeout=(f,ms,...a)=>wait(f,ms===1e4?10:ms,...a)`;
    return serve(file, { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` });
  };
  for (const days of [8, 5, 2]) expect(await (await startedAgo(days)).connector.stop()).toBe(0);
  await startedAgo(0);
  await eventually(async () =>
    expect((await run(['events', '--notices', '--config', file])).out).toMatch(
      /No event has come for 8 days/,
    ),
  );
});
