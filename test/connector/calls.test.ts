import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { request } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { fetchFailure, statedDelayMs } from '../../src/connector/calls.ts';

const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** The port of a server that does this with the first bytes it gets. */
async function listening(onData: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => onData(socket));
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function failureOf(url: string) {
  const error: unknown = await fetch(url, { method: 'POST', body: 'x' }).then(
    () => null,
    (reason: unknown) => reason,
  );
  return fetchFailure(error);
}

test('a refused connection certainly sent nothing', async () => {
  const port = await listening(() => {});
  servers.pop()!.close();
  expect(await failureOf(`http://127.0.0.1:${port}/`)).toEqual({
    sent: false,
    words: 'nothing listens there (ECONNREFUSED)',
  });
});

test('a name that does not resolve certainly sent nothing', async () => {
  expect(await failureOf('http://nowhere.invalid/')).toMatchObject({ sent: false });
});

test.for([
  ['fetch', fetch],
  ['undici', request],
] as const)('a token that HTTP cannot carry certainly sent nothing, by %s', async ([, call]) => {
  const port = await listening(() => {});
  // A blank without width, as a token that is copied from a page may have.
  const headers = { authorization: 'Bearer tok\u200b' };
  const error: unknown = await call(`http://127.0.0.1:${port}/`, { headers }).catch(
    (reason: unknown) => reason,
  );
  expect(fetchFailure(error)).toMatchObject({
    sent: false,
    words: expect.stringMatching(/^its token, login or a header has signs that HTTP cannot carry/),
  });
});

test('a TLS handshake that fails certainly sent nothing', async () => {
  const port = await listening((socket) => socket.end('no TLS here\r\n'));
  expect(await failureOf(`https://127.0.0.1:${port}/`)).toMatchObject({
    sent: false,
    words: expect.stringContaining('TLS'),
  });
});

test.for<[string, (socket: Socket) => void]>([
  ['closed', (socket) => socket.destroy()],
  ['reset', (socket) => socket.resetAndDestroy()],
  ['answered with something else than HTTP', (socket) => socket.end('220 mail.example ESMTP\r\n')],
])('a connection that was %s after the request may have carried it', async ([, end]) => {
  const port = await listening(end);
  expect(await failureOf(`http://127.0.0.1:${port}/`)).toMatchObject({ sent: true });
});

test.for([
  [{ code: 'ETIMEDOUT', syscall: 'connect' }, false],
  [{ code: 'ETIMEDOUT', syscall: 'read' }, true],
  [{ code: 'EHOSTUNREACH', syscall: 'write' }, true],
  [{ code: 'UND_ERR_CONNECT_TIMEOUT' }, false],
  [{ code: 'UND_ERR_HEADERS_TIMEOUT' }, true],
  [{ code: 'CERT_HAS_EXPIRED' }, false],
  [{ code: 'ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC' }, true],
  [{ code: 'ETIMEDOUT', errors: [{ code: 'ETIMEDOUT', syscall: 'connect' }] }, false],
] as const)('the cause %j tells whether the request may have been sent: %s', ([cause, sent]) => {
  expect(fetchFailure(new TypeError('fetch failed', { cause }))).toMatchObject({ sent });
});

test.for<[string, string]>([
  ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ['line breaks of another kind', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\n'],
  ['too many headers', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`],
  [
    'a 100 that nobody asked for',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
  ],
])('an answer with %s is told from a connection that broke off', async ([, answer]) => {
  const port = await listening((socket) => socket.end(answer));
  expect(await failureOf(`http://127.0.0.1:${port}/`)).toMatchObject({
    sent: true,
    words: expect.stringContaining('could not be read as HTTP'),
  });
});

test.for([
  ['EACCES', 'connect'],
  ['EAI_FAIL', 'getaddrinfo'],
])('a connection that fails with %s certainly sent nothing', ([code, syscall]) => {
  const cause = Object.assign(new Error('no'), { code, syscall });
  expect(fetchFailure(new TypeError('fetch failed', { cause }))).toEqual({
    sent: false,
    words: `connecting failed (${code})`,
  });
});

test.for([null, 'text', 42, new Error('secret'), { cause: { code: 'secret value' } }])(
  'an error of no known kind (%j) may have carried the request, and is not quoted',
  (error) => {
    expect(fetchFailure(error)).toEqual({ sent: true, words: 'the connection broke off' });
  },
);

const now = Date.parse('2026-11-21T12:00:00Z');
const day = 86_400_000;

describe('a Retry-After header', () => {
  test.each([
    ['30', 30_000],
    [' 0 ', 0],
    // Shopify's, for one.
    ['2.0', 2000],
    ['20.65', 20_650],
    ['0.0005', 1],
    ['99999999999', day],
    ['Sat, 21 Nov 2026 12:00:45 GMT', 45_000],
    ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
    ['Sat, 21 Nov 2099 12:00:00 GMT', day],
  ])('of %j states its delay, at most a day', (header, delayMs) => {
    expect(statedDelayMs(header, now)).toBe(delayMs);
  });

  test.each(['soon', '', '-5', '2.', '2,5', '1.2.3', '1e3s', null, undefined])(
    'of %j states none',
    (header) => {
      expect(statedDelayMs(header, now)).toBeNull();
    },
  );

  test('with a date states none if the time is unknown', () => {
    expect(statedDelayMs('Sat, 21 Nov 2026 12:00:45 GMT')).toBeNull();
  });
});
