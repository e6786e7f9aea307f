import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import {
  type AddressInfo,
  connect as connectTcp,
  createServer as createTcpServer,
  type Socket,
} from 'node:net';
import nock from 'nock';
import { onTestFinished } from 'vitest';

// Loaded, it already changes how this process sends, and other files' tests run in it too.
nock.restore();

/** For the rest of the test, what stands in for a server that is not on this machine. */
export function elsewhere(origin: string): nock.Scope {
  if (!nock.isActive()) nock.activate();
  onTestFinished(() => {
    nock.cleanAll();
    nock.restore();
  });
  return nock(origin);
}

/** A server for what the sandboxes do not do, for the test that runs. `create`: for one with TLS. */
export async function serve(
  listener: RequestListener,
  create: (listener: RequestListener) => Server = createServer,
) {
  let connections = 0;
  const server = create(listener).on('connection', () => (connections += 1));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { server, port, url: `http://127.0.0.1:${port}`, connections: () => connections };
}

export const answerOk: RequestListener = (incoming, response) =>
  void incoming.resume().once('end', () => response.end());

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

/** A proxy that opens tunnels, or answers with another status. */
export async function tunnels(status = 200) {
  const asked: string[] = [];
  const open: Socket[] = [];
  const server = createServer().on('connect', (incoming, socket, head) => {
    asked.push(`${incoming.url} ${incoming.headers['proxy-authorization'] ?? ''}`.trim());
    if (status !== 200) {
      socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
      return;
    }
    const { hostname, port } = new URL(`http://${incoming.url}`);
    const onward = connectTcp(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
    open.push(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, host, url: `http://ann:s3cret@${host}` };
}

/** A proxy that does with a connection what it is told to. */
export async function proxyThat(act: (socket: Socket) => void) {
  const open: Socket[] = [];
  const server = createTcpServer((socket) => {
    open.push(socket.on('error', () => {}));
    act(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
