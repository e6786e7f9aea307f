import { query } from '../operation.ts';
import { type OpenOptions, StoreUnavailable } from '../driver.ts';
import { Database } from './database.ts';
import { failureKind, isReadOnly, unavailable, unsynced } from './failures.ts';
import { bytesOf, inodeOf, tryTo, refuseOtherWal } from './files.ts';
import { refuseForeign } from './migrate.ts';
import { rescue } from './rescue.ts';
import type { ServingLock } from './serving-lock.ts';
import { type SyncFile, Wal } from './wal.ts';

type Change = 'removed' | 'replaced' | 'cut short';

interface WalExtent {
  readonly log: number;
  readonly checkpointed: number;
}

const extentOfWal = query<WalExtent>('pragma wal_checkpoint(noop)');
const checkpoint = query<WalExtent>('pragma wal_checkpoint(passive)');
export const emptyWal = query<{ readonly busy: number }>('pragma wal_checkpoint(truncate)');
const pageCount = query<{ readonly page_count: number }>('pragma page_count');
const pageSize = query<{ readonly page_size: number }>('pragma page_size');
/** To look takes as long as two or three statements. */
const betweenLooksMs = 50;
/** They come seldom (16 MB), since pages that were written several times in between are then copied once. */
const checkpointFromPages = 4000;
// https://www.sqlite.org/fileformat2.html#walformat
const walHeaderBytes = 32;
const frameHeaderBytes = 24;

/** Here nothing closes them: that would write into the store's file what is left of a WAL. */
const neverClosed: Database[] = [];

/**
 * The connection to the store's file. After a failure of the disk it is given up and opened again at the next use,
 * so that a store recovers by itself when the cause is gone.
 *
 * SQLite goes on with files that somebody removed, and what is in them alone is gone with the process. So each use looks
 * first whether the files are still those that are open; in the process that serves, if none has for some ms. Where one is
 * not, that process saves what SQLite has, and every later use is refused: the next start would not find what was written.
 */
export class Connection {
  readonly path: string;
  readonly #damaged: NonNullable<OpenOptions['damaged']>;
  readonly #repaired: () => void;
  readonly #syncFile: SyncFile | undefined;
  #lock: ServingLock | null = null;
  #db: Database | null = null;
  /** Where commits are synced here and not by SQLite: in the process that serves the store. */
  #wal: Wal | null = null;
  /** The inodes of the files that are open, the store's own first. */
  readonly #inodes = new Map<string, number | undefined>();
  /** By performance.now(). */
  #lookedAt = -Infinity;
  #bytes = 0;
  #pageBytes = 0;
  /** Set while something could not be saved yet. */
  #unsaved: StoreUnavailable | null = null;
  /** Set from a failed sync of the WAL until all that is in the WAL is in the store's file, and that is synced. */
  #unsynced: StoreUnavailable | null = null;
  #closed: StoreUnavailable | null = null;

  constructor(
    path: string,
    { damaged = () => {}, repaired = () => {} }: Pick<OpenOptions, 'damaged' | 'repaired'> = {},
    syncFile?: SyncFile,
  ) {
    this.path = path;
    this.#damaged = damaged;
    this.#repaired = repaired;
    this.#syncFile = syncFile;
    this.#inodes.set(path, inodeOf(path));
  }

  /** With the right to serve, which it holds from now on and gives back when closed. */
  serve(lock: ServingLock): void {
    this.#lock = lock;
    this.#inodes.set(lock.path, inodeOf(lock.path));
    const db = this.#db;
    if (db === null) return;
    this.#syncHere(db);
    // The process before may have ended after a failed sync, and the system tells of that only once.
    tryTo(() => db.get(emptyWal));
  }

