import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '../../../src/store/sqlite.ts';
import { copySqlite } from '../../../src/store/sqlite/backup.ts';
import type { Store } from '../../../src/store/store.ts';

/** A store in a file, with a backup that may be put in its place. */
export class Restorable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'played-'));
  readonly #file = join(this.#folder, 'connector.db');
  readonly #copy = join(this.#folder, 'copy.db');

  /** Nobody waits for the disk, as the machine does not go down. */
  open(): Promise<Store> {
    return openSqlite(this.#file, { serve: true, syncFile: async () => {} });
  }

  async backup(): Promise<void> {
    await copySqlite(this.#file, this.#copy, () => {});
  }

  /** Puts the backup in the store's place. To be called while the store is closed. */
  restore(): void {
    for (const beside of ['-wal', '-shm']) rmSync(this.#file + beside, { force: true });
    copyFileSync(this.#copy, this.#file);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}
