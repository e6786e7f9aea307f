import { query } from '../sql/query.ts';
import { StoreUnavailable } from '../store.ts';
import { Database } from './database.ts';
import { failureKind, unavailable } from './failures.ts';
import { inodeOf } from './files.ts';
import { refuseForeign } from './migrate.ts';
import type { ServingLock } from './serving-lock.ts';

/** What stands beside the file under the two names that SQLite gives them; numbers of inodes. */
interface Beside {
  readonly wal: number | undefined;
  readonly shm: number | undefined;
}

const checkpoint = query<{ readonly log: number; readonly checkpointed: number }>(
  'pragma wal_checkpoint(passive)',
);

/**
 * The connection to the store's file. After a failure of the disk it is given up and opened again at the next use,
 * so that a store recovers by itself when the cause is gone.
 *
 * SQLite goes on writing to a WAL that somebody removed, and all that is in it is gone with the process. So whoever
 * writes asks before and after whether the files are in their place. The process that serves the store brings it in
 * order; all others give way to it.
 */
export class Connection {
  readonly path: string;
  readonly #warn: (message: string) => void;
  #lock: ServingLock | null = null;
  #db: Database | null = null;
  #inode: number | undefined;
  #beside: Beside = { wal: undefined, shm: undefined };
  #closed: StoreUnavailable | null = null;

  constructor(path: string, warn: (message: string) => void = () => {}) {
    this.path = path;
    this.#warn = warn;
  }

  /** With the right to serve, which it holds from now on and gives back when closed. */
  serve(lock: ServingLock): void {
    this.#lock = lock;
  }

  /** Throws what SQLite throws. */
  open(): Database {
    if (this.#closed) throw this.#closed;
    if (this.#db === null) {
      this.#db = openDatabase(this.path);
      this.#beside = this.#besideNow();
    }
    this.#inode ??= inodeOf(this.path);
    if (this.#lock === null && !this.#walInPlace()) throw this.#giveWay();
    return this.#db;
  }

  /**
   * As `open`, but never for a file that is not in its place any more: nobody would find there what was written. Nor
   * for one that another process serves in this one's stead.
   */
  openToWrite(): Database {
    const db = this.open();
    this.#refuseMoved();
    this.#lock?.hold();
    return this.#walInPlace() ? db : this.#putInOrder(db);
  }

  /** To be called after a commit, before anybody hears of it. Throws where it is in no file that stays. */
  confirm(): void {
    this.#refuseMoved();
    if (this.#walInPlace()) return;
    if (this.#lock === null) throw this.#giveWay();
    // The next write goes on from there.
    if (this.#db === null || !intoTheFile(this.#db)) throw this.#walRemoved();
  }

  /** Whether a write would find all as it was left. */
  get inPlace(): boolean {
    return this.#db === null || (this.#walInPlace() && (this.#lock?.inPlace ?? true));
  }

  /** Gives up the connection, unless only another process keeps it waiting. Returns the failure in plain words. */
  failed(error: unknown): StoreUnavailable {
    if (error instanceof StoreUnavailable) return error;
    // A WAL that was removed can be read through this connection only.
    if (!this.#walInPlace()) return this.#walRemoved(error);
    if (failureKind(error) === 'unavailable') this.#disconnect();
    return unavailable(error, this.path);
  }

  /** Every later use fails with this error. */
  close(error: StoreUnavailable): void {
    this.#closed ??= error;
    if (this.#db !== null && !this.#walInPlace()) intoTheFileIfItCan(this.#db);
    this.#disconnect();
    this.#lock?.release();
  }

  #besideNow(): Beside {
    return { wal: inodeOf(`${this.path}-wal`), shm: inodeOf(`${this.path}-shm`) };
  }

  #walInPlace(): boolean {
    const { wal, shm } = this.#besideNow();
    return this.#db === null || (wal === this.#beside.wal && shm === this.#beside.shm);
  }

  #refuseMoved(): void {
    if (inodeOf(this.path) === this.#inode) return;
    throw new StoreUnavailable(
      `${this.path} was removed or replaced while in use. Put it back, or start the connector again.`,
    );
  }

  /**
   * Leaves WAL mode and enters it again. SQLite lets go of a WAL only when it is all in the file and no other process
   * has the file open, which may have made a WAL of its own by now; until then it throws that it is busy.
   */
  #putInOrder(db: Database): Database {
    intoTheFile(db);
    db.exec('pragma journal_mode = delete');
    this.#disconnect();
    this.#warn(
      `${this.path}-wal or -shm was removed or replaced while in use. Nothing was lost, and they are made anew.`,
    );
    return this.open();
  }

  #giveWay(): StoreUnavailable {
    const error = new StoreUnavailable(
      `${this.path}-wal or -shm was removed or replaced while in use. See what was done, and run the command again.`,
    );
    this.close(error);
    return error;
  }

  #walRemoved(cause?: unknown): StoreUnavailable {
    return new StoreUnavailable(
      `${this.path}-wal or -shm was removed or replaced while in use, and another process has ${this.path} open. End that one.`,
      { cause },
    );
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

/** Brings what is in the WAL into the file, as far as readers let it. Returns whether that was all. */
function intoTheFile(db: Database): boolean {
  const done = db.get(checkpoint);
  return done !== undefined && done.log === done.checkpointed;
}

function intoTheFileIfItCan(db: Database): void {
  try {
    intoTheFile(db);
  } catch {
    // The last process that has the file open does it when it closes it.
  }
}

function openDatabase(path: string): Database {
  const db = new Database(path);
  try {
    // First, since another program's file would stay in WAL mode.
    refuseForeign(db, path);
    // The WAL lets other processes read during a write. FULL: a commit is on disk before it is answered. Checkpoints
    // come seldom (16 MB), since pages that were written several times in between are then copied once.
    db.exec(`
      pragma journal_mode = wal;
      pragma synchronous = full;
      pragma wal_autocheckpoint = 4000;
      pragma cache_size = -16000;
      pragma journal_size_limit = 67108864;
    `);
    // With the first read there are a WAL and its index.
    db.exec('select count(*) from sqlite_schema');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