  /**
   * To be called right after a commit, before anything else can happen to the connection. Resolves when that commit and all
   * before it are on the disk. Throws StoreUnavailable if that is not certain.
   */
  async synced(): Promise<void> {
    const wal = this.#wal;
    // Then SQLite has synced it.
    if (wal === null) return;
    try {
      await wal.sync();
    } catch (error) {
      this.#unsynced ??= unsynced(error, this.path);
      this.#damaged(this.#unsynced, false);
      tryTo(() => this.look());
      throw unsynced(error, this.path);
    }
    // A WAL that was removed meanwhile is on the disk, too, and nobody finds it.
    if (this.#unsaved) throw this.#unsaved;
  }

  /** Throws what SQLite throws, and StoreUnavailable. */
  open(): Database {
    const refusal = this.#closed ?? this.#unsaved ?? this.#unsynced;
    if (refusal) throw refusal;
    const db = (this.#db ??= this.#connect());
    if (this.#lock === null || performance.now() - this.#lookedAt >= betweenLooksMs) this.look();
    return db;
  }

  /** Each second as well: nobody should wait for the next event. Throws StoreUnavailable once a file was changed. */
  look(): void {
    if (this.#closed) return;
    if (this.#unsynced) this.#db ??= this.#connect();
    const db = this.#db;
    if (db === null) return;
    for (const [file, inode] of this.#inodes) {
      const now = inodeOf(file);
      if (now !== inode) throw this.#end(db, file, now === undefined ? 'removed' : 'replaced');
    }
    const pages = this.#pagesOfWal(db);
    const cut = this.#lock && this.#cutShort(db, pages);
    if (cut) throw this.#end(db, cut, 'cut short');
    if (this.#unsaved) this.#repaired();
    this.#unsaved = null;
    this.#lookedAt = performance.now();
    if (this.#unsynced) this.#syncByCheckpoint(db);
    else if (pages >= checkpointFromPages) tryTo(() => db.get(checkpoint));
  }

  /** Of a disk that is read-only now nobody can ask. What has the lock must know, others can read on. */
  #pagesOfWal(db: Database): number {
    try {
      return db.get(extentOfWal)?.log ?? 0;
    } catch (error) {
      if (this.#lock !== null || !isReadOnly(error)) throw error;
      return 0;
    }
  }

  /** Gives up the connection, unless only another process keeps it waiting. Returns the failure in plain words. */
  failed(error: unknown): StoreUnavailable {
    if (error instanceof StoreUnavailable) return error;
    if (failureKind(error) === 'unavailable') {
      try {
        // A WAL that was removed can be read through this connection only.
        this.look();
      } catch (damage) {
        if (damage instanceof StoreUnavailable) return damage;
      }
      this.#disconnect();
    }
    return unavailable(error, this.path);
  }

  /** Every later use fails with this error. */
  close(error: StoreUnavailable): void {
    tryTo(() => this.look());
    this.#closed ??= error;
    this.#disconnect();
    this.#lock?.release();
  }

  #connect(): Database {
    const before = this.#inodes.get(this.path);
    if (before !== undefined && before !== inodeOf(this.path)) {
      throw this.#over(
        `${this.path} was removed or replaced when the disk had failed. See what was done, and start again.`,
      );
    }
    refuseOtherWal(this.path);
    const db = new Database(this.path);
    try {
      // First, since another program's file would stay in WAL mode.
      refuseForeign(db, this.path);
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
      if (this.#lock) this.#syncHere(db);
    } catch (error) {
      db.close();
      throw error;
    }
    for (const suffix of ['', '-wal', '-shm'])
      this.#inodes.set(this.path + suffix, inodeOf(this.path + suffix));
    this.#bytes = 0;
    this.#pageBytes = db.get(pageSize)!.page_size;
    return db;
  }

  /**
   * From now on SQLite syncs the WAL only where a checkpoint needs it: before the store's file is written, as it syncs that
   * file before the WAL begins anew, and the header of the new one before anything follows it. All other syncs are Wal's.
   */
  #syncHere(db: Database): void {
    try {
      this.#wal = new Wal(`${this.path}-wal`, this.#syncFile);
    } catch (error) {
      throw unsynced(error, this.path);
    }
    db.exec('pragma synchronous = normal');
  }

  /**
   * After a failed sync, a later one that succeeds says nothing: the system may have given up on what it could not write. So
   * all of the WAL has to get into the store's file, as the system still has it in memory, and the next WAL has to begin
   * from the start: after a power cut nothing is found behind a place that was not written.
   */
  #syncByCheckpoint(db: Database): void {
    try {
      if (db.get(emptyWal)?.busy !== 0) return;
    } catch {
      return this.#disconnect();
    }
    this.#unsynced = null;
    this.#repaired();
  }

  /** The file that has less than SQLite takes to be in it. */
  #cutShort(db: Database, walPages: number): string | null {
    const bytes = bytesOf(this.path);
    // A `vacuum` makes it smaller, too.
    const isSmaller = bytes < this.#bytes;
    if (isSmaller && (bytes === 0 || bytes < db.get(pageCount)!.page_count * this.#pageBytes))
      return this.path;
    this.#bytes = bytes;
    const wal = `${this.path}-wal`;
    const isCut = (pages: number) =>
      pages > 0 && bytesOf(wal) < walHeaderBytes + pages * (frameHeaderBytes + this.#pageBytes);
    // Another process may have emptied it in between.
    return isCut(walPages) && isCut(db.get(extentOfWal)?.log ?? 0) ? wal : null;
  }

  /** Saves what SQLite has. Returns what every later use is told. */
  #end(db: Database, file: string, change: Change): StoreUnavailable {
    const what = `${file} was ${change} while in use`;
    if (this.#lock === null) return this.#over(`${what}. See what was done, and run the command again.`);
    try {
      return this.#over(
        `${what}. ${change === 'cut short' ? this.#saveRest(db, file) : this.#save(db, file)}`,
      );
    } catch (cause) {
      const why = failureKind(cause) === 'fault' ? String(cause) : unavailable(cause, this.path).message;
      const error = new StoreUnavailable(
        `${what}, and what only this process has could not be saved yet: ${why} It tries again each second. Do not end it before.`,
        { cause },
      );
      if (this.#unsaved === null) this.#damaged(error, false);
      return (this.#unsaved = error);
    }
  }

  /** Returns what to do then. Throws where it may succeed later. */
  #save(db: Database, file: string): string {
    if (file !== this.path) {
      const { log, checkpointed } = db.get(checkpoint)!;
      if (log === checkpointed) return `Nothing is lost: all is in ${this.path}. Start the connector again.`;
      throw new StoreUnavailable(`Another process has ${this.path} open. End that one.`);
    }
    const saved = this.#rescue(db);
    // Or the next start would take it for a part of the file that is there now.
    tryTo(() => db.get(emptyWal));
    return saved;
  }

  /** As far as it can be read. */
  #saveRest(db: Database, file: string): string {
    neverClosed.push(db);
    this.#db = null;
    try {
      return this.#rescue(db);
    } catch {
      return file === this.path
        ? `It cannot be read any more. Copy ${this.path}-wal to another folder, since only that has the newest events. Then restore a backup.`
        : 'What only that had is lost. Start the connector again to go on without it.';
    }
  }

  #rescue(db: Database): string {
    const rescued = rescue(db, this.path);
    return `All that the store had is in ${rescued}. To go on with that, stop the connector, remove ${this.path}-wal and ${this.path}-shm, rename it to ${this.path} and start.`;
  }

  #over(message: string): StoreUnavailable {
    const error = new StoreUnavailable(message);
    this.#closed = error;
    this.#disconnect();
    this.#damaged(error, true);
    return error;
  }

  #disconnect(): void {
    const [db, wal] = [this.#db, this.#wal];
    this.#db = null;
    this.#wal = null;
    wal?.close();
    // The connection is of no use any more, and what it last wrote was answered for already.
    tryTo(() => db?.close());
  }
}
