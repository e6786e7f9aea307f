import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { connections, path, sample, startReceiver } from './receiver.ts';
import { head, Wire } from './wire.ts';

const json = JSON.stringify(sample);
const whole = head(path, { 'content-length': json.length }) + json;

/** A receiver with a request whose event is being stored, until `commit`. */
async function storing() {
  const receiver = await startReceiver();
  const commit = receiver.inbox.hold();
  const wire = await Wire.open(receiver.port);
  wire.send(whole);
  await expect.poll(() => receiver.inbox.received.length).toBe(1);
  return { receiver, commit, wire };
}

describe('a stop', () => {
  test('finishes the requests in flight, and accepts no new ones', async () => {
    const { receiver, commit, wire } = await storing();
    const stopped = receiver.server.stop(60_000);
    await expect.poll(() => receiver.server.listening).toBe(false);
    await expect(receiver.post(json)).rejects.toThrow('fetch failed');
    commit();
    expect(await wire.answer()).toMatchObject({ status: 202 });
    await stopped;
    await wire.closed();
  });

  test('serves those that the system has connected and nobody has accepted yet', async () => {
    const receiver = await startReceiver();
    // All in one turn of the event loop: the system has connected them, and the server has seen none.
    const sockets = Array.from({ length: 20 }, () => connect(receiver.port, '127.0.0.1'));
    for (const socket of sockets) socket.write(whole);
    await new Promise<void>((resolve) => {
      process.nextTick(resolve);
    });
    const stopped = receiver.server.stop(60_000);
    const answers = await Promise.all(sockets.map((socket) => text(socket).catch(String)));
    expect(answers.filter((answer) => !answer.startsWith('HTTP/1.1 202'))).toEqual([]);
    await stopped;
  });

  test('ends under load too: new senders wait or are refused, and those before them are served', async () => {
    const receiver = await startReceiver();
    const answer = receiver.inbox.answer;
    receiver.inbox.answer = () => {
      // As long as a commit takes, in which others connect.
      for (const until = performance.now() + 5; performance.now() < until;);
      return answer();
    };
    const ends: string[] = [];
    const senders = Array.from({ length: 8 }, async () => {
      for (let end = 'HTTP/1.1 202'; end.startsWith('HTTP/1.1 202'); ends.push(end)) {
        const socket = connect(receiver.port, '127.0.0.1');
        socket.write(head(path, { 'content-length': json.length, connection: 'close' }) + json);
        end = await text(socket).catch(String);
      }
    });
    await expect.poll(() => receiver.inbox.received.length).toBeGreaterThan(50);
    await receiver.server.stop(60_000);
    await Promise.all(senders);
    const reset = ends.filter((end) => !/^HTTP\/1.1 202|ECONNREFUSED/.test(end));
    // One may come in the last moment.
    expect(reset.length).toBeLessThan(2);
  });

  test('closes connections that bring no request in time, used ones and fresh ones', async () => {
    const receiver = await startReceiver({}, { patienceMs: 50 });
    const used = await Wire.open(receiver.port);
    await used.send(whole).answer();
    const fresh = await Wire.open(receiver.port);
    await receiver.server.stop(60_000);
    expect(await Promise.all([used.answer(), fresh.answer()])).toEqual([null, null]);
  });

  test('still serves a connection that was made before and has brought no request yet', async () => {
    const receiver = await startReceiver({}, { patienceMs: 60_000 });
    const wires = [await Wire.open(receiver.port), await Wire.open(receiver.port)];
    await wires[0]?.send(whole).answer();
    await expect.poll(() => connections(receiver.server)).toBe(2);
    const stopped = receiver.server.stop(60_000);
    for (const wire of wires) {
      wire.send(whole);
      expect(await wire.answer()).toMatchObject({ status: 202, headers: { connection: 'close' } });
    }
    await stopped;
  });

  test('closes the connection of a sender that goes on sending', async () => {
    const { receiver, commit, wire } = await storing();
    const stopped = receiver.server.stop(60_000);
    wire.send(whole);
    await expect.poll(() => receiver.inbox.received.length).toBe(2);
    commit();
    expect(await wire.answer()).toMatchObject({ status: 202, headers: { connection: 'keep-alive' } });
    expect(await wire.answer()).toMatchObject({ status: 202, headers: { connection: 'close' } });
    await stopped;
  });

  test('waits no longer than its time-out', async () => {
    const { receiver, wire } = await storing();
    await receiver.server.stop(50);
    await wire.closed();
    expect(await wire.answer()).toBeNull();
  });
});

describe('a server that retires', () => {
  test('reads what has come before it calls a connection idle, however long it was busy', async () => {
    const patienceMs = 200;
    const receiver = await startReceiver({}, { patienceMs });
    const wire = await Wire.open(receiver.port);
    await expect.poll(() => connections(receiver.server)).toBe(1);
    const retired = receiver.server.retire();
    wire.send(whole);
    const until = performance.now() + 2 * patienceMs;
    while (performance.now() < until);
    expect(await wire.answer()).toMatchObject({ status: 202 });
    await retired;
  });

  test('takes new connections, and each answer is the last on its connection', async () => {
    const receiver = await startReceiver({}, { patienceMs: 60_000 });
    await receiver.server.retire();
    const wire = await Wire.open(receiver.port);
    wire.send(whole);
    expect(await wire.answer()).toMatchObject({ status: 202, headers: { connection: 'close' } });
    await wire.closed();
    expect((await receiver.post(json)).status).toBe(202);
  });

  test('has retired when those that were connected have had their time for a request', async () => {
    const receiver = await startReceiver({}, { patienceMs: 50 });
    const wire = await Wire.open(receiver.port);
    await expect.poll(() => connections(receiver.server)).toBe(1);
    await receiver.server.retire();
    await wire.closed();
    expect((await receiver.post(json)).status).toBe(202);
  });
});
