import type { Dispatcher, Pool } from 'undici';

/** What came of a request: an answer, or an error. `sent`: writing it had begun, so the receiver may have it. */
export type Exchange = { readonly answer: Answer } | { readonly error: Error; readonly sent: boolean };

export interface Answer {
  readonly status: number;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  /** As much of the body as came. */
  readonly text: string;
}

const maxBodyBytes = 64 * 1024;

/** Makes one request. Uses undici's lowest level, as only that tells whether a request was begun. Never rejects. */
export function exchange(
  pool: Pool,
  request: Dispatcher.DispatchOptions,
  signal: AbortSignal,
): Promise<Exchange> {
  const { promise, resolve } = Promise.withResolvers<Exchange>();
  const handler = new Handler((result) => {
    signal.removeEventListener('abort', abort);
    resolve(result);
  });
  const abort = () => handler.abort();
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  else pool.dispatch(request, handler);
  return promise;
}

class Handler implements Dispatcher.DispatchHandler {
  readonly #settle: (result: Exchange) => void;
  #controller: Dispatcher.DispatchController | null = null;
  #aborted = false;
  #head: Omit<Answer, 'text'> | null = null;
  #body: Buffer[] = [];
  #bodyBytes = 0;

  constructor(settle: (result: Exchange) => void) {
    this.#settle = settle;
  }

  abort(): void {
    this.#aborted = true;
    const error = new Error('aborted');
    if (this.#controller) this.#controller.abort(error);
    // It waits for a connection, or for its turn: nothing was written, and nothing will be.
    else this.#settle({ error, sent: false });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#aborted) controller.abort(new Error('aborted'));
    else this.#controller = controller;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Answer['headers']): void {
    if (status >= 200) this.#head = { status, headers };
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes > maxBodyBytes) controller.abort(new Error('the answer is too long'));
    else this.#body.push(chunk);
  }

  onResponseEnd(): void {
    this.#finish(new Error('no answer'));
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#finish(error);
  }

  /** An answer whose body goes wrong is an answer: its status is known. The body is read so that the connection can be used again. */
  #finish(error: Error): void {
    const head = this.#head;
    if (head === null) this.#settle({ error, sent: this.#controller !== null });
    else this.#settle({ answer: { ...head, text: Buffer.concat(this.#body).toString() } });
  }
}
