import { Worker } from 'node:worker_threads';
import { storeClosed, StoreUnavailable } from '../driver.ts';
import { callsOf, type Reads, reads } from '../store.ts';

export interface ReadRequest {
  readonly id: number;
  readonly name: string;
  readonly given: readonly unknown[];
}

/** `unavailable`: the message of a StoreUnavailable. */
export type ReadReply = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly unavailable: string }
  | { readonly fault: unknown }
);

export interface ReadLimits {
  /** How long a read may take. */
  readonly deadlineMs: number;
  /** How long the thread stays without a read. */
  readonly idleMs: number;
  /** How many reads may wait at the same time. */
  readonly most: number;
}

const defaultLimits: ReadLimits = { deadlineMs: 10_000, idleMs: 60_000, most: 200 };

const thread = new URL('./reads-thread.ts', import.meta.url);

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Reads a SQLite file in a thread of its own, where a long read does not hold up arriving events. The thread starts with the
 * first read, and ends when there was none for some time.
 */
export class ThreadReads {
  readonly #file: string;
  readonly #limits: ReadLimits;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  /** Resolves when all earlier threads have ended: SQLite goes on with a read that was given up. */
  #ending: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  #idle: NodeJS.Timeout | undefined;
  #ids = 0;

  constructor(file: string, limits: Partial<ReadLimits> = {}) {
    this.#file = file;
    this.#limits = { ...defaultLimits, ...limits };
  }

  readonly reads = callsOf(reads, (_, given, name) => this.#ask(name, given)) as Reads;

  get isRunning(): boolean {
    return this.#worker !== null;
  }

  /** Resolves when the thread has ended, which takes as long as the read that is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#end(storeClosed());
    await this.#ending;
  }

  #ask(name: string, given: readonly unknown[]): Promise<unknown> {
    if (this.#isClosed) throw storeClosed();
    if (this.#waiting.size >= this.#limits.most) throw new StoreUnavailable('Too many are looking just now.');
    clearTimeout(this.#idle);
    const id = (this.#ids += 1);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const late = `Reading "${name}" took too long and was given up.`;
    const timer = setTimeout(() => this.#end(new StoreUnavailable(late)), this.#limits.deadlineMs);
    this.#waiting.set(id, { resolve, reject, timer });
    void this.#ending.then(() => this.#tell({ id, name, given }));
    return promise;
  }

  /** Sends a read to the thread. Called when no earlier thread reads any more, as there would be more and more. */
  #tell(asked: ReadRequest): void {
    if (!this.#waiting.has(asked.id)) return;
    this.#worker ??= this.#start();
    // oxlint-disable-next-line require-post-message-target-origin -- that is of browsers
    this.#worker.postMessage(asked);
  }

  #start(): Worker {
    const worker = new Worker(thread, { workerData: this.#file });
    worker.unref();
    const gone = (error: Error) => (this.#worker === worker ? this.#end(error) : undefined);
    worker.on('message', (answer: ReadReply) => this.#answered(answer));
    worker.on('error', gone);
    worker.on('exit', () => gone(new StoreUnavailable('The reading of the store was ended.')));
    return worker;
  }

  #answered(answer: ReadReply): void {
    const { id } = answer;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    clearTimeout(waiting?.timer);
    if ('value' in answer) waiting?.resolve(answer.value);
    else if ('unavailable' in answer) waiting?.reject(new StoreUnavailable(answer.unavailable));
    else waiting?.reject(answer.fault as Error);
    if (this.#waiting.size === 0)
      this.#idle = setTimeout(() => this.#end(storeClosed()), this.#limits.idleMs).unref();
  }

  /** Ends the thread; the reads that wait reject with this error. The next read starts a new thread. */
  #end(error: Error): void {
    clearTimeout(this.#idle);
    if (this.#worker) this.#ending = this.#worker.terminate();
    this.#worker = null;
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#waiting.clear();
  }
}
