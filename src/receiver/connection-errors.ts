import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Refusal } from '../problem.ts';
import { hangUpSocket } from './hang-up.ts';

/**
 * Answers what Node could not read as a request, in the form of every other error. Node's default would answer over a
 * request before it on the same connection that still waits for its commit, and so call an accepted event refused.
 */
export class ConnectionErrors {
  /** A pipelined connection has several; they end in order, so the newest is the one to wait for. */
  readonly #newest = new WeakMap<Duplex, ServerResponse>();
  readonly #ending = new WeakSet<Duplex>();

  constructor(server: Server) {
    server.on('clientError', (error, socket) => this.#end(socket, refusalFor(error)));
    // Node leaves CONNECT without any answer.
    server.on('connect', (_req, socket) => this.#end(socket, nothingHere));
  }

  /** To be told of every request before it is answered. */
  note(req: IncomingMessage, res: ServerResponse): void {
    this.#newest.set(req.socket, res);
  }

  #end(socket: Duplex, refusal: Refusal): void {
    if (this.#ending.has(socket)) return;
    this.#ending.add(socket);
    const res = this.#newest.get(socket);
    if (res?.req.complete && !res.writableFinished) res.once('close', () => hangUpSocket(socket));
    else if (res?.req.complete === false && res.headersSent) socket.destroy();
    else hangUpSocket(socket, refusal);
  }
}

export const nothingHere: Refusal = { status: 404, detail: 'There is nothing here.' };

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
