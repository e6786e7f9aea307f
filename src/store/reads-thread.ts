import { parentPort, workerData } from 'node:worker_threads';
import type { Answered, Asked, Reads } from './reads.ts';
import { Database, runOn } from './sqlite/database.ts';
import { failureKind, unavailable } from './sqlite/failures.ts';
import { StoreUnavailable } from './store.ts';
import { storeOn } from './stored.ts';

/** The thread in which a SQLite file is read for people who look; see ThreadReads. */

const file = workerData as string;

/** A connection for each read: none is left when the store's files are. */
const store: Reads = storeOn({
  commits: 0,
  queued: 0,
  shared: false,
  write: () => Promise.reject(new Error('this thread only reads')),
  async read(work) {
    const db = new Database(file, { readOnly: true });
    try {
      db.exec('begin');
      return runOn(db, work());
    } finally {
      db.close();
    }
  },
  bytes: () => Promise.resolve(0),
  oldestTransactionMs: () => Promise.resolve(null),
  home: null,
  tidy: () => Promise.resolve(),
  traces: () => Promise.resolve(null),
  close: () => Promise.resolve(),
});

async function answer({ id, name, given }: Asked): Promise<Answered> {
  try {
    const read = store[name] as (...values: readonly unknown[]) => Promise<unknown>;
    return { id, value: await read(...given) };
  } catch (error) {
    if (error instanceof StoreUnavailable) return { id, unavailable: error.message };
    return failureKind(error) === 'fault'
      ? { id, fault: error }
      : { id, unavailable: unavailable(error, file).message };
  }
}

parentPort?.on('message', async (asked: Asked) => {
  // oxlint-disable-next-line require-post-message-target-origin -- that is of browsers
  parentPort?.postMessage(await answer(asked));
});
