import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMetrics } from '../../src/admin/metrics.ts';
import { settingSchemas } from '../../src/config/settings.ts';
import { createAdmin } from '../../src/admin/server.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { measuredStore } from '../fixtures/event.ts';
import { connections, path, sample, startReceiver } from '../receiver/receiver.ts';
import { head, Wire } from '../receiver/wire.ts';

const question = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n';
const json = JSON.stringify(sample);
const event = head(path, { 'content-length': json.length }) + json;

interface Started {
  readonly server: HttpServer;
  readonly port: number;
}

const servers: [string, (mostConnections?: number) => Promise<Started>][] = [
  ['receiver', (mostConnections = 512) => startReceiver({}, { mostConnections })],
  ['admin', startAdmin],
];

async function startAdmin(mostConnections = 64): Promise<Started> {
  const server = createAdmin({
    config: () => settingSchemas.admin.parse({}),
    metrics: createMetrics(measuredStore()),
    site: () => Promise.reject(new Error('nobody looks at it here')),
    log: pino({ enabled: false }),
    readiness: async () => [],
    mostConnections,
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => server.stop(0));
  return { server, port: (server.address() as AddressInfo).port };
}

/** Which of them are still served. */
async function served(wires: readonly Wire[]): Promise<boolean[]> {
  const answers = await Promise.all(wires.map((wire) => wire.send(question).answer()));
  return answers.map((answer) => answer?.status === 200);
}

/** One connection after the other, each taken before the next comes. */
async function open({ port, server }: Started, count: number, from?: string): Promise<Wire[]> {
  const wires: Wire[] = [];
  let taken = 0;
  const take = () => (taken += 1);
  server.on('connection', take);
  for (let n = 1; n <= count; n += 1) {
    wires.push(await Wire.open(port, from));
    await expect.poll(() => taken).toBe(n);
  }
  server.off('connection', take);
  return wires;
}

describe.each(servers)('the server of the %s', (_name, start) => {
  test('ends a connection that asks on and on, and reads no answer', async () => {
    const started = await start();
    const wire = await Wire.open(started.port);
    await expect.poll(() => connections(started.server)).toBe(1);
    wire.socket.pause();
    const flood = Buffer.from(question.repeat(2_000));
    // Until the answers fill what the system keeps of them, they count as read.
    for (let sent = 0; sent < 200 && !wire.socket.destroyed; sent += 1) wire.send(flood);
    await expect.poll(() => connections(started.server), { timeout: 15_000 }).toBe(0);
  });

  test('answers 64 pipelined requests at a time, the last of them saying so', async () => {
    const wire = await Wire.open((await start()).port);
    wire.send(question.repeat(100));
    const answers = [];
    for (;;) {
      const answer = await wire.answer();
      if (!answer) break;
      answers.push(answer);
    }
    expect(answers).toHaveLength(64);
    expect(answers.map(({ headers }) => headers['connection'])).toEqual([
      ...Array.from({ length: 63 }, () => 'keep-alive'),
      'close',
    ]);
  });

  test.each([
    ['an Upgrade', '1.1\r\nconnection: upgrade\r\nupgrade: h2c', ''],
    ['chunks by HTTP/1.0', '1.0\r\nconnection: keep-alive\r\ntransfer-encoding: chunked', '0\r\n\r\n'],
  ])('takes nothing after %s for a request, and ends the connection', async (_, version, body) => {
    const wire = await Wire.open((await start()).port);
    wire.send(question.replace('1.1', version) + body + question);
    expect(await wire.answer()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    expect(await wire.answer()).toBeNull();
  });

  test('lets the connection go that was idle longest where there is no place for another', async () => {
    const started = await start(4);
    const wires = await open(started, 3);
    // A request makes the first one the youngest.
    expect(await served(wires.slice(0, 1))).toEqual([true]);
    const late = await open(started, 2);
    expect(await served([...wires, ...late])).toEqual([true, false, true, true, true]);
  });

  test('makes room when the system has none for another connection, and goes on', async () => {
    const started = await start();
    const wires = await open(started, 1);
    // One without a request would be closed soon anyway.
    expect(await served(wires)).toEqual([true]);
    started.server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }));
    await wires[0]?.closed();
    expect(await served(await open(started, 1))).toEqual([true]);
  });
});

