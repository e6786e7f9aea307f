import { statSync } from 'node:fs';
import { query } from '../operations/operation.ts';
import { StoreUnavailable } from '../store.ts';
import { Database } from './database.ts';
import { failureKind, unavailable } from './failures.ts';
import { emptied, inodeOf, refuseEmptied } from './files.ts';
import { refuseForeign } from './migrate.ts';
import type { ServingLock } from './serving-lock.ts';
import { type PutBack, WalCopy, type WalExtent } from './wal-copy.ts';

/** What stands beside the file under the two names that SQLite gives them; numbers of inodes. */
interface Beside {
  readonly wal: number | undefined;
  readonly shm: number | undefined;
}

const checkpoint = query<WalExtent>('pragma wal_checkpoint(passive)');
const extentOfWal = query<WalExtent>('pragma wal_checkpoint(noop)');
/** They come seldom (16 MB), since pages that were written several times in between are then copied once. */
const checkpointFromPages = 4000;

/**
 * The connection to the store's file. After a failure of the disk it is given up and opened again at the next use,
 * so that a store recovers by itself when the cause is gone.
 *
 * SQLite goes on writing to a WAL that somebody removed, and all that is in it is gone with the process. So whoever
 * writes asks before and after whether the files are in their place, and has in them what SQLite wrote. The process that
 * serves the store brings it in order; all others give way to it.
 */
export class Connection {
  readonly path: string;
  readonly #warn: (message: string) => void;
  #lock: ServingLock | null = null;
  #db: Database | null = null;
  #inode: number | undefined;
  #beside: Beside = { wal: undefined, shm: undefined };
  /** Only where it serves. */
  #walCopy: WalCopy | null = null;
  /** The WAL was put back, and another process still goes by what it was. */
  #waits = false;
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
      refuseEmptied(this.path);
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
    return this.#walInPlace() ? this.#keepWal(db) : this.#putInOrder(db);
  }

  /** To be called after a commit, before anybody hears of it. Throws where it is in no file that stays. */
  confirm(): void {
    this.#refuseMoved();
    const db = this.#db;
    if (db === null) return;
    if (this.#walInPlace()) {
      if (this.#keepWal(db) !== db)
        throw new StoreUnavailable(`${this.#walWrittenOver} That took this write.`);
      // Not within the commit, since it would bring whatever stands in the WAL by now into the file.
      const pages = this.#walCopy?.frames ?? db.get(extentOfWal)?.log ?? 0;
      if (pages >= checkpointFromPages) intoTheFileIfItCan(db);
      return;
    }
    if (this.#lock === null) throw this.#giveWay();
    // The next write goes on from there.
    if (!intoTheFile(db)) throw this.#walRemoved();
  }

  /** Whether a write would find all as it was left. */
  get inPlace(): boolean {
    if (this.#db === null) return true;
    try {
      return this.#walInPlace() && (this.#lock?.inPlace ?? true) && this.#follow(this.#db) === null;
    } catch {
      return false;
    }
  }

  /** Gives up the connection, unless only another process keeps it waiting. Returns the failure in plain words. */
  failed(error: unknown): StoreUnavailable {
    if (error instanceof StoreUnavailable) return error;
    // A WAL that was removed can be read through this connection only.
    if (!this.#walInPlace()) return this.#walRemoved(error);
    try {
      if (this.#db !== null) this.#keepWal(this.#db);
    } catch (damage) {
      return damage instanceof StoreUnavailable ? damage : unavailable(damage, this.path);
    }
    if (failureKind(error) === 'unavailable') this.#disconnect();
    return unavailable(error, this.path);
  }

  /** Every later use fails with this error. */
  close(error: StoreUnavailable): void {
    this.#closed ??= error;
    if (this.#db !== null) this.#keepBeforeClose(this.#db);
    this.#disconnect();
    this.#walCopy?.close();
    this.#walCopy = null;
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
    const file = statSync(this.path, { throwIfNoEntry: false });
    if (file?.size === 0) throw emptied(this.path);
    if (file?.ino === this.#inode) return;
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

  /**
   * Puts back what somebody took out of the WAL. Gives another connection where this one takes more to be in it than
   * could be put back. Throws where nobody can rely on it.
   */
  #keepWal(db: Database): Database {
    const damaged = this.#follow(db);
    const waited = this.#waits;
    this.#waits = false;
    if (damaged === null) return db;
    const putBack = this.#putBack(damaged);
    if (!waited) this.#warn(`${this.#walWrittenOver} Nothing that was answered for is lost: it is put back.`);
    if (putBack === 'whole') return db;
    this.#disconnect();
    const reopened = this.open();
    this.#waits = this.#follow(reopened) !== null;
    if (!this.#waits) return reopened;
    throw new StoreUnavailable(
      `${this.#walWrittenOver} It was put back, and nothing is accepted while another process has ${this.path} open. End that one.`,
    );
  }

  /** Null where all that SQLite takes to be in the WAL is there, else what it takes to be there. */
  #follow(db: Database): WalExtent | null {
    if (this.#lock === null) return null;
    const copy = this.#copyOfWal();
    let extent = db.get(extentOfWal)!;
    while (!copy.follow(extent)) {
      // Another process may have written in between.
      const before = extent;
      extent = db.get(extentOfWal)!;
      if (extent.log === before.log) return extent;
    }
    return null;
  }

  #copyOfWal(): WalCopy {
    if (this.#walCopy !== null && this.#walCopy.inode === this.#beside.wal) return this.#walCopy;
    this.#walCopy?.close();
    this.#walCopy = null;
    try {
      this.#walCopy = new WalCopy(`${this.path}-wal`);
    } catch (cause) {
      throw new StoreUnavailable(`${this.path}-wal cannot be opened.`, { cause });
    }
    return this.#walCopy;
  }

  #putBack(extent: WalExtent): PutBack {
    let putBack: PutBack;
    try {
      putBack = this.#walCopy!.putBack(extent);
    } catch (cause) {
      throw new StoreUnavailable(`${this.#walWrittenOver} It cannot be put back just now.`, { cause });
    }
    if (putBack === 'lost') {
      throw new StoreUnavailable(
        `${this.#walWrittenOver} It was too large to be put back, so what was not yet in ${this.path} is lost, ` +
          'events that were answered for among it. Start the connector again to go on without that.',
      );
    }
    return putBack;
  }

  get #walWrittenOver(): string {
    return `${this.path}-wal was emptied or written over while in use.`;
  }

  /** Closing brings what is in the WAL into the file. */
  #keepBeforeClose(db: Database): void {
    if (!this.#walInPlace()) return intoTheFileIfItCan(db);
    try {
      this.#keepWal(db);
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#warn(error.message);
    }
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
    // The WAL lets other processes read during a write. FULL: a commit is on disk before it is answered. What is deleted
    // is written over, which costs nothing that could be measured: candidates' data is not left in unused parts of pages.
    db.exec(`
      pragma journal_mode = wal;
      pragma synchronous = full;
      pragma secure_delete = on;
      pragma wal_autocheckpoint = 0;
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
