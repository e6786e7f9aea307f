import { Agent, request } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { connections, path, sample, startReceiver } from './receiver.ts';
import { head, Wire } from './wire.ts';

const json = JSON.stringify(sample);
const length = Buffer.byteLength(json);
const whole = head(path, { 'content-length': length }) + json;

/** A receiver, and a connection to it. */
async function connected(...given: Parameters<typeof startReceiver>) {
  const receiver = await startReceiver(...given);
  return { receiver, wire: await Wire.open(receiver.port) };
}

describe('a body', () => {
  test('may come in pieces, however they are cut', async () => {
    const { receiver, wire } = await connected();
    wire.socket.setNoDelay(true);
    for (const byte of Buffer.from(whole)) wire.send(Uint8Array.of(byte));
    expect(await wire.answer()).toMatchObject({ status: 202 });
    expect(receiver.inbox.received).toMatchObject([{ event: sample }]);
  });

  test('may be chunked', async () => {
    const { wire } = await connected();
    wire.send(head(path, { 'transfer-encoding': 'chunked' }));
    for (const half of [json.slice(0, 20), json.slice(20)])
      wire.send(`${half.length.toString(16)}\r\n${half}\r\n`);
    wire.send('0\r\n\r\n');
    expect(await wire.answer()).toMatchObject({ status: 202 });
  });

  test('may wait for 100 Continue', async () => {
    const { wire } = await connected();
    wire.send(head(path, { 'content-length': length, expect: '100-continue' }));
    expect(await wire.answer()).toMatchObject({ status: 100 });
    wire.send(json);
    expect(await wire.answer()).toMatchObject({ status: 202 });
  });

  test('gets no 100 Continue when it is refused anyway', async () => {
    const receiver = await startReceiver({ maxBodyBytes: 10 });
    const large = await Wire.open(receiver.port);
    large.send(head(path, { 'content-length': length, expect: '100-continue' }));
    expect(await large.answer()).toMatchObject({ status: 413 });
    const stranger = await Wire.open(receiver.port);
    receiver.reload({ allowFrom: ['192.0.2.1'] });
    stranger.send(head(path, { 'content-length': length, expect: '100-continue' }));
    expect(await stranger.answer()).toMatchObject({ status: 403, headers: { connection: 'close' } });
  });

  test('is accepted despite an unknown Expect', async () => {
    const { wire } = await connected();
    wire.send(head(path, { 'content-length': length, expect: 'a-miracle' }), json);
    expect(await wire.answer()).toMatchObject({ status: 202 });
  });

  test('shorter than its Content-Length says is waited for, then answered 408 and hung up on', async () => {
    const { receiver, wire } = await connected({}, { timeoutMs: 150 });
    wire.send(head(path, { 'content-length': length + 1 }), json);
    const answer = await wire.answer();
    expect(answer).toMatchObject({ status: 408, headers: { connection: 'close' } });
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({
      status: 408,
      detail: 'The body did not arrive in time.',
    });
    expect(receiver.inbox.received).toEqual([]);
    expect(receiver.lines).toMatchObject([{ outcome: 'invalid', status: 408 }]);
    // An event that nobody hears of, if it comes so twice.
    expect(receiver.inbox.rejected).toMatchObject([
      { status: 408, faults: ['The body did not arrive in time.'], body: json },
    ]);
    wire.socket.end();
    await wire.closed();
  });

  test('that trickles in is answered 408, however steadily it trickles', async () => {
    const { receiver, wire } = await connected({}, { timeoutMs: 150 });
    wire.send(head(path, { 'content-length': 60_000 }));
    const trickle = setInterval(() => wire.send(' '), 10);
    expect(await wire.answer()).toMatchObject({ status: 408 });
    clearInterval(trickle);
    expect(receiver.inbox.received).toEqual([]);
  });

  test('longer than its Content-Length says is an event, and what follows ends the connection', async () => {
    const { wire } = await connected();
    wire.send(`${whole}{"and":"more"}`);
    expect(await wire.answer()).toMatchObject({ status: 202 });
    wire.socket.end();
    await wire.closed();
  });

  test('whose sender disconnects is kept as far as it came: it may have been an event', async () => {
    const { receiver, wire } = await connected();
    wire.send(head(path, { 'content-length': length }), json.slice(0, 30));
    await expect.poll(() => connections(receiver.server)).toBe(1);
    wire.socket.destroy();
    await expect.poll(() => receiver.lines).toMatchObject([{ outcome: 'invalid', status: 408 }]);
    expect(receiver.inbox.received).toEqual([]);
    expect(receiver.inbox.rejected).toMatchObject([{ status: 408, body: json.slice(0, 30) }]);
  });
});

describe('a body that is too large', () => {
  test('is refused as soon as its length is known, and the sender sees it', async () => {
    const { wire } = await connected();
    wire.send(head(path, { 'content-length': 100_000_000 }));
    expect(await wire.answer()).toMatchObject({ status: 413, headers: { connection: 'close' } });
  });

  test('is refused even if its length was not given', async () => {
    const { wire } = await connected();
    wire.send(head(path, { 'transfer-encoding': 'chunked' }));
    for (let chunk = 0; chunk < 20; chunk += 1) wire.send(`1000\r\n${'x'.repeat(4_096)}\r\n`);
    expect(await wire.answer()).toMatchObject({ status: 413, headers: { connection: 'close' } });
  });

  test.each([{ 'content-length': 8_000_000 }, { 'transfer-encoding': 'chunked' }])(
    'is let in, so that a sender that writes it all before it reads gets to its answer: %j',
    async (framing) => {
      const { wire } = await connected();
      wire.socket.pause();
      wire.send(head(path, framing), 'content-length' in framing ? '' : `${(8_000_000).toString(16)}\r\n`);
      expect(await wire.written(Buffer.alloc(8_000_000, ' '))).toBeFalsy();
      wire.socket.resume();
      expect(await wire.answer()).toMatchObject({ status: 413, headers: { connection: 'close' } });
    },
  );
});

