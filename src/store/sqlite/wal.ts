import { closeSync, fdatasync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { sync } from './backup.ts';
import { codeOf } from './files.ts';

/** Errors of file systems that sync no folders, and of folders that may be written but not read. */
const neverSynced: ReadonlySet<string> = new Set(['EINVAL', 'ENOTSUP', 'EACCES', 'EPERM']);

/** Resolves when what was written to the file so far is on the disk. */
export type SyncFile = (fd: number) => Promise<void>;

/**
 * The WAL of an open store, to sync it. Only the WAL may be opened beside SQLite: closing a second descriptor of the store's
 * file or its `-shm` drops SQLite's locks.
 */
export class Wal {
  readonly #fd: number;
  readonly #syncFile: SyncFile;
  #syncing: Promise<void> = Promise.resolve();

  /** Throws the system's errors. */
  constructor(path: string, syncFile: SyncFile = promisify(fdatasync)) {
    this.#syncFile = syncFile;
    this.#fd = openSync(path, 'r+');
    try {
      // The file may be new. Without its name in the folder, it is lost in a power cut.
      sync(dirname(path));
    } catch (error) {
      // SQLite ignores these, too.
      if (neverSynced.has(codeOf(error))) return;
      closeSync(this.#fd);
      throw error;
    }
  }

  /** Resolves when all that was written so far is on the disk. Rejects with the system's error. */
  sync(): Promise<void> {
    this.#syncing = this.#syncFile(this.#fd);
    return this.#syncing;
  }

  close(): void {
    // After the sync, as the descriptor's number may then be another file's.
    const end = () => closeSync(this.#fd);
    this.#syncing.then(end, end);
  }
}
