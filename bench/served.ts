import type { ChildProcess } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { end, messageOf, start } from './child.ts';

export interface Served {
  readonly server: ChildProcess;
  readonly endpoint: ChildProcess;
  /** Where the server listens. */
  readonly port: number;
  /** The URL of its metrics, where it told that. */
  readonly metrics?: string;
}

interface Scripts {
  /** For the log. */
  readonly folder: string;
  /** What the server calls, and its arguments. */
  readonly endpoint: readonly [script: string, ...args: string[]];
  /** Its first argument is the endpoint's URL, then these. */
  readonly server: readonly [script: string, ...args: string[]];
}

/** Starts a server, which has one core, and what it calls, which has the other with the load; ends both after `use`. */
export async function served<Result>(
  { folder, endpoint: [called, ...ofCalled], server: [script, ...args] }: Scripts,
  use: (served: Served) => Promise<Result>,
): Promise<Result> {
  const log = await open(join(folder, 'log'), 'a');
  const endpoint = start(called, ofCalled, { core: 1 });
  const { port: to } = await messageOf<{ port: number }>(endpoint);
  const server = start(script, [`http://127.0.0.1:${to}/`, ...args], { core: 0, stdout: log.fd });
  try {
    const told = await messageOf<{ port: number; metrics?: string }>(server);
    return await use({ server, endpoint, ...told });
  } finally {
    await Promise.all([end(server), end(endpoint)]);
    await log.close();
  }
}
