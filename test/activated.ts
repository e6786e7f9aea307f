import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { type AddressInfo, createServer, type ListenOptions } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, onTestFinished } from 'vitest';
import { theProgram } from './fixtures/program.ts';
import { base, workplace } from './commands/tools.ts';
import { eventually } from './fixtures/eventually.ts';

export const rules = 'sinks: {}\nrules: []\n';

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
export async function activated(at: ListenOptions, callers = 'any', path = '/hook') {
  const { folder, write } = await workplace();
  const config = base(folder).replace('fatal', 'info').replace('any', callers).replace('/hook', path);
  const file = await write('config.yaml', config + rules);
  const argv = ['-c', systemd, 'systemd', process.execPath, await theProgram(), 'serve', '--config', file];
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
  const ready = (starts: number) => eventually(() => expect(times('"ready"')).toBe(starts));
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

export const heldAt = (path: string) => `${path}.held`;

let posted = 0;

/** Posts an event; resolves to the status, or to what went wrong. */
export function post(to: object, headers = {}): Promise<number | string | undefined> {
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

const restarts = 3;

/** What eight senders are answered that post without a pause while it is restarted, half of them on connections that stay. */
export async function answersOver(restart: () => Promise<unknown>, to: object): Promise<unknown[]> {
  const answers: unknown[] = [];
  const load = new AbortController();
  const senders = Array.from({ length: 8 }, async (_, n) => {
    const agent = n < 4 ? false : new Agent({ keepAlive: true, maxSockets: 1 });
    while (!load.signal.aborted) answers.push(await post({ ...to, agent }));
    if (agent) agent.destroy();
  });
  for (let done = 0; done < restarts; done += 1) {
    const before = answers.length;
    await eventually(() => expect(answers.length).toBeGreaterThan(before + 50));
    await restart();
  }
  load.abort();
  await Promise.all(senders);
  return answers;
}
