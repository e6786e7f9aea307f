import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { theProgram } from '../fixtures/program.ts';

const logsWithinMs = 60_000;
const withUs = ['setpriv', '--pdeathsig', 'KILL'];
/** Where the system can do it, a connector ends with whoever started it, also when that is killed itself. */
const canEndWithUs = spawnSync(withUs[0]!, [...withUs.slice(1), 'true']).status === 0;

export interface ConnectorOptions {
  /** How many the system lets it have. */
  readonly openFiles?: number;
  /** Its path; the usual one, if not named. */
  readonly program?: string;
}

/** The connector as a process of its own, to be killed. */
export class ConnectorProcess {
  readonly #configFile: string;
  readonly #env: Record<string, string>;
  readonly #program: string | undefined;
  readonly #limit: string;
  #child: ChildProcess | null = null;
  /** What it logged, all its lives together. */
  readonly lines: string[] = [];
  /** From its next start on its clock is ahead by so much, and what it does each minute or less often comes soon. */
  clockAheadMs = 0;

  constructor(
    configFile: string,
    env: Record<string, string> = {},
    { openFiles, program }: ConnectorOptions = {},
  ) {
    this.#configFile = configFile;
    this.#env = env;
    this.#program = program;
    this.#limit = openFiles === undefined ? '' : `ulimit -n ${openFiles} && `;
  }

  /** Resolves when it is ready, with the address of its receiver. Rejects with its output when it ends before that. */
  async start(): Promise<string> {
    const argv = [
      '-c',
      `${this.#limit}exec "$@"`,
      'sh',
      ...(canEndWithUs ? withUs : []),
      process.execPath,
      this.#program ?? (await theProgram()),
      'serve',
      '--config',
      this.#configFile,
    ];
    const child = spawn('sh', argv, {
      env: { ...process.env, ...this.#env, ...aheadBy(this.clockAheadMs) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stderr.on('data', (data: Buffer) => this.lines.push(data.toString()));
    const ready = Promise.withResolvers<string>();
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.lines.push(line);
      if (line.includes('"msg":"ready"')) ready.resolve((JSON.parse(line) as { receiver: string }).receiver);
    });
    child.on('exit', (code) =>
      ready.reject(new Error(`exited with ${code}:\n${this.lines.slice(-5).join('\n')}`)),
    );
    return ready.promise;
  }

  /** Resolves when it logs this anew. */
  async logs(text: string): Promise<void> {
    const deadline = Date.now() + logsWithinMs;
    let seen = this.lines.length;
    while (Date.now() < deadline) {
      const news = this.lines.slice(seen);
      if (news.some((line) => line.includes(text))) return;
      seen += news.length;
      await sleep(5);
    }
    throw new Error(`It never logged "${text}".`);
  }

  /** Resolves to the exit code once it has ended by itself. */
  async ended(): Promise<number | null> {
    const child = this.#child!;
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return child.exitCode;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Whoever read its log is gone. */
  closeStdout(): void {
    this.#child?.stdout?.destroy();
  }

  /** Whoever reads its log stops to read, until told to go on. */
  holdStdout(): void {
    this.#child?.stdout?.pause();
  }

  readStdout(): void {
    this.#child?.stdout?.resume();
  }

  /** As a power cut would: it gets no chance to do anything more. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Resolves to the exit code. */
  async stop(signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM'): Promise<number | null> {
    return this.#end(signal);
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    this.#child?.kill(signal);
    return this.#child && this.ended();
  }
}

function aheadBy(ms: number): Record<string, string> {
  if (ms === 0) return {};
  const code = `const now=Date.now,wait=setTimeout;Date.now=()=>now()+${ms};globalThis.Date=class extends Date{constructor(...a){super(...(a.length?a:[Date.now()]))}};globalThis.setTimeout=(f,ms,...a)=>wait(f,ms<6e4?ms:ms/1000,...a)`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}
