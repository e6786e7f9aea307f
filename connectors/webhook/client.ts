import { getCACertificates } from 'node:tls';
import { Client, Pool, ProxyAgent } from 'undici';
import type { buildConnector, Dispatcher } from 'undici';
import { proxyAgent, proxyFor } from '../../src/connector.ts';
import type { Endpoint, HttpOptions } from './http-options.ts';
import { isPrivateLiteral, lookupPublic, PrivateAddressError } from './public-addresses.ts';

/** Names in lower case and values, in turns, as undici takes them. */
export type Headers = string[];

/** Sets a header. Replaces the value that the list has for this name, if any. */
export function setHeader(headers: Headers, name: string, value: string): void {
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at] === name) {
      headers[at + 1] = value;
      return;
    }
  }
  headers.push(name, value);
}

/** Headers by name in lower case. */
export type NamedHeaders = { readonly [name: string]: string };

/** All headers together. The last value of a name wins. */
export function headersOf(...all: readonly NamedHeaders[]): Headers {
  const headers: Headers = [];
  for (const [name, value] of all.flatMap(Object.entries)) setHeader(headers, name, value);
  return headers;
}

/** The connections to one origin, which stay open between calls; through a proxy or not. Opens none yet. */
export class Route {
  readonly origin: string;
  /** The proxy's host; null where calls go straight. */
  readonly proxy: string | null;
  readonly dispatcher: Dispatcher;
  /** The host is an address, and one that may not be called. */
  readonly isBlocked: boolean;

  constructor(origin: string, options: HttpOptions) {
    const proxy = proxyFor(origin, options.proxy);
    this.origin = origin;
    this.proxy = proxy && new URL(proxy).host;
    this.isBlocked = proxy === null && !options.allowPrivate && isPrivateLiteral(new URL(origin).hostname);
    const { ca, cert, key } = options;
    const tls = {
      timeout: connectTimeoutMs,
      ...(ca !== undefined && { ca: [...getCACertificates('default'), ca] }),
      ...(cert !== undefined && { cert, key: key?.reveal() }),
    };
    const lookup = options.allowPrivate ? {} : { lookup: lookupPublic };
    // Which addresses may be called is the proxy's to decide: it resolves the names.
    this.dispatcher =
      proxy === null
        ? new Pool(origin, { ...poolOptions, connect: { ...tls, ...lookup }, factory: keepsAlerts(Client) })
        : proxyAgent({ Pool, ProxyAgent }, proxy, {
            ...poolOptions,
            requestTls: tls,
            factory: keepsAlerts(Pool),
          });
  }
}

/**
 * Makes dispatchers that fail with the alert by which the other side ended TLS. undici puts an error of its own in its place,
 * and with TLS 1.3 a certificate is refused once the client takes the connection for open, and has begun to write.
 */
const keepsAlerts =
  (Kind: typeof Client | typeof Pool) =>
  (origin: string | URL, options: object): Dispatcher => {
    const { connect } = options as { connect: buildConnector.connector };
    const connectKeeping: buildConnector.connector = (to, done) =>
      connect(to, (...result) => {
        const [, socket] = result;
        socket?.once('error', (alert) => socket.destroy(alert));
        done(...result);
      });
    return new Kind(origin, { ...options, connect: connectKeeping });
  };

const poolOptions = {
  // The sink's `concurrency` decides: the pool opens no more than are in use at once.
  connections: 100,
  pipelining: 1,
  // HTTP/2 would by itself send again what a server refused for now.
  allowH2: false,
  // The sink's `timeout` decides how long to wait for an answer. The body matters little once the status is known.
  headersTimeout: 0,
  bodyTimeout: 5000,
  // With Node's limit of 16 kB, an answer with many cookies or a long policy is none, and what was taken is sent again.
  maxHeaderSize: 128 * 1024,
};
const connectTimeoutMs = 10_000;

/** The request's target for an action's `path`, which starts with a slash, or with a question mark, or is empty. */
export function targetOf({ path: base, query }: Endpoint, path: string): string {
  const [segments = '', ...more] = path.split('?');
  const target = segments === '' ? base : base.replace(/\/$/, '') + segments;
  if (more.length === 0) return target + query;
  return `${target}${query === '' ? '?' : `${query}&`}${more.join('?')}`;
}

/** The result of a request. `sent`: writing had begun, so the receiver may have the request. */
export type Exchange = { readonly answer: Answer } | { readonly error: Error; readonly sent: boolean };

