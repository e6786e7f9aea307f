import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Refusal } from '../problem.ts';
import { hangUpSocket } from './hang-up.ts';

/**
 * Answers what Node could not read as a request, in the form of every other error. The default would answer over
 * a request before it on the connection that still waits for its commit, and so call an accepted event refused.
 */
export function answerConnectionErrors(server: Server): void {
  const newest = new WeakMap<Duplex, ServerResponse>();
  const ending = new WeakSet<Duplex>();
  server.prependListener('request', (req, res) => newest.set(req.socket, res));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (ending.has(socket)) return;
    ending.add(socket);
    const res = newest.get(socket);
    if (res?.req.complete && !res.writableFinished) res.once('close', () => socket.destroy());
    else if (res && !res.req.complete && res.headersSent) socket.destroy();
    else hangUpSocket(socket, refusalFor(error));
  });
  // Node leaves CONNECT without any answer.
  server.on('connect', (_req, socket) =>
    hangUpSocket(socket, { status: 404, detail: 'There is nothing here.' }),
  );
}

function refusalFor({ code }: NodeJS.ErrnoException): Refusal {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, detail: 'The request did not arrive in time.' };
    case 'HPE_HEADER_OVERFLOW':
      return { status: 431, detail: 'The headers are too large.' };
    default:
      return { status: 400, detail: 'This is not an HTTP request.' };
  }
}
