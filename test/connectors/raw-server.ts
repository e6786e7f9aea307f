import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A server for what the sandboxes do not do, for the test that runs. */
export async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Answers a success that goes on for as long as somebody reads, up to what no client ought to take. */
export const endlessJson: RequestListener = (_, response) => {
  const chunk = 'x'.repeat(256 * 1024);
  let chunks = 0;
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .write('{"ok":true,"channel":"C1","ts":"1.2","messages":[],"range":"');
  const more = () => {
    if (response.destroyed) return;
    if ((chunks += 1) > 400) response.end('"}');
    else if (response.write(chunk)) setImmediate(more);
    else response.once('drain', more);
  };
  more();
};
