import { fork, spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ChildOptions {
  /** The only core that it may run on; any if not given. Needs `taskset`. */
  readonly core?: number;
  readonly stdout?: 'ignore' | number;
}

/** As the connector runs. */
export const processEnv = {
  NODE_ENV: 'production',
  NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/compiled'),
};

/** Starts a script of the benchmark as a process of its own, which tells things with `process.send`. */
export function start(
  script: string,
  args: readonly string[],
  { core, stdout = 'ignore' }: ChildOptions = {},
): ChildProcess {
  const env = { ...process.env, ...processEnv };
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

/**
 * The CPU time so far of a process and of all that it started, which other work on the machine hardly changes. Linux only, as
 * `taskset` is.
 */
export function cpuMs(pid: number): number {
  let [stat, children] = ['', ''];
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  } catch {
    // It has ended meanwhile.
  }
  // Its name, which may have spaces, ends with the bracket. Its own time and that of those that it saw end, of the user and the system.
  const ticks = stat.split(') ')[1]?.split(' ').slice(11, 15).map(Number) ?? [];
  const others = children.match(/\d+/g)?.map((child) => cpuMs(Number(child))) ?? [];
  return [...ticks.map((n) => n * tickMs), ...others].reduce((sum, ms) => sum + ms, 0);
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await once(child, 'exit');
}
