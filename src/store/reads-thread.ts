import { parentPort, workerData } from 'node:worker_threads';
import type { ReadReply, ReadRequest } from './reads.ts';
import { Database, runOn } from './sqlite/database.ts';
import { failureKind, unavailable } from './sqlite/failures.ts';
import { callsOf, reads, StoreUnavailable } from './store.ts';

/** The thread in which a SQLite file is read for people who look; see ThreadReads. */

const file = workerData as string;

/** A connection for each read: none is left when the store's files are. */
const calls = callsOf(reads, async (make, given) => {
  const db = new Database(file, { readOnly: true });
  try {
    db.exec('begin');
    return runOn(db, make(...given));
  } finally {
    db.close();
  }
}) as Record<string, (...given: readonly unknown[]) => Promise<unknown>>;

async function answer({ id, name, given }: ReadRequest): Promise<ReadReply> {
  try {
    return { id, value: await calls[name]!(...given) };
  } catch (error) {
    if (error instanceof StoreUnavailable) return { id, unavailable: error.message };
    return failureKind(error) === 'fault'
      ? { id, fault: error }
      : { id, unavailable: unavailable(error, file).message };
  }
}

parentPort?.on('message', async (asked: ReadRequest) => {
  // oxlint-disable-next-line require-post-message-target-origin -- that is of browsers
  parentPort?.postMessage(await answer(asked));
});
