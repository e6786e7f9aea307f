import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, vi } from 'vitest';
import { startApp, type App } from '../../src/app.ts';
import type { Io } from '../../src/commands/output.ts';
import { run as runProgram } from '../../src/commands/program.ts';
import { openStore } from '../../src/store/open.ts';
import { meanConfig } from '../../src/support/invocation.ts';
import { type ConnectorOptions, ConnectorProcess } from '../faults/connector-process.ts';
import { HttpSandbox } from '../../sandbox/http.ts';
import { eventually } from '../fixtures/eventually.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Runs a command as the process would. Resolves to its exit code and output. */
export async function run(
  argv: readonly string[],
  env: Env = {},
  color = false,
  ask?: Io['ask'],
): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const io = {
    out: (text: string) => void out.push(`${text}\n`),
    drained: async () => true,
    err: (text: string) => void err.push(`${text}\n`),
    env,
    color,
    ...(ask && { ask }),
  };
  const code = await runProgram(argv, io);
  // Files of tests may share a process.
  meanConfig(null);
  // What is advised names the config of this call, which is a folder of the test's. test/commands/program.test.ts has it.
  const [, file] = /(?:^|\0)(?:-c|--config)\0([^\0]*)/.exec(argv.join('\0')) ?? [];
  const asByDefault = (lines: readonly string[]) => lines.join('').replaceAll(` --config ${file}`, '');
  return { code, out: asByDefault(out), err: asByDefault(err) };
}

/** The values that `--json` printed, line by line. */
export function jsonLines<T = Record<string, unknown>>({ out }: Ran): T[] {
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** A line of a stack trace. */
export const stack = /^ +at .*[.:]\d+/m;

/** A folder for configs and stores, removed after the test. */
export async function workplace() {
  const folder = await mkdtemp(join(tmpdir(), 'commands-'));
  // A process that is ending may still write.
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return {
    folder,
    /** Writes a file and returns its path. */
    write: async (name: string, text: string): Promise<string> => {
      const path = join(folder, name);
      await writeFile(path, text);
      return path;
    },
  };
}

/** The sections of a config that most tests do not care about: loopback, and a store in the test's folder. */
export function base(folder: string): string {
  return `
receiver: { host: 127.0.0.1, port: 0, path: /hook, allowFrom: any }
store: { url: "sqlite:${folder}/connector.db" }
admin: { port: 0 }
log: { level: fatal }
`;
}

/** Runs the connector in this process until the test ends. */
export async function serving(file: string, env: Env = {}): Promise<App> {
  const app = await startApp(file, env);
  onTestFinished(() => app.stop());
  return app;
}

export const nothing = 'sinks: {}\nrules: []\n';
export const loud = (folder: string) => base(folder).replace('level: fatal', 'level: info');

export type Line = Record<string, unknown> & { msg: string };

/** The JSON lines of a log. */
const parsedLines = (lines: readonly string[]): Line[] =>
  lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Line);

/** Runs `serve` as a process of its own, killed at the end of the test. */
export async function serve(file: string, env: Record<string, string> = {}, options: ConnectorOptions = {}) {
  const connector = new ConnectorProcess(file, env, options);
  onTestFinished(() => connector.kill());
  const receiver = await connector.start();
  return { connector, app: { receiverUrl: `${receiver}/hook` }, lines: () => parsedLines(connector.lines) };
}

/** Runs the connector in this process until the test ends, with its log; a process of its own takes a second longer. */
export async function logging(file: string, env: Env = {}) {
  let out = '';
  const print = (text: unknown, done?: unknown) => {
    out += String(text);
    if (typeof done === 'function') done();
    return true;
  };
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation(print);
  onTestFinished(() => stdout.mockRestore());
  const app = await serving(file, env);
  await eventually(() => expect(out).toMatch(/\bready\b.*\n/));
  return { app, out: () => out, lines: () => parsedLines(out.split('\n').slice(0, -1)) };
}

let posted = 0;

/** Posts an event as the service does, by default with a new correlation id. */
export async function post(
  { receiverUrl }: Pick<App, 'receiverUrl'>,
  event: object,
  correlationId = `correlation-${(posted += 1)}`,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; eventId: string; duplicate: boolean }> {
  const response = await fetch(receiverUrl, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-service-correlationid': correlationId,
      // Else a stop would wait a second for another request.
      connection: 'close',
      ...headers,
    },
    body: JSON.stringify({ testId: 1234567, status: 'Completed', ...event }),
  });
  const body = (await response.json()) as { eventId: string; duplicate: boolean };
  return { status: response.status, ...body };
}

/** Waits until every delivery of an event has one of these states. */
export async function settled(file: string, states = /^(delivered|dead|held|discarded)$/): Promise<void> {
  const [, path = ''] = /sqlite:([^"]+)/.exec(await readFile(file, 'utf8')) ?? [];
  using store = new DatabaseSync(path, { readOnly: true });
  // Deliveries of notices have numbers from 2^52 on.
  const found = store.prepare('select distinct state from deliveries where seq < 1 << 52');
  await eventually(
    () => {
      for (const { state } of found.all()) expect(state).toMatch(states);
    },
    { timeout: 30_000, interval: 10 },
  );
}

/** An endpoint to deliver to, closed when the test ends. */
export async function endpoint(): Promise<HttpSandbox> {
  const http = await new HttpSandbox().start();
  onTestFinished(() => http.close());
  return http;
}

/** The rule of most tests: all events are told to the sink `ats`. */
export const tellAll = 'rules: [ { name: told, when: {}, then: [ { sink: ats } ] } ]\n';

/** Runs a connector with a sink `ats`. `ats`: further options of that sink; `rules`: the rest of the config. */
export async function telling({ ats = '', sinks = '', rules = tellAll, admin = '{ port: 0 }' } = {}) {
  const place = await workplace();
  const http = await endpoint();
  const text = `${base(place.folder).replace('{ port: 0 }', admin)}
sinks: { ats: { connector: webhook, url: '${http.url}', allowPrivate: true${ats} }${sinks} }
${rules}`;
  const file = await place.write('config.yaml', text);
  const app = await serving(file);
  const command = (...argv: string[]) => run([...argv, '--config', file]);
  return { ...place, app, http, file, command, done: () => settled(file) };
}

/** The metrics of a connector after a delivery. */
export async function scraped(): Promise<string> {
  const { app, done } = await telling();
  await post(app, { candidateId: 'Dana' });
  await done();
  return (await fetch(`${app.adminUrl}/metrics`)).text();
}

/** Printed text without what differs between runs: ids are numbered in order, and times replaced. */
export function screen(out: string): string {
  const ids: string[] = [];
  return out
    .replaceAll(/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{3}Z)?/g, 'TIME')
    .replaceAll(/(?<=trace id )[\da-f]{32}/g, 'TRACE')
    .replaceAll(/(?<=(?:evt|dlv|ntc)_)[0-9a-z]{26}/g, (id) => {
      if (!ids.includes(id)) ids.push(id);
      return String(ids.indexOf(id) + 1);
    });
}

/** Makes the last sign of life older by so many milliseconds. */
export async function agedBy(ms: number, url: string): Promise<void> {
  const store = await openStore(url, { serve: false });
  const [last] = await store.replicaStates();
  await store.keepReplicaState({ ...last!, saidAt: last!.saidAt - ms });
  await store.close();
}
