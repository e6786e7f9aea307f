import { once } from 'node:events';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Answer, Call, Failure, Opening } from './sqlite/thread.ts';
import { StoreUnavailable, type Acceptance, type Arrival, type OpenOptions, type Store } from './store.ts';

/** Enough to write an event as JSON that is nested as deeply as some hundred kilobytes can be. Unused, it costs nothing. */
const threadStackMb = 64;

/**
 * Opens a SQLite store in a thread of its own, so that this one answers requests while the disk syncs: half of the
 * time that accepting an event takes. Throws StoreUnavailable. If the thread ends by itself, the process ends, too, as
 * it would of an uncaught error anywhere: only a start rescues the deliveries that were claimed.
 */
export async function openInThread(path: string, options: OpenOptions): Promise<Store> {
  const worker = new Worker(new URL('./sqlite/thread.ts', import.meta.url), {
    workerData: { path, options } satisfies Opening,
    env: environment(),
    resourceLimits: { stackSizeMb: threadStackMb },
  });
  try {
    await once(worker, 'message');
  } catch (error) {
    throw revived(error as Error);
  }
  return threadedStore(new StoreThread(worker));
}

/** A thread learns of the compile cache, without which it loads a compiler of types, from its environment alone. */
function environment(): NodeJS.ProcessEnv {
  const cache = getCompileCacheDir();
  return cache === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(cache) };
}

function threadedStore(thread: StoreThread): Store {
  const forward = <Method extends keyof Store>(method: Method) =>
    ((...args: readonly unknown[]) => thread.call(method, args)) as Store[Method];
  return {
    accept: (arrival) => thread.call('accept', [packed(arrival)]) as Promise<Acceptance>,
    raise: forward('raise'),
    keepRejected: forward('keepRejected'),
    lanes: forward('lanes'),
    claim: forward('claim'),
    record: forward('record'),
    rescue: forward('rescue'),
    release: forward('release'),
    threadOf: forward('threadOf'),
    replay: forward('replay'),
    discard: forward('discard'),
    events: forward('events'),
    event: forward('event'),
    notices: forward('notices'),
    notice: forward('notice'),
    delivery: forward('delivery'),
    deliveries: forward('deliveries'),
    rejectedRequests: forward('rejectedRequests'),
    counts: forward('counts'),
    deadSince: forward('deadSince'),
    lastEventAt: forward('lastEventAt'),
    saveConfig: forward('saveConfig'),
    config: forward('config'),
    prune: forward('prune'),
    probe: forward('probe'),
    close: () => thread.close(),
  };
}

/**
 * With the payload as text: nested deeply enough, it would overflow this thread's stack when it is written as a part of
 * something, though not by itself.
 */
function packed(arrival: Arrival): Arrival {
  return { ...arrival, event: { ...arrival.event, raw: { json: JSON.stringify(arrival.event.raw) } } };
}

/** Calls that wait; more are refused, so that a disk that hangs cannot eat the memory. */
const maxWaiting = 5000;

class StoreThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #calls: string[] = [];
  #lastId = 0;
  #closing: Promise<void> | null = null;
  #ended: StoreUnavailable | null = null;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.unref();
    worker.on('message', (answers: string) => {
      for (const answer of JSON.parse(answers) as Answer[]) this.#settle(answer);
    });
    let cause: unknown;
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('exit', () => this.#exited(cause));
  }

  /** Each call is written by itself: one that cannot be, fails alone. */
  async call(method: keyof Store, args: readonly unknown[]): Promise<unknown> {
    if (this.#ended) throw this.#ended;
    if (this.#waiting.size >= maxWaiting) {
      throw new StoreUnavailable(`${this.#waiting.size} calls wait for the disk already.`);
    }
    const id = (this.#lastId += 1);
    const call = JSON.stringify({ id, method, args } satisfies Call);
    // At the end of this turn of the event loop: a message costs more than a call.
    if (this.#calls.push(call) === 1) setImmediate(() => this.#post());
    // The process lives on for an answer, as for any I/O, and not for the thread alone.
    if (this.#waiting.size === 0) this.#worker.ref();
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    return answer.promise;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#ended) return;
    const closed = this.call('close', []);
    this.#ended = new StoreUnavailable('The store is closed.');
    await closed;
    await this.#worker.terminate();
  }

  #post(): void {
    const calls = `[${this.#calls.join()}]`;
    this.#calls = [];
    this.#worker.postMessage(calls, []);
  }

  #settle({ id, value, failure }: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if (failure) waiting?.reject(revived(failure));
    else waiting?.resolve(value);
  }

  #exited(cause: unknown): void {
    const ended = new StoreUnavailable('The thread that has the store ended.', { cause });
    for (const waiting of this.#waiting.values()) waiting.reject(ended);
    this.#waiting.clear();
    if (this.#ended) return;
    this.#ended = ended;
    // Once those who waited have been told.
    setImmediate(() => {
      throw ended;
    });
  }
}

function revived({ name, message, stack }: Failure): Error {
  return name === 'StoreUnavailable'
    ? new StoreUnavailable(message)
    : Object.assign(new Error(message), { name, stack });
}
