import { fork, spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

export interface ChildOptions {
  /** The only core that it may run on; any if not given. Needs `taskset`. */
  readonly core?: number;
  readonly stdout?: 'ignore' | number;
}

/** Starts a script of the benchmark as a process of its own, which tells things with `process.send`. */
export function start(
  script: string,
  args: readonly string[],
  { core, stdout = 'ignore' }: ChildOptions = {},
): ChildProcess {
  const env = { ...process.env, NODE_ENV: 'production', NODE_COMPILE_CACHE: 'node_modules/.cache/compiled' };
  const stdio: StdioOptions = ['ignore', stdout, 'inherit', 'ipc'];
  if (core === undefined) return fork(script, args, { env, stdio });
  return spawn('taskset', ['-c', String(core), process.execPath, script, ...args], { env, stdio });
}

/** The next thing that it tells. Rejects when it ends first. */
export async function messageOf<Message>(child: ChildProcess): Promise<Message> {
  const died = once(child, 'exit').then(([code]) => {
    throw new Error(`${child.spawnargs.join(' ')} ended with ${code} and said nothing`);
  });
  const [message] = (await Promise.race([once(child, 'message'), died])) as [Message];
  died.catch(() => {});
  return message;
}

const tickMs = 10;

/** Its CPU time so far, which other work on the machine hardly changes. Linux only, as `taskset` is. */
export function cpuMs({ pid }: ChildProcess): number {
  // Its name, which may have spaces, ends with the bracket.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return tickMs * (Number(fields[11]) + Number(fields[12]));
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await once(child, 'exit');
}
