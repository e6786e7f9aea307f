import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ReceiverConfig } from '../../src/config/config.ts';
import { path, sample, startReceiver } from './receiver.ts';
import { head, Wire } from './wire.ts';
import { anyCharacter, runs } from '../fixtures/runs.ts';

const json = JSON.stringify(sample);
const german = JSON.stringify({ ...sample, candidateId: 'Jürgen Groß' });
const utf16 = (text: string, bom = '') => Buffer.from(bom + text, 'utf16le');
const swapped = (text: string) => utf16(text, '\uFEFF').swap16();

describe('not JSON: 400', () => {
  test.each<[string, string | Buffer<ArrayBuffer>]>([
    ['nothing', ''],
    ['a byte order mark alone', '\uFEFF'],
    ['white space', ' \r\n\t'],
    ['a cut object', json.slice(0, -1)],
    ['a cut string', json.slice(0, 20)],
    ['two objects', json + json],
    ['something behind', `${json},`],
    ['a trailing comma', json.replace('}', ',}')],
    ['single quotes', json.replaceAll('"', "'")],
    ['bare keys', '{testId:1}'],
    ['a comment', `/* hello */${json}`],
    ['NaN', '{"testId":NaN}'],
    ['a leading zero', '{"testId":01}'],
    ['a bare line break in a string', '{"candidateId":"a\nb"}'],
    ['a broken escape', String.raw`{"candidateId":"\x41"}`],
    ['a form', 'candidateId=a&testId=1&status=Completed'],
    ['XML', '<event><testId>1</testId></event>'],
    ['two byte order marks', `\uFEFF\uFEFF${json}`],
    ['UTF-16, little end first', utf16(json)],
    ['UTF-16 with its mark', utf16(json, '\uFEFF')],
    ['UTF-16, big end first', swapped(json)],
    ['Latin-1', Buffer.from(german, 'latin1')],
    ['a cut UTF-8 character', Buffer.from(german).subarray(0, german.indexOf('ü') + 1)],
    [
      'an overlong UTF-8 character',
      Buffer.concat([Buffer.from('"'), Buffer.of(0xc0, 0xaf), Buffer.from('"')]),
    ],
    [
      'a surrogate in UTF-8',
      Buffer.concat([Buffer.from('"'), Buffer.of(0xed, 0xa0, 0x80), Buffer.from('"')]),
    ],
    ['gzip without saying so', gzipSync(json)],
    ['an opening without end', '['.repeat(60_000)],
  ])('%s', async (_what, body) => {
    const receiver = await startReceiver();
    const response = await receiver.post(typeof body === 'string' ? body : new Uint8Array(body));
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      detail: expect.stringMatching(/JSON/),
    });
    expect(receiver.inbox.received).toEqual([]);
    expect(receiver.inbox.rejected).toMatchObject([{ status: 400 }]);
    expect((await receiver.post(json)).status).toBe(202);
  });

  test('a charset does not save another encoding', async () => {
    const receiver = await startReceiver();
    const latin1 = new Uint8Array(Buffer.from(german, 'latin1'));
    const answers = await Promise.all([
      receiver.post(latin1, { 'content-type': 'application/json; charset=iso-8859-1' }),
      receiver.post(latin1, { 'content-type': 'application/json; charset=utf-8' }),
      receiver.post(new Uint8Array(utf16(json, '\uFEFF')), {
        'content-type': 'application/json; charset=utf-16',
      }),
    ]);
    expect(answers.map((response) => response.status)).toEqual([400, 400, 400]);
  });
});

describe('further fields may be nested', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const withExtra = (levels: number) => `{"extra":${nested(levels - 1)},${json.slice(1)}`;

  test('100 levels deep, the event itself included, and are taken as they are', async () => {
    const receiver = await startReceiver();
    expect((await receiver.post(withExtra(100))).status).toBe(202);
    expect(JSON.stringify(receiver.inbox.received[0]?.raw['extra'])).toBe(nested(99));
  });

  test.each([101, 2_000, 30_000])('and not %i', async (levels) => {
    const receiver = await startReceiver();
    const response = await receiver.post(withExtra(levels));
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({
      errors: [{ detail: 'Expected at most 100 nested levels of objects and lists, got more.' }],
    });
    expect(receiver.inbox.received).toEqual([]);
    expect(receiver.inbox.rejected).toMatchObject([{ status: 422 }]);
  });
});