describe('one connection', () => {
  test('carries many requests, refused ones between them', async () => {
    const { wire } = await connected();
    const statuses: (number | undefined)[] = [];
    const others = [
      head('/elsewhere', { 'content-length': length }) + json,
      head(path, { 'content-length': 1 }) + '{',
      head(path, { 'content-length': 2 }) + '{}',
      head(path, { 'content-length': length, 'content-type': 'text/plain' }) + json,
    ];
    for (const next of [whole, ...others, whole]) statuses.push((await wire.send(next).answer())?.status);
    expect(statuses).toEqual([202, 404, 400, 422, 415, 202]);
  });

  test('answers pipelined requests in their order', async () => {
    const receiver = await startReceiver();
    const commits = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let calls = 0;
    receiver.inbox.answer = async () => {
      const call = calls++;
      await commits[call]?.promise;
      return { eventId: `evt_${call}`, duplicate: false, correlationReused: false };
    };
    const wire = await Wire.open(receiver.port);
    wire.send(whole + whole);
    await expect.poll(() => calls).toBe(2);
    commits[1]?.resolve();
    commits[0]?.resolve();
    expect((await wire.answer())?.body).toContain('evt_0');
    expect((await wire.answer())?.body).toContain('evt_1');
  });

  test('does not lose the answer to an event because rubbish follows while it is being stored', async () => {
    const receiver = await startReceiver();
    const commit = receiver.inbox.hold();
    const wire = await Wire.open(receiver.port);
    wire.send(`${whole}RUBBISH\r\n\r\n`);
    await expect.poll(() => receiver.inbox.received.length).toBe(1);
    const warnings: Error[] = [];
    const warn = (warning: Error) => void warnings.push(warning);
    process.on('warning', warn);
    for (let more = 0; more < 30; more += 1) {
      await wire.written('more rubbish\r\n\r\n');
      // Lets the server read it, so that each piece is one more fault.
      await setImmediate();
    }
    commit();
    expect(await wire.answer()).toMatchObject({ status: 202, body: expect.stringContaining('evt_1') });
    wire.socket.end();
    await wire.closed();
    process.off('warning', warn);
    expect(warnings).toEqual([]);
  });

  test('stays open for the next request of a keep-alive sender', async () => {
    const receiver = await startReceiver();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const post = () =>
      new Promise<boolean>((resolve, reject) => {
        const options = { method: 'POST', agent, headers: { 'content-type': 'application/json' } };
        const sending = request(receiver.url, options, (res) => {
          res.resume().on('end', () => resolve(sending.reusedSocket));
        });
        sending.on('error', reject).end(json);
      });
    expect([await post(), await post()]).toEqual([false, true]);
    agent.destroy();
  });
});

describe('what is not a valid request', () => {
  test.each([
    ['rubbish', 'RUBBISH\r\n\r\n', 400],
    ['a TLS greeting', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000', 400],
    ['two lengths', head(path, { 'content-length': length, 'transfer-encoding': 'chunked' }) + json, 400],
    ['a length that is none', head(path, { 'content-length': 'many' }) + json, 400],
    ['a broken chunk', `${head(path, { 'transfer-encoding': 'chunked' })}zz\r\n`, 400],
    ['a header with a line break', head(path, { 'x-a': 'b\nc' }), 400],
    ['headers without end', `POST ${path} HTTP/1.1\r\nx-a: ${'b'.repeat(20_000)}`, 431],
    ['no host', `POST ${path} HTTP/1.1\r\n\r\n`, 400],
    ['two hosts', `POST ${path} HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n`, 400],
    ['a tunnel', 'CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n\r\n', 404],
  ])('%s is answered and hung up on', async (_what, bytes, status) => {
    const { receiver, wire } = await connected();
    wire.send(Buffer.from(bytes, 'latin1'));
    expect(await wire.answer()).toMatchObject({
      status,
      headers: { connection: 'close', 'content-type': 'application/problem+json' },
    });
    wire.socket.end();
    await wire.closed();
    expect((await receiver.post(json)).status).toBe(202);
  });

  test('an unfinished head is answered 408', async () => {
    const { wire } = await connected({}, { timeoutMs: 100 });
    wire.send(`POST ${path} HTTP/1.1\r\nhost: localhost\r\n`);
    const answer = await wire.answer();
    expect(answer).toMatchObject({ status: 408, headers: { connection: 'close' } });
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ title: 'Request Timeout' });
  });

  test.each([`http://localhost${path}`, `HTTPS://service.example:8443${path}?x=1`])(
    'a request target as proxies write it is one: %s',
    async (target) => {
      const { wire } = await connected();
      wire.send(head(target, { 'content-length': length }), json);
      expect(await wire.answer()).toMatchObject({ status: 202 });
    },
  );

  test.each(['*', 'http://[::1', '/a#b', '//', '/\u00ff', '/%', '/?a=http://b'])(
    'a strange request target is just another path: %s',
    async (target) => {
      const { receiver, wire } = await connected();
      wire.send(Buffer.from(`GET ${target} HTTP/1.1\r\nhost: localhost\r\n\r\n`, 'latin1'));
      expect((await wire.answer())?.status).toBeOneOf([400, 404]);
      expect((await receiver.post(json)).status).toBe(202);
    },
  );
});
