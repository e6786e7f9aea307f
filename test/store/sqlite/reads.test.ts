import { mkdtemp, rm } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { type ReadLimits, ThreadReads } from '../../../src/store/sqlite/reads.ts';
import { openSqlite } from '../../../src/store/sqlite.ts';
import { StoreUnavailable } from '../../../src/store/store.ts';
import { arrival, configId, slowDown, t0 } from '../../contract/store-fixtures.ts';
import { eventually } from '../../fixtures/eventually.ts';

/** A store that a process serves, and the thread that reads it beside. */
async function startReads(limits: Partial<ReadLimits> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'reads-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'connector.db');
  const store = await openSqlite(file, { serve: true });
  onTestFinished(() => store.close());
  await store.saveConfig({ id: configId, source: { rules: [] }, savedAt: t0 });
  const thread = new ThreadReads(file, limits);
  onTestFinished(() => thread.close());
  return { file, store, thread, reads: thread.reads };
}

test('a thread of its own tells the same as the store, and what was just written', async () => {
  const { store, reads, thread } = await startReads();
  expect(thread.isRunning).toBe(false);
  for (let round = 0; round < 3; round += 1) {
    const { eventId } = await store.accept(arrival());
    expect(await reads.event(eventId)).toEqual(await store.event(eventId));
  }
  expect(await reads.events({ limit: 2 })).toEqual(await store.events({ limit: 2 }));
  expect(await reads.counts()).toEqual(await store.counts());
  expect(await reads.latestConfig()).toEqual(await store.latestConfig());
  expect(await reads.event('evt_unknown')).toBeNull();
  expect(thread.isRunning).toBe(true);
});

test('the thread ends when nobody looks, and comes back', async () => {
  const { reads, thread } = await startReads({ idleMs: 1 });
  await reads.counts();
  await eventually(() => expect(thread.isRunning).toBe(false));
  expect(await reads.counts()).toEqual([]);
});

test('who waits too long is told so, and the next one is answered', async () => {
  const { reads } = await startReads({ deadlineMs: 1 });
  // A thread does not start within a millisecond.
  await expect(reads.events({})).rejects.toThrow(
    new StoreUnavailable('Reading "events" took too long and was given up.'),
  );
  const { reads: patient } = await startReads();
  expect(await patient.events({})).toEqual([]);
});

test('a read that goes on after it was given up has no other one beside it', async () => {
  const { file, store, reads, thread } = await startReads({ deadlineMs: 30 });
  await store.accept(arrival());
  // Longer than the deadline, also on a quick machine.
  slowDown(file, 1_000_000);
  let [running, most] = [0, 0];
  const started = (worker: Worker) => {
    most = Math.max(most, (running += 1));
    worker.once('exit', () => (running -= 1));
  };
  process.on('worker', started);
  onTestFinished(() => void process.off('worker', started));
  for (let round = 0; round < 2; round += 1) await expect(reads.events({})).rejects.toThrow('took too long');
  await thread.close();
  expect([running, most]).toEqual([0, 1]);
  await expect(reads.counts()).rejects.toThrow('The store is closed.');
});

test('who waits for a thread that ends is told so, and the next one is answered', async () => {
  const { reads } = await startReads({ deadlineMs: 5000 });
  process.once('worker', (worker) => void worker.terminate());
  await expect(reads.counts()).rejects.toThrow('The reading of the store was ended.');
  expect(await reads.counts()).toEqual([]);
});

test('no more wait than can be answered', async () => {
  const { reads } = await startReads({ most: 2 });
  const asked = [reads.counts(), reads.counts(), reads.counts()];
  expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
  ]);
});

test('what is wrong with the file is said as the store says it', async () => {
  const { store, file } = await startReads();
  await store.close();
  const other = new DatabaseSync(file);
  other.close();
  const missing = new ThreadReads(`${file}-missing`);
  onTestFinished(() => missing.close());
  await expect(missing.reads.counts()).rejects.toThrow(StoreUnavailable);
});
