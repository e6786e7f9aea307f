import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { printable } from '../../support/text.ts';
import { StoreUnavailable } from '../driver.ts';
import { Database } from './database.ts';
import { failureKind, unavailable } from './failures.ts';

/**
 * The exclusive right to serve a store: a lock on a file beside it. The system releases it however the process ends, so
 * a crash leaves nothing to clean up.
 */
export class ServingLock {
  readonly path: string;
  readonly #db: Database;
  readonly #since = new Date().toISOString().slice(0, 19).replace('T', ' ');
  #witness: string;

  /** Throws StoreUnavailable if another process has it. */
  constructor(storePath: string) {
    this.path = `${storePath}.serving`;
    const [holder, witness = ''] = this.#said();
    this.#witness = witness;
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
    this.#sayWho();
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

  /** Idempotent. */
  release(): void {
    this.#db.close();
  }

  /**
   * In a separate file: others cannot read a locked file, and if this process read and closed it, the lock would be
   * lost.
   */
  #sayWho(): void {
    const who = `process ${process.pid} on ${hostname()}, since ${this.#since} UTC`;
    try {
      writeFileSync(`${this.path}-by`, `${who}\n${this.#witness}`, { mode: 0o600 });
    } catch {
      // It only helps people to find this process.
    }
  }

  #said(): string[] {
    try {
      return readFileSync(`${this.path}-by`, 'utf8').split('\n');
    } catch {
      return [];
    }
  }
}
