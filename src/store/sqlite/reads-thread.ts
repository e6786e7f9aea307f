import { parentPort, workerData } from 'node:worker_threads';
import type { ReadReply, ReadRequest } from './reads.ts';
import { Database, runOn } from './database.ts';
import { failureKind, unavailable } from './failures.ts';
import { callsOf, reads } from '../store.ts';

/** The thread of ThreadReads. */

const file = workerData as string;

/** Opens a connection for each read, so that none stays open when the store's files go. */
const calls = callsOf(reads, async (make, given) => {
  const db = new Database(file, { readOnly: true });
  try {
    db.exec('begin');
    return runOn(db, make(...given));
  } finally {
    db.close();
  }
}) as Record<string, (...given: readonly unknown[]) => Promise<unknown>>;

parentPort?.on('message', async ({ id, name, given }: ReadRequest) => {
  let reply: ReadReply;
  try {
    reply = { id, value: await calls[name]!(...given) };
  } catch (error) {
    reply =
      failureKind(error) === 'fault'
        ? { id, fault: error }
        : { id, unavailable: unavailable(error, file).message };
  }
  // oxlint-disable-next-line require-post-message-target-origin -- that is of browsers
  parentPort?.postMessage(reply);
});