describe('strangers', () => {
  const stranger = '127.0.0.2';

  test('take no more than half of the places, and none from a sender', async () => {
    const receiver = await startReceiver({ allowFrom: ['127.0.0.1'] }, { mostConnections: 4 });
    const senders = await open(receiver, 2);
    const strangers = await open(receiver, 5, stranger);
    expect(await served([...senders, ...strangers])).toEqual([true, true, false, false, false, true, true]);
  });

  test('make room for a sender, those under way included', async () => {
    const readiness = () => new Promise<never>(() => {});
    const receiver = await startReceiver({ allowFrom: ['127.0.0.1'] }, { mostConnections: 2, readiness });
    let asked = 0;
    receiver.server.on('request', () => (asked += 1));
    const [busy] = await open(receiver, 1, stranger);
    busy?.send(question.replace('healthz', 'readyz'));
    await expect.poll(() => asked).toBe(1);
    const commit = receiver.inbox.hold();
    const [first] = await open(receiver, 1);
    first?.send(event);
    await expect.poll(() => receiver.inbox.received.length).toBe(1);
    const [second] = await open(receiver, 1);
    await busy?.closed();
    second?.send(event);
    await expect.poll(() => receiver.inbox.received.length).toBe(2);
    // Where every place is a sender's whose event is being stored, there is none to give.
    const [third] = await open(receiver, 1);
    await third?.closed();
    commit();
    expect([(await first?.answer())?.status, (await second?.answer())?.status]).toEqual([202, 202]);
    expect(receiver.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: expect.stringContaining('the limit of connections') }),
    );
  });
});

test('a sender for whom there is no room is counted: an event may have come so', async () => {
  const receiver = await startReceiver({}, { mostConnections: 1 });
  const [waited] = await open(receiver, 1);
  expect((await waited?.send(event).answer())?.status).toBe(202);
  const commit = receiver.inbox.hold();
  const [first] = await open(receiver, 1);
  // Whose requests were answered loses nothing.
  await waited?.closed();
  first?.send(event);
  await expect.poll(() => receiver.inbox.received.length).toBe(2);
  expect(receiver.inbox.withoutRoom).toEqual([]);
  for (const late of await open(receiver, 2)) await late.send(event).closed();
  expect(receiver.inbox.withoutRoom).toEqual(['127.0.0.1', '127.0.0.1']);
  expect(receiver.counted).toEqual(['accepted', 'failed', 'failed']);
  commit();
  expect((await first?.answer())?.status).toBe(202);
});

describe('senders of slow bodies', () => {
  const start = () => startReceiver({ allowFrom: 'any' }, { mostConnections: 3 });
  const slow = event.slice(0, -1);

  /** Resolves when the server has begun to serve it. */
  async function send({ server }: Started, wire: Wire | undefined, bytes: string): Promise<void> {
    const begun = once(server, 'request');
    wire?.send(bytes);
    await begun;
  }

  test('make room for another connection, the one that began first', async () => {
    const receiver = await start();
    // The request on the oldest connection is the youngest.
    const [third, first, second] = await open(receiver, 3);
    for (const wire of [first, second, third]) await send(receiver, wire, slow);
    const [late] = await open(receiver, 1);
    late?.send(event);
    expect([await late?.answer(), await first?.answer()]).toMatchObject([{ status: 202 }, null]);
    for (const wire of [second, third])
      expect(await wire?.send(event.slice(-1)).answer()).toMatchObject({ status: 202 });
  });

  test('are the only ones: an event that is being stored keeps its connection', async () => {
    const receiver = await start();
    const commit = receiver.inbox.hold();
    const storing = await open(receiver, 3);
    // What follows on the last connection is not whole, but the event before it is.
    for (const [index, wire] of storing.entries()) wire.send(index < 2 ? event : event + slow);
    await expect.poll(() => receiver.inbox.received.length).toBe(3);
    const [late] = await open(receiver, 1);
    expect(await late?.answer()).toBeNull();
    commit();
    for (const wire of storing) expect(await wire.answer()).toMatchObject({ status: 202 });
  });
});

test('a connection that stands still under its answer is ended', async () => {
  const receiver = await startReceiver({}, { stillMs: 1000 });
  receiver.inbox.answer = () => new Promise<never>(() => {});
  const wire = await Wire.open(receiver.port);
  wire.send(event);
  expect(await wire.answer()).toBeNull();
  expect(receiver.inbox.received).toHaveLength(1);
});