export interface Answer {
  readonly status: number;
  readonly headers: { readonly [name: string]: string | string[] | undefined };
  /** The body, as far as it came. */
  readonly text: string;
  /** All of the body came. */
  readonly isWhole: boolean;
  /** The body has more bytes than are read. */
  readonly isTooLong: boolean;
}

const usualAnswerBytes = 1024 * 1024;

/** The header that asks for no compression. */
export const uncompressed = { 'accept-encoding': 'identity' };

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: Buffer | string;
  /** In ms. Default: that of `poolOptions`. */
  readonly bodyTimeout?: number | undefined;
  /** So much of an answer's body is read. */
  readonly maxAnswerBytes?: number;
}

/** Makes one request. Uses undici's lowest level, as only that tells whether a request was begun. Never rejects. */
export function exchange(
  { dispatcher, origin, isBlocked }: Route,
  { method, path, body, bodyTimeout, maxAnswerBytes = usualAnswerBytes }: Request,
  headers: Headers,
  signal: AbortSignal,
): Promise<Exchange> {
  if (isBlocked) return Promise.resolve({ error: new PrivateAddressError('no public address'), sent: false });
  return new Promise((resolve) => {
    const handler = new Handler(resolve, maxAnswerBytes, signal);
    if (signal.aborted) handler.handleEvent();
    else
      dispatcher.dispatch(
        { origin, method, path, headers, body, bodyTimeout } as Dispatcher.DispatchOptions,
        handler,
      );
  });
}

// Unlike a buffer's, a decoder's text is without a byte order mark.
const utf8 = new TextDecoder();

/** An answer's text. JSON is in UTF-8, whatever charset it names; what is not, is in that one. */
function decoded(body: Buffer, contentType: string): string {
  const text = utf8.decode(body);
  const charset = text.includes('\uFFFD') && /;\s*charset="?([^\s;"]+)/i.exec(contentType)?.[1];
  if (!charset) return text;
  try {
    return new TextDecoder(charset).decode(body);
  } catch {
    return text;
  }
}

/** The listener of the signal, the handler of undici and the answer, all in one object for each request: there are many. */
class Handler implements Dispatcher.DispatchHandler, EventListenerObject, Answer {
  readonly #resolve: (result: Exchange) => void;
  readonly #maxBytes: number;
  readonly #signal: AbortSignal;
  #controller: Dispatcher.DispatchController | null = null;
  status = 0;
  headers: Answer['headers'] = {};
  isWhole = false;
  readonly #body: Buffer[] = [];
  #bodyBytes = 0;

  constructor(resolve: (result: Exchange) => void, maxBytes: number, signal: AbortSignal) {
    this.#resolve = resolve;
    this.#maxBytes = maxBytes;
    this.#signal = signal;
    signal.addEventListener('abort', this);
  }

  /** The signal aborts. */
  handleEvent(): void {
    const error = new Error('aborted');
    const controller = this.#controller;
    // After an answer that may be there, to be read: this process may have stood still since it asked.
    if (controller) setImmediate(() => controller.abort(error));
    // Still waiting for a connection or for its turn: nothing was written, and nothing will be.
    else this.#settle({ error, sent: false });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#signal.aborted) controller.abort(new Error('aborted'));
    else this.#controller = controller;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Answer['headers']): void {
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bodyBytes += chunk.length;
    if (this.isTooLong) controller.abort(new Error('the answer is too long'));
    else this.#body.push(chunk);
  }

  get isTooLong(): boolean {
    return this.#bodyBytes > this.#maxBytes;
  }

  /** Decoded on demand: of most answers the status is enough. */
  get text(): string {
    return decoded(Buffer.concat(this.#body), [this.headers['content-type'] ?? ''].flat()[0] ?? '');
  }

  onResponseEnd(): void {
    this.#finish(null);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#finish(error);
  }

  /**
   * An answer whose body breaks off still counts: its status is known. The body is read so that the connection can be
   * used again.
   */
  #finish(error: Error | null): void {
    this.isWhole = error === null;
    if (this.status > 0) this.#settle({ answer: this });
    else this.#settle({ error: error ?? new Error('no answer'), sent: this.#controller !== null });
  }

  #settle(result: Exchange): void {
    this.#signal.removeEventListener('abort', this);
    this.#resolve(result);
  }
}
