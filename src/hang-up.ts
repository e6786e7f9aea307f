import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { rawProblem, writeProblemHead, type Refusal } from './problem.ts';

/**
 * Ends connections on which more may still arrive. Closing at once would reset them under it, and a reset can take the
 * answer along. So the answer goes out whole, and for this long what arrives is read and let go.
 */
const lingerMs = 2_000;

/** Answers a request whose body is not whole, and ends its connection. */
export function hangUp(req: IncomingMessage, res: ServerResponse, refusal: Refusal): void {
  const headers = { ...refusal.headers, connection: 'close' };
  res.write(writeProblemHead(res, { ...refusal, headers }));
  const timer = setTimeout(() => res.end(), lingerMs);
  req.once('close', () => {
    clearTimeout(timer);
    res.end();
  });
  req.resume();
}

/** Ends a connection on which no further request can be read, with an answer where one is due. */
export function hangUpSocket(socket: Duplex, refusal?: Refusal): void {
  socket.on('error', () => {});
  socket.end(refusal && rawProblem(refusal));
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
