import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { openSqlite } from '../sqlite.ts';
import type { Event } from '../../model.ts';
import type { Arrival, OpenOptions, Store } from '../store.ts';

/** What src/store/threaded.ts starts this file with, as a thread's workerData. */
export interface Opening {
  readonly path: string;
  readonly options: OpenOptions;
}

export interface Call {
  readonly id: number;
  readonly method: keyof Store;
  readonly args: readonly unknown[];
}

/** `failure` where the call threw; no `value` where it returned nothing. */
export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly failure?: Failure;
}

export type Failure = Readonly<Pick<Error, 'name' | 'message' | 'stack'>>;

/** Posts `[]` once the store is open, then for each message with a JSON list of calls one or more lists of answers. */
async function answerCalls(port: MessagePort, { path, options }: Opening): Promise<void> {
  const opened = await openSqlite(path, options);
  const store: Store = { ...opened, accept: (arrival) => opened.accept(unpacked(arrival)) };
  let answers: string[] = [];
  const post = () => {
    port.postMessage(`[${answers.join()}]`);
    answers = [];
  };
  const answer = async (call: Call) => {
    const text = await carryOut(store, call);
    // A microtask gathers what one commit answers. An immediate would come only after the next commit.
    if (answers.push(text) === 1) queueMicrotask(post);
  };
  port.on('message', (calls: string) => {
    for (const call of JSON.parse(calls) as Call[]) void answer(call);
  });
  post();
}

/** See `packed` in src/store/threaded.ts. */
function unpacked(arrival: Arrival): Arrival {
  const raw = JSON.parse(arrival.event.raw['json'] as string) as Event['raw'];
  return { ...arrival, event: { ...arrival.event, raw } };
}

async function carryOut(store: Store, { id, method, args }: Call): Promise<string> {
  try {
    const run = store[method] as (...args: readonly unknown[]) => Promise<unknown>;
    return JSON.stringify({ id, value: await run(...args) } satisfies Answer);
  } catch (error) {
    const { name, message, stack = '' } = error instanceof Error ? error : new Error(String(error));
    return JSON.stringify({ id, failure: { name, message, stack } } satisfies Answer);
  }
}

// None where the file is only compiled ahead. What opening throws ends the thread and reaches who started it.
if (parentPort) await answerCalls(parentPort, workerData as Opening);
