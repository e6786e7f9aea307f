import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { noTunnel } from './proxy.ts';
import type { Proxy } from './proxy.ts';

/** The result of a call of a tool's API. */
export type CallResult<Data, Failure> =
  | { readonly ok: true; readonly data: Data }
  | { readonly ok: false; readonly failure: Failure };

/** Why a call got no answer from the tool. Never has a client library's error, which may hold headers. */
export type CallFailure =
  /** The attempt's signal ended it. */
  | { readonly kind: 'stopped'; readonly sent: boolean }
  | { readonly kind: 'network'; readonly sent: boolean; readonly words: string }
  /** A success whose body is too long or not from the tool, such as a proxy's page. */
  | { readonly kind: 'foreign' };

/** An answer with a failing status. */
export interface HttpFailure {
  readonly kind: 'http';
  readonly status: number;
  readonly retryAfterMs: number | null;
}

/** What undici, by which Node fetches, publishes when a connection is open, before it writes a request. */
const opened = 'undici:client:connected';

/** A `fetch` for one call of a client library. It records what libraries hide: whether a request began, and its answer. */
export class WatchedFetch {
  readonly #maxAnswerBytes: number;
  readonly #signal: AbortSignal;
  readonly #proxy: Proxy | null;
  #tooLong = false;
  began = false;
  answered: Response | null = null;

  constructor(maxAnswerBytes: number, signal: AbortSignal, proxy: Proxy | null = null) {
    this.#maxAnswerBytes = maxAnswerBytes;
    this.#signal = signal;
    this.#proxy = proxy;
  }

