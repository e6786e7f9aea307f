import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { printable } from '../../support/text.ts';
import { StoreUnavailable } from '../store.ts';
import { Database } from './database.ts';
import { failureKind, unavailable } from './failures.ts';
import { inodeOf } from './files.ts';

/**
 * The exclusive right to serve a store: a lock on a file beside it. The system releases it however the process ends, so
 * a crash leaves nothing to clean up.
 */
export class ServingLock {
  readonly #storePath: string;
  readonly #path: string;
  #held: { readonly db: Database; readonly inode: number | undefined };
  readonly #since = new Date().toISOString().slice(0, 19).replace('T', ' ');
  #witness: string;

  /** Throws StoreUnavailable if another process has it. */
  constructor(storePath: string) {
    this.#storePath = storePath;
    this.#path = `${storePath}.serving`;
    this.#witness = this.#said()[1] ?? '';
    this.#held = this.#take();
  }

  /** What was last remembered here, by whichever process; empty where nothing was. */
  get witness(): string {
    return this.#witness;
  }

  /** A text that tells the store's file from an older one that was written over it, since this is another file. */
  remember(witness: string): void {
    this.#witness = witness;
    this.#sayWho();
  }

  get inPlace(): boolean {
    return inodeOf(this.#path) === this.#held.inode;
  }

  /**
   * To be called before each write: if the file is deleted, another process could take the same right. Takes the lock
   * again if no other process has. Throws StoreUnavailable if one has.
   */
  hold(): void {
    if (this.inPlace) return;
    const before = this.#held;
    this.#held = this.#take();
    before.db.close();
  }

  /** Idempotent. */
  release(): void {
    this.#held.db.close();
  }

  #take(): { readonly db: Database; readonly inode: number | undefined } {
    let db: Database;
    try {
      db = new Database(this.#path);
    } catch (error) {
      throw unavailable(error, this.#path);
    }
    try {
      db.exec('begin exclusive');
      this.#sayWho();
      return { db, inode: inodeOf(this.#path) };
    } catch (error) {
      db.close();
      throw failureKind(error) === 'busy' ? this.#alreadyServed(error) : unavailable(error, this.#path);
    }
  }

  /**
   * In a separate file: others cannot read a locked file, and if this process read and closed it, the lock would be
   * lost.
   */
  #sayWho(): void {
    const who = `process ${process.pid} on ${hostname()}, since ${this.#since} UTC`;
    try {
      writeFileSync(this.#holderPath, `${who}\n${this.#witness}`, { mode: 0o600 });
    } catch {
      // It only helps people to find this process.
    }
  }

  #alreadyServed(cause: unknown): StoreUnavailable {
    return new StoreUnavailable(
      `Another connector serves this store (${this.#storePath})${this.#holder()}. Stop it first, or give this one another store.url.`,
      { cause },
    );
  }

  #holder(): string {
    const [who] = this.#said();
    return who === undefined ? '' : `: ${printable(who)}`;
  }

  #said(): string[] {
    try {
      return readFileSync(this.#holderPath, 'utf8').split('\n');
    } catch {
      return [];
    }
  }

  get #holderPath(): string {
    return `${this.#path}-by`;
  }
}