describe('any input is answered as documented, and the next event is accepted', () => {
  const documented = [200, 202, 400, 401, 403, 404, 405, 408, 413, 415, 422, 431, 503];
  const bytes = fc.uint8Array({ maxLength: 3_000 });
  const mangled = fc
    .tuple(fc.nat(json.length), fc.nat(5), bytes)
    .map(([at, cut, insert]) =>
      Buffer.concat([
        Buffer.from(json.slice(0, at)),
        insert.subarray(0, 20),
        Buffer.from(json.slice(at + cut)),
      ]),
    );

  test('any body', async () => {
    const receiver = await startReceiver({ maxBodyBytes: 2_000 });
    const body = fc.oneof(
      bytes,
      mangled,
      fc.json().map((text) => Buffer.from(text)),
      fc.string({ unit: anyCharacter, maxLength: 500 }).map((text) => Buffer.from(text)),
    );
    await fc.assert(
      fc.asyncProperty(body, async (came) => {
        const response = await receiver.post(new Uint8Array(came));
        expect(response.status).toBeOneOf(documented);
        await response.text();
        expect((await receiver.post(json)).status).toBe(202);
      }),
      runs(40),
    );
  });

  test('any bytes on the connection', async () => {
    const receiver = await startReceiver({}, { timeoutMs: 500 });
    const whole = Buffer.from(head(path, { 'content-length': json.length }) + json);
    const broken = fc
      .tuple(fc.nat(whole.length - 1), bytes)
      .map(([at, insert]) =>
        Buffer.concat([whole.subarray(0, at), insert.subarray(0, 30), whole.subarray(at + 1)]),
      );
    await fc.assert(
      fc.asyncProperty(fc.oneof(bytes, broken), async (came) => {
        const wire = await Wire.open(receiver.port);
        wire.socket.end(came);
        const answer = await wire.answer();
        // Nothing, or nothing but the start of a request, is nothing to answer to.
        expect(answer?.status).toBeOneOf([undefined, ...documented]);
        wire.socket.destroy();
        expect((await receiver.post(json)).status).toBe(202);
      }),
      runs(40),
    );
  });
});

test.each([
  ['TLS', Buffer.from('16030100c8010000c40303', 'hex'), 400, /^This is TLS, and the port speaks plain HTTP/],
  ['headers that are too large', head(path, { 'x-a': 'a'.repeat(40_000) }), 431, /headers are too large/],
  ['a request for two hosts', head(path, { host: 'a\r\nhost: b' }), 400, /more than one Host/],
  [
    'what a load balancer puts before a request',
    `PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n`,
    400,
    /not an HTTP request/,
  ],
])('%s from the service is kept for people, once a minute', async (_what, bytes, status, detail) => {
  const receiver = await startReceiver({ allowFrom: ['127.0.0.1'] });
  for (const from of ['127.0.0.2', '127.0.0.1', '127.0.0.1']) {
    const wire = await Wire.open(receiver.port, from);
    expect((await wire.send(bytes).answer())?.status).toBe(status);
  }
  expect(receiver.inbox.rejected).toEqual([
    {
      receivedAt: expect.any(Number),
      address: '127.0.0.1',
      correlationId: '',
      status,
      faults: [expect.stringMatching(detail)],
      body: '',
    },
  ]);
  expect(receiver.lines).toMatchObject([{ level: 'warn', status, warning: expect.stringMatching(detail) }]);
  expect(receiver.counted).toEqual(['invalid', 'invalid']);
});

test.each<[string, Partial<ReceiverConfig>, '' | null]>([
  ['the service', { allowFrom: ['127.0.0.1'] }, ''],
  ['a named proxy', { allowFrom: ['192.0.2.1'], trustProxy: ['127.0.0.1'] }, ''],
  ['a proxy of the same network', { allowFrom: ['192.0.2.1'], trustProxy: 1 }, ''],
  ['whoever may call', { allowFrom: 'any' }, null],
])('what cannot be read from %s counts as an event or not', async (_who, config, correlationId) => {
  const receiver = await startReceiver(config);
  const wire = await Wire.open(receiver.port);
  expect((await wire.send('PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n').answer())?.status).toBe(400);
  expect(receiver.inbox.rejected).toMatchObject([{ correlationId }]);
});

test('a scan does not hide what cannot be read from a proxy', async () => {
  const receiver = await startReceiver({ allowFrom: 'any', trustProxy: ['127.0.0.2'] });
  for (const from of ['127.0.0.1', '127.0.0.2', '127.0.0.1', '127.0.0.2']) {
    const wire = await Wire.open(receiver.port, from);
    expect((await wire.send('PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n').answer())?.status).toBe(400);
  }
  expect(receiver.inbox.rejected).toMatchObject([
    { address: '127.0.0.1', correlationId: null },
    { address: '127.0.0.2', correlationId: '' },
  ]);
});
