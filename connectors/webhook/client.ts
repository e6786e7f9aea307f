import { Pool } from 'undici';
import type { Dispatcher } from 'undici';
import type { Secret } from '../../src/connector.ts';
import { lookupPublic } from './public-addresses.ts';

/** The parts of the sink's url. */
export interface Endpoint {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Without the brackets of an IPv6 address. */
  readonly hostname: string;
  /** Without a slash at its end. */
  readonly path: string;
  /** With its question mark; empty if there is none. */
  readonly query: string;
  readonly login: { readonly user: string; readonly password: Secret } | null;
}

export interface WebhookOptions {
  readonly url: Endpoint;
  readonly secret?: Secret | readonly Secret[] | undefined;
  readonly headers?: { readonly [name: string]: Secret } | undefined;
  readonly allowPrivate: boolean;
}

export type Headers = { readonly [name: string]: string };

/** Connections that stay open between calls. Opens none yet. */
export function openPool({ url, allowPrivate }: WebhookOptions): Pool {
  return new Pool(url.origin, {
    // The sink's `concurrency` decides: the pool opens no more than are in use at once.
    connections: 100,
    pipelining: 1,
    // HTTP/2 would by itself send again what a server refused for now.
    allowH2: false,
    connect: { timeout: 10_000, ...(!allowPrivate && { lookup: lookupPublic }) },
    // The sink's `timeout` decides how long to wait for an answer. The body matters little once the status is known.
    headersTimeout: 0,
    bodyTimeout: 5000,
  });
}

/** The request's target for an action's `path`, which starts with a slash, or with a question mark, or is empty. */
export function targetOf({ path: base, query }: Endpoint, path: string): string {
  const mark = path.indexOf('?');
  if (mark === -1) return (base + path || '/') + query;
  const target = base + path.slice(0, mark) || '/';
  return `${target}${query === '' ? '?' : `${query}&`}${path.slice(mark + 1)}`;
}

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
    // Still waiting for a connection or for its turn: nothing was written, and nothing will be.
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

  /**
   * An answer whose body breaks off still counts: its status is known. The body is read so that the connection can be
   * used again.
   */
  #finish(error: Error): void {
    const head = this.#head;
    if (head === null) this.#settle({ error, sent: this.#controller !== null });
    else this.#settle({ answer: { ...head, text: Buffer.concat(this.#body).toString() } });
  }
}
