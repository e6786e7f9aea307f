import { once } from 'node:events';
import type { Server } from 'node:http';

/** Resolves when the server listens; rejects with a plain message when it cannot. */
export async function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new Error(`cannot listen on ${host}:${port} (${why}); is another program using the port?`, {
      cause: error,
    });
  }
}

/** `http://host:port` as really bound, which matters where the config says port 0. */
export function addressOf(server: Server): string {
  const bound = server.address();
  if (bound === null || typeof bound === 'string') return '';
  const host = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return `http://${host}:${bound.port}`;
}
