import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { printable } from '../../support/text.ts';
import { StoreUnavailable } from '../driver.ts';
import { Database } from './database.ts';
import { failureKind, unavailable } from './failures.ts';
import { identityOf, tryTo } from './files.ts';

/** Whether somebody has locked this file of SQLite for writing, which ends with that process. */
export function isLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  let db: Database | null = null;
  try {
    db = new Database(path);
    db.exec('begin exclusive');
    return false;
  } catch (error) {
    return failureKind(error) === 'busy';
  } finally {
    db?.close();
  }
}

/** Of the file by which a store is served. */
export const lockOf = (storePath: string): string => `${storePath}.serving`;

/**
 * The exclusive right to serve a store: a lock on a file beside it. The system releases it however the process ends.
 */
export class ServingLock {
  readonly path: string;
  readonly #db: Database;
  readonly #since = new Date().toISOString().slice(0, 19).replace('T', ' ');
  #witness: string;
  #next: string | null = null;

  /** Throws StoreUnavailable if another process has it. */
  constructor(storePath: string) {
    this.path = lockOf(storePath);
    const [holder, mark = ''] = this.#said();
    this.#witness = mark === '' ? '' : this.#witnessOf(mark);
    let db: Database | null = null;
    try {
      db = new Database(this.path);
      db.exec('begin exclusive');
    } catch (error) {
      db?.close();
      if (failureKind(error) !== 'busy') throw unavailable(error, this.path);
      const who = holder === undefined ? '' : `: ${printable(holder)}`;
      throw new StoreUnavailable(
        `Another connector serves this store (${storePath})${who}. Stop it first, or give this one another store.url.`,
        { cause: error },
      );
    }
    this.#db = db;
    tryTo(() => this.#sayWho(this.#by, mark));
  }

  /**
   * Identifies the file beside the store that says who serves it. The store keeps this. The file is replaced now and then, so
   * an older copy that is written over the store's file names another witness. Empty if there is no such file.
   */
  get witness(): string {
    return this.#witness;
  }

  /** The witness after the next `renew`. Until then the store keeps both. */
  get nextWitness(): string {
    return (this.#next ??= this.#prepare());
  }

  /** Puts the next witness in place. Resolves when it is on the disk. */
  async renew(): Promise<void> {
    const next = this.#next;
    try {
      if (next === null || next === this.#witness) return;
      renameSync(this.#new, this.#by);
      this.#witness = next;
      for (const path of [this.#by, dirname(this.path)]) {
        await using file = await open(path);
        await file.sync();
      }
    } catch {
      // The store keeps the one before, too.
    } finally {
      this.#next = null;
    }
  }

  #prepare(): string {
    const mark = randomUUID();
    try {
      rmSync(this.#new, { force: true });
      this.#sayWho(this.#new, mark);
      return this.#witnessOf(mark, this.#new);
    } catch {
      // A copy that is made while this cannot be written will not be noticed.
      return this.#witness;
    }
  }

  #witnessOf(mark: string, path = this.#by): string {
    return `${mark} ${identityOf(path)}`;
  }

  /** Idempotent. */
  release(): void {
    this.#db.close();
  }

  /** Writes who serves the store to a file of its own: others cannot read the locked one. */
  #sayWho(path: string, mark: string): void {
    const who = `process ${process.pid} on ${hostname()}, since ${this.#since} UTC`;
    writeFileSync(path, `${who}\n${mark}`, { mode: 0o600 });
  }

  get #by(): string {
    return `${this.path}-by`;
  }

  get #new(): string {
    return `${this.#by}.new`;
  }

  #said(): string[] {
    try {
      return readFileSync(this.#by, 'utf8').split('\n');
    } catch {
      return [];
    }
  }
}
