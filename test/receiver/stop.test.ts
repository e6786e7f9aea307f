import { describe, expect, test } from 'vitest';
import { stop } from '../../src/stop.ts';
import { path, sample, startReceiver, type TestReceiver } from './receiver.ts';
import { head, Wire } from './wire.ts';

const json = JSON.stringify(sample);
const whole = head(path, { 'content-length': json.length }) + json;

function holdCommits({ inbox }: TestReceiver): () => void {
  const commit = Promise.withResolvers<void>();
  inbox.answer = async () => {
    await commit.promise;
    return { eventId: 'evt_1', duplicate: false, correlationReused: false };
  };
  return commit.resolve;
}

describe('a stop', () => {
  test('lets the requests under way end, and takes no new ones', async () => {
    const receiver = await startReceiver();
    const commit = holdCommits(receiver);
    const wire = await Wire.open(receiver.port);
    wire.send(whole);
    await expect.poll(() => receiver.inbox.received.length).toBe(1);
    const stopped = stop(receiver.server, 60_000);
    await expect(receiver.post(json)).rejects.toThrow('fetch failed');
    commit();
    expect(await wire.answer()).toMatchObject({ status: 202 });
    await stopped;
    await wire.closed();
  });

  test('closes idle connections at once, used ones and fresh ones', async () => {
    const receiver = await startReceiver();
    const used = await Wire.open(receiver.port);
    await used.send(whole).answer();
    const fresh = await Wire.open(receiver.port);
    await stop(receiver.server, 60_000);
    expect(await Promise.all([used.answer(), fresh.answer()])).toEqual([null, null]);
  });

  test('tells a sender that goes on sending to go', async () => {
    const receiver = await startReceiver();
    const commit = holdCommits(receiver);
    const wire = await Wire.open(receiver.port);
    wire.send(whole);
    await expect.poll(() => receiver.inbox.received.length).toBe(1);
    const stopped = stop(receiver.server, 60_000);
    wire.send(whole);
    await expect.poll(() => receiver.inbox.received.length).toBe(2);
    commit();
    expect(await wire.answer()).toMatchObject({ status: 202, headers: { connection: 'keep-alive' } });
    expect(await wire.answer()).toMatchObject({ status: 202, headers: { connection: 'close' } });
    await stopped;
  });

  test('waits no longer than it is told to', async () => {
    const receiver = await startReceiver();
    holdCommits(receiver);
    const wire = await Wire.open(receiver.port);
    wire.send(whole);
    await expect.poll(() => receiver.inbox.received.length).toBe(1);
    await stop(receiver.server, 50);
    await wire.closed();
    expect(await wire.answer()).toBeNull();
  });
});
