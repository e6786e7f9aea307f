import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The endpoint that all deliver to. Takes how many different calls each burst has; tells its port, and when a burst's last call has
 * come.
 */

const bursts = process.argv.slice(2).map(Number);
let expected = bursts.shift();
const seen = new Set<string>();

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (part: string) => (body += part));
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    const id = /[0-9a-f]{32}/.exec(body)?.[0];
    if (id === undefined || seen.has(id)) return;
    seen.add(id);
    if (seen.size !== expected) return;
    process.send?.({ lastAt: Date.now() });
    seen.clear();
    expected = bursts.shift();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
