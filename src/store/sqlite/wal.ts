import { closeSync, fdatasync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { sync } from './backup.ts';
import { codeOf } from './files.ts';

/** Of file systems that sync no folders, and of folders that may only be written. */
const neverSynced: ReadonlySet<string> = new Set(['EINVAL', 'ENOTSUP', 'EACCES', 'EPERM']);

/** Resolves when what was written to the file so far is on the disk. */
export type SyncFile = (fd: number) => Promise<void>;

/**
 * The WAL of an open store, for those who sync it themselves. Nothing but the WAL may be opened so: closing a second
 * descriptor of the store's file or of its `-shm` drops the locks that SQLite has on them.
 */
export class Wal {
  readonly #fd: number;
  readonly #syncFile: SyncFile;
  #syncing: Promise<void> = Promise.resolve();

  /** Throws what the system throws. */
  constructor(path: string, syncFile: SyncFile = promisify(fdatasync)) {
    this.#syncFile = syncFile;
    this.#fd = openSync(path, 'r+');
    try {
      // It may have been made just now, and without its name nobody finds it after a power cut.
      sync(dirname(path));
    } catch (error) {
      // SQLite does without that, too.
      if (neverSynced.has(codeOf(error))) return;
      closeSync(this.#fd);
      throw error;
    }
  }

  /** Rejects with what the system says. */
  sync(): Promise<void> {
    this.#syncing = this.#syncFile(this.#fd);
    return this.#syncing;
  }

  close(): void {
    // Only then: the number may be another file's from now on.
    const end = () => closeSync(this.#fd);
    this.#syncing.then(end, end);
  }
}