  /** Uses Node's `fetch`, so that failures look alike in all connectors. */
  readonly fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    this.began = true;
    // Not followed: a redirect would turn a POST into a GET.
    const through = this.#proxy && { dispatcher: this.#proxy.dispatcher };
    const options = { ...init, ...through, redirect: 'manual', signal: this.#signal } as RequestInit;
    // The signal ends the call when it is asked. Nothing else does where the process stood still until the connection was open:
    // then the request would go before any timer.
    const ask = () => void this.#signal.aborted;
    subscribe(opened, ask);
    const answer = (this.answered = await fetch(url, options).finally(() => unsubscribe(opened, ask)));
    if (answer.body === null) return answer;
    // Client libraries read all of a body, and an endless one would fill the memory.
    let bytes = 0;
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        bytes += chunk.length;
        if (bytes <= this.#maxAnswerBytes) return controller.enqueue(chunk);
        this.#tooLong = true;
        controller.error(new Error('the answer is too long'));
      },
    });
    // `Response` rejects higher statuses, which some servers send.
    const status = Math.min(answer.status, 599);
    const { headers, statusText } = answer;
    return new Response(answer.body.pipeThrough(counted), { status, statusText, headers });
  };

  /** Why the call failed. `error` is what the library threw. Not for an answer with a failing status. */
  failureOf(error: unknown): CallFailure {
    if (this.#tooLong) return { kind: 'foreign' };
    if (this.#signal.aborted) return { kind: 'stopped', sent: true };
    return { kind: 'network', ...fetchFailure(error, this.#proxy?.host) };
  }
}

export function httpFailure({ status, headers }: Response): HttpFailure {
  return { kind: 'http', status, retryAfterMs: statedDelayMs(headers.get('retry-after')) };
}

/** A `fetch` that failed without an answer. */
export interface FetchFailure {
  /** False only if the tool certainly never saw the request. */
  readonly sent: boolean;
  /** What went wrong, with the system's code. Has no host, path or header, and so no secret. */
  readonly words: string;
}

/** Errors of connecting, before anything of the request was written. */
const connectErrors: { readonly [code: string]: string } = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name does not resolve',
  EAI_AGAIN: 'its name cannot be resolved just now',
  EHOSTUNREACH: 'its host is unreachable',
  ENETUNREACH: 'its network is unreachable',
  ETIMEDOUT: 'connecting took too long',
  UND_ERR_CONNECT_TIMEOUT: 'connecting took too long',
};

/** These can also end an open connection. The system call shows which it was. */
const alsoWhileOpen = new Set(['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Why there is no TLS, by the code; where none fits, people have only the code. */
const whyUntrusted: readonly (readonly [code: RegExp, words: string])[] = [
  [/^CERT_HAS_EXPIRED$/, ', as its certificate has expired'],
  [/^CERT_NOT_YET_VALID$/, ', as its certificate is not valid yet; is the clock right?'],
  [/ALTNAME_INVALID$/, ', as its certificate is for another name'],
  [
    /SELF_SIGNED|^UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)/,
    ', as its certificate is of no authority that is trusted here; give that in ca, or where there is no such key in NODE_EXTRA_CA_CERTS, and restart',
  ],
  [/_WRONG_VERSION/, ', as what answers there begins without TLS'],
  [/_(UNSUPPORTED_PROTOCOL|.*PROTOCOL_VERSION)$/, ', as it has neither TLS 1.2 nor 1.3'],
  [/NO_APPLICATION_PROTOCOL$/, ', as it speaks HTTP/2 only; an address of it that takes HTTP/1.1 is needed'],
];

/** Their system calls, which show it where the code is another one, such as a firewall's EACCES. */
const connecting = new Set<unknown>(['connect', 'getaddrinfo']);

/** TLS errors of the handshake. Others may come after a request was sent. */
const handshakeFailed =
  /CERT|SELF_SIGNED|UNABLE_TO_|^ERR_TLS_|^ERR_SSL_(WRONG_VERSION|UNSUPPORTED_PROTOCOL|.*(HANDSHAKE_FAILURE|PROTOCOL_VERSION|NO_APPLICATION_PROTOCOL))/;

/** The alerts about the certificate that we showed, or did not show (RFC 8446, 6.2). Nothing is read without one before that. */
const certificateRefused = /^ERR_SSL_.*_ALERT_(.*CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)/;

/** `proxy`: the host of the proxy that it went through. */
export function fetchFailure(error: unknown, proxy?: string | null): FetchFailure {
  const causes = causesOf(error);
  const refused = causes.map(({ message }) => proxyRefusal.exec(String(message))?.[1]).find(Boolean);
  if (refused) {
    const words = `the proxy ${proxy} refused it with status ${refused}${proxyAdvice[refused] ?? ''}`;
    return { sent: false, words };
  }
  const uncarried = causes.find(isUncarried);
  if (uncarried) {
    const code = codeOf(uncarried);
    const words = 'its token, login or a header has signs that HTTP cannot carry, perhaps invisible ones';
    return { sent: false, words: words + (code === null ? '' : ` (${code})`) };
  }
  const through = proxy ? `, through the proxy ${proxy}` : '';
  for (const cause of causes) {
    const code = codeOf(cause) ?? '';
    const isOpen = alsoWhileOpen.has(code) && cause.syscall !== 'connect';
    const words = certificateRefused.test(code)
      ? 'it wants a certificate, or another one: check cert and key'
      : handshakeFailed.test(code)
        ? `no trusted TLS connection${whyUntrusted.find(([each]) => each.test(code))?.[1] ?? ''}`
        : (connectErrors[code] ??
          (code !== '' && connecting.has(cause.syscall) ? 'connecting failed' : undefined));
    if (words !== undefined && !isOpen) return { sent: false, words: `${words} (${code})${through}` };
  }
  if (causes.some(({ code }) => code === noTunnel))
    return { sent: false, words: `the proxy ${proxy} opened no connection to it` };
  const code = causes.map(codeOf).find((found) => found !== null);
  const why = code === undefined ? '' : ` (${code})`;
  const what = causes.some(isUnreadable)
    ? 'what it answered could not be read as HTTP'
    : 'the connection broke off';
  return { sent: true, words: `${what}${why}${through}` };
}

/** What undici and `fetch` throw before they connect, for a header that cannot be written. */
const isUncarried = ({ name, code, message }: ErrorLike): boolean =>
  code === 'UND_ERR_INVALID_ARG' || (name === 'TypeError' && /ByteString/.test(String(message)));

/** Whether a call failed for what it would have sent: a header that HTTP cannot carry. */
export const cannotBeSent = (error: unknown): boolean => causesOf(error).some(isUncarried);

/** What undici throws for an answer that it cannot read. It takes no 100 (Continue) that nobody asked for, either. */
const isUnreadable = ({ name, code, message }: ErrorLike): boolean =>
  name === 'HTTPParserError' ||
  code === 'UND_ERR_HEADERS_OVERFLOW' ||
  code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' ||
  (code === 'UND_ERR_SOCKET' && message === 'bad response');

/** Squid by itself allows tunnels to port 443 only, and says 403. */
const proxyAdvice: { readonly [status: string]: string } = {
  403: '; it has to allow CONNECT to this host and port',
  405: '; it has to allow CONNECT to this host and port',
  407: '; check the login in its URL',
};

/** What undici says where a tunnel is not opened. */
const proxyRefusal = /^Proxy response \((\d{3})\)/;

interface ErrorLike {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly syscall?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

/** The error and its causes. A host with several addresses has several. */
function causesOf(error: unknown, depth = 0): ErrorLike[] {
  if (typeof error !== 'object' || error === null || depth > 5) return [];
  const fault: ErrorLike = error;
  const inner = Array.isArray(fault.errors) ? [...(fault.errors as unknown[]), fault.cause] : [fault.cause];
  return [fault, ...inner.flatMap((cause) => causesOf(cause, depth + 1))];
}

function codeOf({ code }: ErrorLike): string | null {
  return typeof code === 'string' && /^[A-Z][A-Z0-9_/]+$/.test(code) ? code : null;
}

/** A longer delay would only let the delivery be given up. */
const longestMs = 24 * 3_600_000;

/**
 * The delay of a Retry-After header (RFC 9110, 10.2.3), at most a day; null if it has none. A date is measured from `now`
 * (ms), and ignored without it. Some services write seconds with decimals (Shopify).
 */
export function statedDelayMs(header: string | null | undefined, now = Number.NaN): number | null {
  if (header === null || header === undefined) return null;
  // Date.parse accepts even `-5`.
  const date = /^\s*[a-z]/i.test(header) ? Date.parse(header) - now : Number.NaN;
  const delayMs = /^\s*\d+(\.\d+)?\s*$/.test(header) ? Math.ceil(Number(header) * 1000) : date;
  return Number.isNaN(delayMs) ? null : Math.min(Math.max(delayMs, 0), longestMs);
}
