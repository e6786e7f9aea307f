import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Posts one request at a time over a connection that stays; resolves to the whole answer. */
export type Post = (candidateId: string, fields?: string) => Promise<string>;

/** Where a request goes, and its body. */
export interface Form {
  readonly path: string;
  readonly body: (candidateId: string, fields: string) => string;
}

export const forms = {
  event: {
    path: '/webhooks/candidates',
    body: (candidateId, fields) =>
      `{"candidateId":"${candidateId}",${fields}"testId":1234567,"status":"Completed"}`,
  },
  /** The same for Alertmanager. */
  alert: {
    path: '/api/v2/alerts',
    body: (candidateId) =>
      `[{"labels":{"alertname":"candidate","candidateId":"${candidateId}","testId":"1234567","status":"Completed"}}]`,
  },
} satisfies Record<string, Form>;

/**
 * Connections, spread over the servers on these ports, written for the bare socket, since an HTTP client costs as much as the plain server and
 * would be what is measured. To be closed by `close`.
 */
export async function connections(
  ports: readonly number[],
  count: number,
  form: Form = forms.event,
): Promise<{ readonly posts: readonly Post[]; readonly close: () => void }> {
  const sockets = await Promise.all(
    Array.from({ length: count }, (_, place) => connected(ports[place % ports.length]!, form)),
  );
  return {
    posts: sockets.map(({ post }) => post),
    close: () => {
      for (const { close } of sockets) close();
    },
  };
}

interface Rate {
  readonly perSecond: number;
  /** In all. */
  readonly events: number;
}

/** Posts each event when it is due, over whichever connection is free. */
export async function postSteadily(
  posts: readonly Post[],
  { perSecond, events }: Rate,
  send: (
    post: Post,
    candidateId: string,
    due: { readonly event: number; readonly atMs: number },
  ) => Promise<void>,
): Promise<void> {
  const run = randomBytes(4).toString('hex');
  const startedMs = performance.now();
  let sent = 0;
  const keepSending = async (post: Post) => {
    while (sent < events) {
      const event = sent++;
      const atMs = startedMs + (event / perSecond) * 1000;
      await sleep(Math.max(0, atMs - performance.now()));
      await send(post, run + event.toString(16).padStart(24, '0'), { event, atMs });
    }
  };
  await Promise.all(posts.map(keepSending));
}

function connected(port: number, form: Form): Promise<{ post: Post; close: () => void }> {
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
      socket.write(request(form, candidateId, fields), 'latin1');
    });
  return new Promise((resolve, reject) => {
    socket.on('error', (error) => {
      reject(error);
      failed(error);
    });
    socket.on('connect', () => resolve({ post, close: () => socket.destroy() }));
  });
}

function request({ path, body }: Form, candidateId: string, fields = ''): string {
  const text = body(candidateId, fields);
  return [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${text.length}`,
    `X-Service-CorrelationId: ${candidateId}`,
    '',
    text,
  ].join('\r\n');
}
