import { statSync } from 'node:fs';
import { StoreUnavailable } from '../store.ts';
import { Database } from './database.ts';
import { failureKind, unavailable } from './failures.ts';

/**
 * The connection to the store's file. After a failure of the disk it is given up and opened again at the next use,
 * so that a store recovers by itself when the cause is gone.
 */
export class Connection {
  readonly path: string;
  #db: Database | null = null;
  #inode: number | undefined;
  #closed: StoreUnavailable | null = null;

  constructor(path: string) {
    this.path = path;
  }

  /** Throws what SQLite throws. */
  open(): Database {
    if (this.#closed) throw this.#closed;
    this.#db ??= openDatabase(this.path);
    this.#inode ??= inodeOf(this.path);
    return this.#db;
  }

  /** As `open`, but never for a file that is not in its place any more: nobody would find there what was written. */
  openToWrite(): Database {
    const db = this.open();
    if (inodeOf(this.path) === this.#inode) return db;
    throw new StoreUnavailable(
      `${this.path} was removed or replaced while in use. Put it back, or start the connector again.`,
    );
  }

  /** Gives up the connection, unless only another process keeps it waiting. Returns the failure in plain words. */
  failed(error: unknown): StoreUnavailable {
    if (error instanceof StoreUnavailable) return error;
    if (failureKind(error) === 'unavailable') this.#disconnect();
    return unavailable(error, this.path);
  }

  /** Every later use fails with this error. */
  close(error: StoreUnavailable): void {
    this.#closed ??= error;
    this.#disconnect();
  }

  #disconnect(): void {
    const db = this.#db;
    this.#db = null;
    try {
      db?.close();
    } catch {
      // The connection is of no use any more, and what it last wrote was answered for already.
    }
  }
}

/** Which file a path leads to; undefined if to none. */
function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

function openDatabase(path: string): Database {
  const db = new Database(path);
  try {
    // The WAL lets other processes read during a write. FULL: a commit is on disk before it is answered. Checkpoints
    // come seldom (16 MB), since pages that were written several times in between are then copied once.
    db.exec(`
      pragma journal_mode = wal;
      pragma synchronous = full;
      pragma wal_autocheckpoint = 4000;
      pragma cache_size = -16000;
      pragma journal_size_limit = 67108864;
    `);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
