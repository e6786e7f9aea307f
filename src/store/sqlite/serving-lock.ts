import { realpathSync } from 'node:fs';
import { StoreUnavailable } from '../store.ts';
import { Database } from './database.ts';
import { failureKind, unavailable } from './failures.ts';

/**
 * The right to be the only process that serves a store, kept as a lock on a file beside it. The system takes it back
 * however the process ends, so nothing is left to clean up after a crash.
 */
export class ServingLock {
  readonly #db: Database;

  /** Throws StoreUnavailable where another process has it. */
  constructor(storePath: string) {
    const path = `${realPath(storePath)}.serving`;
    try {
      this.#db = new Database(path);
    } catch (error) {
      throw unavailable(error, path);
    }
    try {
      this.#db.exec('begin exclusive');
    } catch (error) {
      this.#db.close();
      throw failureKind(error) === 'busy' ? alreadyServed(storePath, error) : unavailable(error, path);
    }
  }

  /** Idempotent. */
  release(): void {
    this.#db.close();
  }
}

/** The lock stands beside the file itself, whatever links lead there. A store that is yet to be made has no links. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function alreadyServed(storePath: string, cause: unknown): StoreUnavailable {
  return new StoreUnavailable(
    `Another connector serves this store (${storePath}). Stop it first, or give this one a store of its own.`,
    { cause },
  );
}
