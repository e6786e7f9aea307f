import type { RefusedEvents } from '../model.ts';
import { addRefused } from '../store/operations/receiving.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../support/clock.ts';

/** What comes meanwhile shares a write. */
const writeAfterMs = 1000;
const againAfterMs = 5000;

/** How many events were refused. Kept in memory until the store takes it: most are refused because it cannot write. */
export class RefusedFigures {
  readonly #store: Pick<Store, 'keepRefused'>;
  readonly #clock: Pick<Clock, 'after'>;
  #waiting: readonly RefusedEvents[] = [];
  #writing: readonly RefusedEvents[] = [];
  #last: Promise<void> = Promise.resolve();
  #cancel: (() => void) | null = null;

  constructor(store: Pick<Store, 'keepRefused'>, clock: Pick<Clock, 'after'>) {
    this.#store = store;
    this.#clock = clock;
  }

  add(refused: RefusedEvents): void {
    this.#waiting = addRefused(this.#waiting, [refused]);
    this.#writeIn(writeAfterMs);
  }

  /** What the store does not have yet. */
  get unwritten(): readonly RefusedEvents[] {
    return addRefused(this.#writing, this.#waiting);
  }

  /** Throws StoreUnavailable; then it is tried again later. */
  write(): Promise<void> {
    const written = this.#last.then(() => this.#write());
    this.#last = written.catch(() => {});
    return written;
  }

  /** Returns what the store did not take: it ends with this process. */
  async stop(): Promise<readonly RefusedEvents[]> {
    await this.write().catch(() => {});
    this.#cancel?.();
    return this.unwritten;
  }

  #writeIn(ms: number): void {
    this.#cancel ??= this.#clock.after(ms, () => {
      this.#cancel = null;
      // What the store cannot do just now is said by whoever waits for it.
      void this.write().catch(() => {});
    });
  }

  async #write(): Promise<void> {
    if (this.#waiting.length === 0) return;
    [this.#writing, this.#waiting] = [this.#waiting, []];
    try {
      await this.#store.keepRefused(this.#writing);
      this.#writing = [];
    } catch (error) {
      [this.#writing, this.#waiting] = [[], this.unwritten];
      this.#writeIn(againAfterMs);
      throw error;
    }
  }
}
