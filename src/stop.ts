import type { Server } from 'node:http';

/**
 * Takes no new connection, lets the requests under way end, and closes the connections that are still open after
 * `timeoutMs`. Resolves when all are closed. For any server of node:http.
 */
export async function stop(server: Server, timeoutMs: number): Promise<void> {
  // A sender that is never idle would otherwise keep its connection, and go on sending.
  server.prependListener('request', (_req, res) => res.setHeader('connection', 'close'));
  const closed = new Promise((resolve) => {
    server.close(resolve);
  });
  const idle = setInterval(() => server.closeIdleConnections(), 20);
  const forced = setTimeout(() => server.closeAllConnections(), timeoutMs);
  await closed;
  clearInterval(idle);
  clearTimeout(forced);
}
