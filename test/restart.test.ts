import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { type AddressInfo, createServer, type ListenOptions } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { takeHandedOver } from '../src/http/listen.ts';
import { base, jsonLines, run, workplace } from './commands/tools.ts';

const main = join(import.meta.dirname, '../src/main.ts');
const rules = 'sinks: {}\nrules: []\n';

/**
 * What systemd does for a socket unit: holds descriptor 3 without accepting, and starts the connector with it; anew for
 * each line that it reads.
 */
const systemd = `
start() { sh -c 'export LISTEN_FDS=1 LISTEN_PID=$$; exec "$0" "$@"' "$@" & pid=$!; }
start "$@"
while read -r _; do kill $pid; wait $pid; echo "ended with $?"; start "$@"; done
kill $pid; wait $pid`;

/** A connector that is started again with the socket that is held for it. `callers`: who may call. */
async function activated(at: ListenOptions, callers = 'any') {
  const { folder, write } = await workplace();
  const config = base(folder).replace('fatal', 'info').replace('any', callers);
  const file = await write('config.yaml', config + rules);
  const argv = ['-c', systemd, 'systemd', process.execPath, main, 'serve', '--config', file];
  const server = createServer().listen(at);
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  const { fd } = Reflect.get(server, '_handle') as { readonly fd: number };
  const child = spawn('sh', argv, { stdio: ['pipe', 'pipe', 'inherit', fd] });
  onTestFinished(() => void child.stdin!.end());
  // Closing takes the path away as well.
  if (at.path !== undefined) linkSync(at.path, heldAt(at.path));
  server.close();
  const lines: string[] = [];
  createInterface({ input: child.stdout! }).on('line', (line) => lines.push(line));
  const times = (what: string) => lines.filter((line) => line.includes(what)).length;
  const ready = (starts: number) => vi.waitFor(() => expect(times('"ready"')).toBe(starts), 30_000);
  await ready(1);
  return {
    file,
    address,
    lines,
    restart: async () => {
      const starts = times('"ready"');
      child.stdin!.write('\n');
      await ready(starts + 1);
      return times('ended with 0') === starts;
    },
  };
}

const heldAt = (path: string) => `${path}.held`;

let posted = 0;

/** Posts an event; resolves to the status, or to what went wrong. */
function post(to: object, headers = {}): Promise<number | string | undefined> {
  posted += 1;
  const body = JSON.stringify({ candidateId: `c${posted}`, testId: 1, status: 'Completed' });
  const content = { 'content-type': 'application/json', 'content-length': body.length };
  const correlation = { 'x-service-correlationid': `cor-${posted}` };
  const options = { method: 'POST', path: '/hook', headers: { ...content, ...correlation, ...headers } };
  return new Promise((resolve) => {
    const req = request({ agent: false, ...options, ...to }, (res) => {
      res.resume().on('end', () => resolve(res.statusCode));
    });
    req.on('error', (error) => resolve(error.message)).end(body);
  });
}

describe('a socket that is handed over', () => {
  test(
    'refuses nobody and loses nothing while the connector is restarted under load',
    { timeout: 180_000 },
    async () => {
      const { file, address, restart } = await activated({ host: '127.0.0.1', port: 0 });
      const answers: unknown[] = [];
      const load = new AbortController();
      const senders = Array.from({ length: 8 }, async (_, n) => {
        const agent = n < 4 ? false : new Agent({ keepAlive: true, maxSockets: 1 });
        while (!load.signal.aborted)
          answers.push(await post({ host: address.address, port: address.port, agent }));
        if (agent) agent.destroy();
      });
      for (let restarts = 0; restarts < 3; restarts += 1) {
        const before = answers.length;
        await vi.waitFor(() => expect(answers.length).toBeGreaterThan(before + 50), 30_000);
        expect(await restart()).toBe(true);
      }
      load.abort();
      await Promise.all(senders);
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
  });

  test.each([
    [
      'no socket',
      'LISTEN_FDS=1 LISTEN_PID=$$',
      /descriptor 3, .*no listening TCP or unix socket.*ListenStream=/,
    ],
    [
      'more than one',
      'LISTEN_FDS=2 LISTEN_PID=$$',
      /2 sockets were handed over .*only the receiver takes one/,
    ],
    [
      "another process's",
      'LISTEN_FDS=1 LISTEN_PID=1',
      /to process 1 \(LISTEN_PID\), and this is process \d+\..* without npm/,
    ],
  ])('is refused in plain words: %s', async (_what, variables, message) => {
    const { folder, write } = await workplace();
    const argv = ['serve', '--config', await write('config.yaml', base(folder) + rules)];
    const script = `export ${variables}; exec "$0" "$@" 3</dev/null`;
    const child = spawn('sh', ['-c', script, process.execPath, main, ...argv], { stdio: 'pipe' });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(message) });
  });
});
