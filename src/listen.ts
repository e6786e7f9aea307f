import { once } from 'node:events';
import type { Server } from 'node:http';

/** The address cannot be listened on. `message` says why, and what to try, in plain words. */
export class CannotListen extends Error {
  override readonly name = 'CannotListen';
}

const reasons: Partial<Record<string, string>> = {
  EADDRINUSE: 'another program uses the port. Stop it, or choose another port in the config.',
  EACCES: 'this user may not use the port. Choose one above 1023 in the config.',
  EADDRNOTAVAIL: 'this machine has no such address. 0.0.0.0 stands for all that it has.',
  ENOTFOUND: 'there is no host of that name.',
};

/** Resolves when the server listens. Throws CannotListen. */
export async function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new CannotListen(`cannot listen on ${host}:${port}: ${reasons[code] ?? code}`, { cause: error });
  }
}

/** `http://host:port` as really bound, which matters where the config says port 0. */
export function addressOf(server: Server): string {
  const bound = server.address();
  if (bound === null || typeof bound === 'string') return '';
  const host = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return `http://${host}:${bound.port}`;
}
