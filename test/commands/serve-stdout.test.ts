import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { post as postTo } from '../activated.ts';
import { freePort } from '../fixtures/free-port.ts';
import { theProgram } from '../fixtures/program.ts';
import { type Line, loud, nothing, post, serve, workplace } from './tools.ts';
import { eventually } from '../fixtures/eventually.ts';

describe('a stdout', () => {
  const config = (folder: string) => loud(folder) + nothing;
  const accepts = async (app: { receiverUrl: string }, events: number) => {
    for (let event = 0; event < events; event += 1) {
      expect(await post(app, { candidateId: randomUUID() })).toMatchObject({ status: 202 });
    }
  };
  const dropped = async (admin: string) => {
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    return Number(/^candidate_connector_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1]);
  };
  const adminOf = (lines: readonly Line[]) => String(lines.find(({ msg }) => msg === 'ready')?.['admin']);

  /** Sends requests until lines are dropped. */
  const fill = async ({ receiverUrl }: { receiverUrl: string }, admin: string) => {
    const { port } = new URL(receiverUrl);
    const correlation = { 'x-service-correlationid': 'x'.repeat(200) };
    const agent = new Agent({ keepAlive: true, maxSockets: 10 });
    await eventually(
      async () => {
        const posts = Array.from({ length: 200 }, () => postTo({ port, agent }, correlation));
        await Promise.all(posts);
        expect(await dropped(admin)).toBeGreaterThan(0);
      },
      { timeout: 60_000, interval: 1 },
    );
    agent.destroy();
  };

  test('that closes stops nothing, and what it does not take is counted', async () => {
    const { folder, write } = await workplace();
    const { connector, app, lines } = await serve(await write('config.yaml', config(folder)));
    connector.closeStdout();
    await accepts(app, 50);
    await eventually(async () => expect(await dropped(adminOf(lines()))).toBeGreaterThan(0));
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
      await eventually(() =>
        expect(lines()).toContainEqual(
          expect.objectContaining({
            level: 'warn',
            dropped: expect.any(Number),
            msg: expect.stringContaining('stdout'),
          }),
        ),
      );
      expect(await connector.stop()).toBe(0);
    },
  );

  test('that nobody reads does not keep it from its end', async () => {
    const { folder, write } = await workplace();
    const { connector, app } = await serve(await write('config.yaml', config(folder)));
    connector.holdStdout();
    // More lines than a pipe takes.
    const posts = Array.from({ length: 400 }, () => post(app, {}, 'x'.repeat(200)));
    await Promise.all(posts);
    expect(await connector.stop()).toBe(0);
  });

  test('that is a file on a full disk stops nothing', async () => {
    const { folder, write } = await workplace();
    const [port, adminPort] = [await freePort(), await freePort()];
    const written = config(folder)
      .replace('port: 0', `port: ${port}`)
      .replace('admin: { port: 0', `admin: { port: ${adminPort}`);
    const full = openSync('/dev/full', 'w');
    const argv = [await theProgram(), 'serve', '--config', await write('config.yaml', written)];
    const child = spawn(process.execPath, argv, { stdio: ['ignore', full, 'ignore'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    closeSync(full);
    const admin = `http://127.0.0.1:${adminPort}`;
    await eventually(() => fetch(`${admin}/healthz`));
    await accepts({ receiverUrl: `http://127.0.0.1:${port}/hook` }, 20);
    await eventually(async () => expect(await dropped(admin)).toBeGreaterThan(0));
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  /** Gives a program a real terminal (util-linux). */
  const script = '/usr/bin/script';

  async function onTerminal(folder: string, file: string, env: Record<string, string> = {}) {
    const command = `sh -c 'echo $$ > ${folder}/pid; exec ${process.execPath} ${await theProgram()} serve --config ${file}'`;
    const { NO_COLOR, FORCE_COLOR, ...inherited } = process.env;
    const terminal = spawn(script, ['-qfec', command, '/dev/null'], {
      env: { ...inherited, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => void terminal.kill('SIGKILL'));
    let shown = '';
    terminal.stdout.on('data', (data: Buffer) => (shown += data.toString()));
    await eventually(() => expect(shown).toMatch(/ready[^\n]*\n/));
    const pid = Number(readFileSync(`${folder}/pid`, 'utf8'));
    onTestFinished(() => void (isThere(pid) && process.kill(pid, 'SIGKILL')));
    const [, receiver = '', admin = ''] =
      /receiver=(\S+) admin=(\S+)/.exec(stripVTControlCharacters(shown)) ?? [];
    return { terminal, pid, ready: { receiver, admin }, shown: () => shown };
  }

  test.runIf(existsSync(script)).each([
    ['in colour', {}, true],
    ['without colour where NO_COLOR says so', { NO_COLOR: '1' }, false],
  ])('that is a terminal gets one readable line an event, %s, and may close', async (_how, env, colored) => {
    const { folder, write } = await workplace();
    const started = await onTerminal(folder, await write('config.yaml', config(folder)), env);
    const { terminal, ready, pid, shown } = started;
    await accepts({ receiverUrl: `${ready.receiver}/hook` }, 1);
    await eventually(() => expect(shown()).toMatch(/request[^\n]*\n/));
    const lines = stripVTControlCharacters(shown()).trimEnd().split(/\r?\n/);
    expect(lines).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z INFO ready receiver=http:/),
      expect.stringMatching(/Z INFO request outcome=accepted status=202 eventId=evt_/),
    ]);
    expect(shown() !== stripVTControlCharacters(shown())).toBe(colored);

    terminal.kill('SIGKILL');
    await once(terminal, 'exit');
    await accepts({ receiverUrl: `${ready.receiver}/hook` }, 50);
    await eventually(async () => expect(await dropped(ready.admin)).toBeGreaterThan(0));
    process.kill(pid, 'SIGTERM');
    await eventually(() => expect(isThere(pid)).toBe(false));
  });
});

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
