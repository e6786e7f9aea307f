import { connect } from 'node:net';

/** Posts one request at a time over a connection that stays; resolves to the whole answer. */
export type Post = (candidateId: string, fields?: string) => Promise<string>;

/**
 * Connections to the receiver on this port, written for the bare socket, since an HTTP client costs as much as the plain server and
 * would be what is measured. To be closed by `close`.
 */
export async function connections(
  port: number,
  count: number,
): Promise<{ readonly posts: readonly Post[]; readonly close: () => void }> {
  const sockets = await Promise.all(Array.from({ length: count }, () => connected(port)));
  return {
    posts: sockets.map(({ post }) => post),
    close: () => {
      for (const { close } of sockets) close();
    },
  };
}

function connected(port: number): Promise<{ post: Post; close: () => void }> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1').setNoDelay();
  let answered: (answer: string) => void = () => {};
  let failed: (error: Error) => void = () => {};
  // An answer of this size comes in one piece.
  socket.on('data', (answer: string) => answered(answer));
  socket.on('close', () => failed(new Error('The connection was closed.')));
  const post: Post = (candidateId, fields) =>
    new Promise((resolve, reject) => {
      answered = resolve;
      failed = reject;
      socket.write(request(candidateId, fields), 'latin1');
    });
  return new Promise((resolve, reject) => {
    socket.on('error', (error) => {
      reject(error);
      failed(error);
    });
    socket.on('connect', () => resolve({ post, close: () => socket.destroy() }));
  });
}

function request(candidateId: string, fields = ''): string {
  const body = `{"candidateId":"${candidateId}",${fields}"testId":1234567,"status":"Completed"}`;
  return [
    'POST /webhooks/candidates HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${body.length}`,
    `X-Service-CorrelationId: ${candidateId}`,
    '',
    body,
  ].join('\r\n');
}
