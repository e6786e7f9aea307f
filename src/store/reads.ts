import { Worker } from 'node:worker_threads';
import { StoreUnavailable, type Store } from './store.ts';

/** What people look at, as opposed to what deliveries need. */
export const readNames = [
  'events',
  'search',
  'event',
  'audit',
  'notices',
  'notice',
  'audit',
  'delivery',
  'deliveries',
  'rejectedRequests',
  'counts',
  'deadSince',
  'heldSince',
  'tally',
  'daily',
  'lastEventAt',
  'config',
  'latestConfig',
  'copyStates',
  'waiting',
  'pauses',
] as const satisfies readonly (keyof Store)[];

/** The reading half of a store. */
export type Reads = Pick<Store, (typeof readNames)[number]>;

type Call = (...given: unknown[]) => Promise<unknown>;

export interface Asked {
  readonly id: number;
  readonly name: keyof Reads;
  readonly given: readonly unknown[];
}

/** `unavailable`: why, as the store says it. */
export type Answered = { readonly id: number } & (
  | { readonly value: unknown }
  | { readonly unavailable: string }
  | { readonly fault: unknown }
);

export interface ReadLimits {
  /** How long a read may take. */
  readonly deadlineMs: number;
  /** For how long the thread stays when nobody looks. */
  readonly idleMs: number;
  /** So many may wait at the same time. */
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
 * Reads a SQLite file in a thread of its own: there a long read holds up nobody who sends events. The thread is started
 * when somebody looks, and ended when nobody does.
 */
export class ThreadReads {
  readonly #file: string;
  readonly #limits: ReadLimits;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;
  #ids = 0;

  constructor(file: string, limits: Partial<ReadLimits> = {}) {
    this.#file = file;
    this.#limits = { ...defaultLimits, ...limits };
  }

  readonly reads = readsBy((name, given) => this.#ask(name, given));

  get isRunning(): boolean {
    return this.#worker !== null;
  }

  async close(): Promise<void> {
    await this.#end(new StoreUnavailable('The store is closed.'));
  }

  #ask(name: keyof Reads, given: readonly unknown[]): Promise<unknown> {
    if (this.#waiting.size >= this.#limits.most) throw new StoreUnavailable('Too many are looking just now.');
    clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    const id = (this.#ids += 1);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => void this.#end(late(name)), this.#limits.deadlineMs);
    this.#waiting.set(id, { resolve, reject, timer });
    // oxlint-disable-next-line require-post-message-target-origin -- that is of browsers
    this.#worker.postMessage({ id, name, given } satisfies Asked);
    return promise;
  }

  #start(): Worker {
    const worker = new Worker(thread, { workerData: this.#file });
    worker.unref();
    const gone = (error: Error) => (this.#worker === worker ? void this.#end(error) : undefined);
    worker.on('message', (answer: Answered) => this.#answered(answer));
    worker.on('error', gone);
    worker.on('exit', () => gone(new StoreUnavailable('The reading of the store was ended.')));
    return worker;
  }

  #answered(answer: Answered): void {
    const { id } = answer;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    clearTimeout(waiting?.timer);
    if ('value' in answer) waiting?.resolve(answer.value);
    else if ('unavailable' in answer) waiting?.reject(new StoreUnavailable(answer.unavailable));
    else waiting?.reject(answer.fault as Error);
    if (this.#waiting.size === 0)
      this.#idle = setTimeout(() => void this.close(), this.#limits.idleMs).unref();
  }

  /** Those who still wait get the error. The next one gets a new thread. */
  async #end(error: Error): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = null;
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#waiting.clear();
    await worker?.terminate();
  }
}

const late = (name: string) => new StoreUnavailable(`Reading "${name}" took too long and was given up.`);

function readsBy(ask: (name: keyof Reads, given: readonly unknown[]) => Promise<unknown>): Reads {
  const calls = readNames.map((name): [string, Call] => [name, async (...given) => ask(name, given)]);
  return Object.fromEntries(calls) as unknown as Reads;
}
