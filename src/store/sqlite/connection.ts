import { openSync } from 'node:fs';
import { query } from '../operation.ts';
import { type OpenOptions, storeClosed, StoreUnavailable } from '../driver.ts';
import { Database } from './database.ts';
import { failureKind, isReadOnly, unavailable, unopened, unsynced } from './failures.ts';
import { bytesOf, inodeOf, isWithoutWal, tryTo, refuseOtherWal } from './files.ts';
import { refuseForeign } from './migrate.ts';
import { rescue } from './rescue.ts';
import type { ServingLock } from './serving-lock.ts';
import { type SyncFile, Wal } from './wal.ts';

type Change = 'removed' | 'replaced' | 'cut short' | 'overwritten';

interface WalExtent {
  readonly log: number;
  readonly checkpointed: number;
}

const extentOfWal = query<WalExtent>('pragma wal_checkpoint(noop)');
const checkpoint = query<WalExtent>('pragma wal_checkpoint(passive)');
export const emptyWal = query<{ readonly busy: number }>('pragma wal_checkpoint(truncate)');
const pageCount = query<{ readonly page_count: number }>('pragma page_count');
const pageSize = query<{ readonly page_size: number }>('pragma page_size');
/** A look takes as long as two or three statements. */
const betweenLooksMs = 50;
/** 16 MB. The fewer checkpoints, the more pages that were written several times are copied once. */
const checkpointFromPages = 4000;
// https://www.sqlite.org/fileformat2.html#walformat
const walHeaderBytes = 32;
const frameHeaderBytes = 24;

/** Connections that are never closed, as that would write what is left of a WAL into the store's file. */
const neverClosed: Database[] = [];

/**
 * The connection to the store's file. After a failure of the disk it is given up, and opened again at the next use, so that
 * the store recovers by itself when the cause is gone.
 *
 * SQLite goes on writing to files that somebody removed, and what is only in them is lost with the process. So each use looks
 * first whether the files are still those that are open; the process that serves looks every 50 ms. If one is not, that
 * process saves what SQLite has, and refuses every later use.
 */
export class Connection {
  readonly path: string;
  readonly #damaged: NonNullable<OpenOptions['damaged']>;
  readonly #repaired: () => void;
  readonly #syncFile: SyncFile | undefined;
  #lock: ServingLock | null = null;
  #db: Database | null = null;
  /** Syncs commits in place of SQLite, in the process that serves the store. */
  #wal: Wal | null = null;
  /**
   * The store's file once more, to read its header, in the process that serves the store. It is never closed, as that would
   * drop all locks of this process on it.
   */
  #file: number | null = null;
  /** The inodes of the files that are open, the store's own first. */
  readonly #inodes = new Map<string, number | undefined>();
  /** When it last looked, by performance.now(). */
  #lookedAt = -Infinity;
  #bytes = 0;
  #pageBytes = 0;
  /** Set while a file was changed and what SQLite has could not be saved yet. */
  #unsaved: StoreUnavailable | null = null;
  /** Set from a failed sync of the WAL until all of the WAL is in the store's file, and that is synced. */
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

  /** Takes over the right to serve, and gives it back when closed. */
  serve(lock: ServingLock): void {
    this.#lock = lock;
    this.#inodes.set(lock.path, inodeOf(lock.path));
    const db = this.#db;
    if (db === null) return;
    this.#syncHere(db);
    // The process before may have ended after a failed sync, of which the system tells only once.
    tryTo(() => db.get(emptyWal));
  }

