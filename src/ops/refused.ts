import type { RefusedEvents, WholeRefusedEvent } from '../model/notices.ts';
import { keptOf, mostKept } from '../store/operations/refused/events.ts';
import { addRefused } from '../store/operations/refused/figures.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../support/clock.ts';

/** Refused events that come within this time share a write. */
const writeAfterMs = 500;
const againAfterMs = 5000;
/** An event that is accepted waits no longer than the write of so many. */
const eventsPerWrite = 100;
/** The size of all payloads kept in memory. */
const mostCharacters = 8 * 2 ** 20;

type Taking = Pick<Store, 'keepRefused' | 'keepRefusedEvents'>;

/**
 * Refused events: their figures, and those that a person may take in. They are kept in memory, within bounds, until the store
 * takes them: many are refused because the store cannot write.
 */
export class RefusedFigures {
  readonly #store: Taking;
  readonly #clock: Pick<Clock, 'after'>;
  #waiting: readonly RefusedEvents[] = [];
  #writing: readonly RefusedEvents[] = [];
  /** The oldest first, by content and source. */
  #events = new Map<string, WholeRefusedEvent>();
  #characters = 0;
  #last: Promise<void> = Promise.resolve();
  #cancel: (() => void) | null = null;

  constructor(store: Taking, clock: Pick<Clock, 'after'>) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Counts refused events. `event`: one to keep, if it is to be kept. */
  add(refused: RefusedEvents, event: WholeRefusedEvent | null = null): void {
    this.#waiting = addRefused(this.#waiting, [refused]);
    if (event) this.#gather(event);
    this.#writeIn(writeAfterMs);
  }

  /** The figures that the store does not have yet. */
  get unwritten(): readonly RefusedEvents[] {
    return addRefused(this.#writing, this.#waiting);
  }

  /** Writes all that is in memory. Throws StoreUnavailable, and tries again later then. */
  write(): Promise<void> {
    const written = this.#last.then(() => this.#write());
    this.#last = written.catch(() => {});
    return written;
  }

  /** Resolves to the figures that the store did not take, and that end with this process. */
  async stop(): Promise<readonly RefusedEvents[]> {
    await this.write().catch(() => {});
    this.#cancel?.();
    return this.unwritten;
  }

  #gather(event: WholeRefusedEvent): void {
    const key = JSON.stringify([event.from, event.candidateId, event.testId, event.status]);
    const known = this.#events.get(key);
    if (!known && this.#characters + event.raw.length > mostCharacters) return;
    if (!known) this.#characters += event.raw.length;
    const attempts = event.attempts + (known?.attempts ?? 0);
    const at = Math.max(event.at, known?.at ?? 0);
    this.#events.set(key, { ...(known ?? event), at, reason: event.reason, attempts });
    // Only now and then, as trimming looks at all of them.
    if (this.#events.size >= 2 * mostKept) this.#trim();
  }

  #trim(): void {
    const kept = keptOf([...this.#events.values()]);
    for (const [key, event] of this.#events) {
      if (kept.has(event)) continue;
      this.#events.delete(key);
      this.#characters -= event.raw.length;
    }
  }

  #take(): WholeRefusedEvent[] {
    this.#trim();
    const events = [...this.#events.values()];
    this.#events = new Map();
    this.#characters = 0;
    return events;
  }

  #writeIn(ms: number): void {
    this.#cancel ??= this.#clock.after(ms, () => {
      this.#cancel = null;
      // A failure is reported by whoever waits for the store.
      void this.write().catch(() => {});
    });
  }

  async #write(): Promise<void> {
    try {
      await this.#writeFigures();
      await this.#writeEvents();
    } catch (error) {
      this.#writeIn(againAfterMs);
      throw error;
    }
  }

  async #writeFigures(): Promise<void> {
    if (this.#waiting.length === 0) return;
    [this.#writing, this.#waiting] = [this.#waiting, []];
    try {
      await this.#store.keepRefused(this.#writing);
      this.#writing = [];
    } catch (error) {
      [this.#writing, this.#waiting] = [[], this.unwritten];
      throw error;
    }
  }

  async #writeEvents(): Promise<void> {
    const events = this.#take();
    try {
      while (events.length > 0) {
        await this.#store.keepRefusedEvents(events.slice(0, eventsPerWrite));
        events.splice(0, eventsPerWrite);
      }
    } catch (error) {
      for (const event of [...events, ...this.#take()]) this.#gather(event);
      throw error;
    }
  }
}