  /**
   * Resolves when the last commit and all before it are on the disk. Rejects with StoreUnavailable if that is not certain.
   * Call it right after a commit, before anything else happens to the connection.
   */
  async synced(): Promise<void> {
    const wal = this.#wal;
    // SQLite has synced the commit.
    if (wal === null) return;
    try {
      await wal.sync();
    } catch (error) {
      this.#unsynced ??= unsynced(error, this.path);
      this.#damaged(this.#unsynced, false);
      tryTo(() => this.look());
      throw unsynced(error, this.path);
    }
    // A WAL that was removed meanwhile was synced, too, but the next start will not find it.
    if (this.#unsaved) throw this.#unsaved;
  }

  /** The open connection. Throws SQLite's errors and StoreUnavailable. */
  open(): Database {
    const refusal = this.#closed ?? this.#unsaved ?? this.#unsynced;
    if (refusal) throw refusal;
    const db = (this.#db ??= this.#connect());
    if (this.#lock === null || performance.now() - this.#lookedAt >= betweenLooksMs) this.look();
    return db;
  }

  /**
   * Looks whether the store's files are still whole, and makes a checkpoint where it is time to. Called each second, too.
   * Throws StoreUnavailable once a file was changed.
   */
  look(): void {
    if (this.#closed) return;
    if (this.#unsynced) this.#db ??= this.#connect();
    const db = this.#db;
    if (db === null) return;
    for (const file of this.#inodes.keys()) {
      const change = this.#changeOf(file);
      if (change) throw this.#end(db, file, change);
    }
    // Before a checkpoint, which would mix the two.
    if (this.#file !== null && isWithoutWal(this.#file)) throw this.#end(db, this.path, 'overwritten');
    const pages = this.#pagesOfWal(db);
    const cut = this.#lock && this.#cutShort(db, pages);
    // One that was removed meanwhile is still whole for SQLite.
    if (cut) throw this.#end(db, cut, this.#changeOf(cut) ?? 'cut short');
    if (this.#unsaved) this.#repaired();
    this.#unsaved = null;
    this.#lookedAt = performance.now();
    if (this.#unsynced) this.#syncByCheckpoint(db);
    else if (pages >= checkpointFromPages) tryTo(() => db.get(checkpoint));
  }

  /** SQLite cannot tell if the disk has become read-only. Only the process that serves has to know. */
  #pagesOfWal(db: Database): number {
    try {
      return db.get(extentOfWal)?.log ?? 0;
    } catch (error) {
      if (this.#lock !== null || !isReadOnly(error)) throw error;
      return 0;
    }
  }

  /** Returns a failure in plain words. Gives up the connection, unless the file was only locked. */
  failed(error: unknown): StoreUnavailable {
    if (error instanceof StoreUnavailable) return error;
    if (failureKind(error) === 'unavailable') {
      try {
        // A WAL that was removed can only be read through this connection.
        this.look();
      } catch (damage) {
        if (damage instanceof StoreUnavailable) return damage;
      }
      this.#disconnect();
    }
    return unavailable(error, this.path);
  }

  /** Every later use fails. */
  close(): void {
    tryTo(() => {
      this.look();
      // SQLite does this by itself only where no other process has the file open, such as a replicator.
      if (this.#lock !== null) this.#db?.get(emptyWal);
    });
    this.#closed ??= storeClosed();
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
      // Before the WAL mode is set, which would stay in another program's file.
      refuseForeign(db, this.path);
      // The WAL lets other processes read during a write. FULL: a commit is on disk before it is answered.
      // secure_delete: no data of candidates is left in unused parts of pages. Its cost could not be measured.
      db.exec(`
        pragma journal_mode = wal;
        pragma synchronous = full;
        pragma secure_delete = on;
        pragma wal_autocheckpoint = 0;
        pragma cache_size = -16000;
        pragma journal_size_limit = 67108864;
      `);
      // The first read makes the WAL and its index.
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
   * From now on SQLite syncs only for checkpoints: the WAL before, the store's file after, and a new WAL's header. Wal
   * does the rest. What a large write would put into the folder for temporary files stays in memory, as that may be full
   * where the store's disk has room.
   */
  #syncHere(db: Database): void {
    try {
      this.#wal = new Wal(`${this.path}-wal`, this.#syncFile);
      this.#file ??= openSync(this.path, 'r');
    } catch (error) {
      throw unopened(error, this.path);
    }
    db.exec('pragma synchronous = normal; pragma temp_store = memory');
  }

  /**
   * Recovers from a failed sync. A later sync that succeeds says nothing: the system may have given up on what it could not
   * write. It still has the WAL in memory, so all of it is copied into the store's file, and the next WAL begins from its
   * start.
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

  /** Whether a path leads to another file than the one that is open. */
  #changeOf(file: string): Change | null {
    const now = inodeOf(file);
    if (now === this.#inodes.get(file)) return null;
    return now === undefined ? 'removed' : 'replaced';
  }

  /** The path of a file that is shorter than SQLite takes it to be; null if none is. */
  #cutShort(db: Database, walPages: number): string | null {
    const bytes = bytesOf(this.path);
    // It is also smaller after a `vacuum`.
    const isSmaller = bytes < this.#bytes;
    if (isSmaller && (bytes === 0 || bytes < db.get(pageCount)!.page_count * this.#pageBytes))
      return this.path;
    this.#bytes = bytes;
    const wal = `${this.path}-wal`;
    const isCut = (pages: number) =>
      pages > 0 && bytesOf(wal) < walHeaderBytes + pages * (frameHeaderBytes + this.#pageBytes);
    // Asked twice, as another process may have emptied it in between.
    return isCut(walPages) && isCut(db.get(extentOfWal)?.log ?? 0) ? wal : null;
  }

  /** Saves what SQLite has after a file was changed. Returns the error for every later use. */
  #end(db: Database, file: string, change: Change): StoreUnavailable {
    const what = `${file} was ${change} while in use`;
    if (change === 'overwritten') {
      // What the cache lacks would be read of the backup, so that nothing whole could be saved.
      neverClosed.push(db);
      this.#db = null;
      return this.#over(
        `${what}, and has what a backup had. Move ${file}-wal and ${file}-shm to another folder, and start the connector to go on with that. ` +
          'What came since the backup is not in it: reconcile it with an export of the service.',
      );
    }
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

  /**
   * Saves what is only in removed or replaced files. Returns what a person has to do. Throws if it may succeed later.
   */
  #save(db: Database, file: string): string {
    if (file !== this.path) {
      const { log, checkpointed } = db.get(checkpoint)!;
      if (log === checkpointed) return `Nothing is lost: all is in ${this.path}. Start the connector again.`;
      throw new StoreUnavailable(`Another process has ${this.path} open. End that one.`);
    }
    const saved = this.#rescue(db);
    // Otherwise the next start would take the WAL for a part of the file that is there now.
    tryTo(() => db.get(emptyWal));
    return saved;
  }

  /** Saves what can still be read of a file that was cut short. Returns what a person has to do. */
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
    return `All that the store had is in ${rescued}. To go on with that, stop the connector, move what is at ${this.path}, ${this.path}-wal and ${this.path}-shm to another folder, rename that file to ${this.path} and start.`;
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
    // The outcome of its last write is known already, so a failure to close it means nothing.
    tryTo(() => db?.close());
  }
}
