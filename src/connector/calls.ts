/** What a call of a tool's API gave, or why it gave nothing. */
export type CallResult<Data, Failure> =
  | { readonly ok: true; readonly data: Data }
  | { readonly ok: false; readonly failure: Failure };

/** Why a call got no answer of the tool's own. Has nothing of a client library's errors, which carry headers. */
export type CallFailure =
  /** The attempt's signal ended it. */
  | { readonly kind: 'stopped'; readonly sent: boolean }
  | { readonly kind: 'network'; readonly sent: boolean; readonly words: string }
  /** A success whose body is not the tool's, such as a proxy's page, or is too long. */
  | { readonly kind: 'foreign' };

/** An answer whose status is a failure. */
export interface HttpFailure {
  readonly kind: 'http';
  readonly status: number;
  readonly retryAfterMs: number | null;
}

/**
 * A `fetch` for one call of a client library. It records whether a request was begun and how it was answered, which
 * libraries hide.
 */
export class WatchedFetch {
  readonly #maxAnswerBytes: number;
  readonly #signal: AbortSignal;
  #tooLong = false;
  began = false;
  answered: Response | null = null;

  constructor(maxAnswerBytes: number, signal: AbortSignal) {
    this.#maxAnswerBytes = maxAnswerBytes;
    this.#signal = signal;
  }

  /** Node's own `fetch`, so that failures look alike in all connectors. */
  readonly fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    this.began = true;
    // A redirect would turn a POST into a GET, so it counts as the answer.
    this.answered = await fetch(url, { ...init, redirect: 'manual', signal: this.#signal });
    return boundedAnswer(this.answered, this.#maxAnswerBytes, () => (this.#tooLong = true));
  };

  /** Why the call failed. `error`: what the library threw. Not for an answer whose status is a failure. */
  failureOf(error: unknown): CallFailure {
    if (this.#tooLong) return { kind: 'foreign' };
    if (this.#signal.aborted) return { kind: 'stopped', sent: true };
    return { kind: 'network', ...fetchFailure(error) };
  }
}

export function httpFailure({ status, headers }: Response): HttpFailure {
  return { kind: 'http', status, retryAfterMs: statedDelayMs(headers.get('retry-after')) };
}

/**
 * The answer, with a body that fails after so many (decoded) bytes: client libraries read it whole, and an endless one
 * would fill the memory. `onTooLong` is called then, whatever the library does with the error.
 */
function boundedAnswer(answer: Response, maxBodyBytes: number, onTooLong: () => void): Response {
  if (answer.body === null) return answer;
  let bytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes <= maxBodyBytes) return controller.enqueue(chunk);
      onTooLong();
      controller.error(new Error('the answer is too long'));
    },
  });
  // Some servers answer with a status that `Response` does not take.
  const status = Math.min(answer.status, 599);
  const { headers, statusText } = answer;
  return new Response(answer.body.pipeThrough(counted), { status, statusText, headers });
}

/** What is known of a `fetch` that failed without an answer. */
export interface FetchFailure {
  /** False only where it is certain that the tool never saw the request. */
  readonly sent: boolean;
  /** In plain words, with the system's code. Names no host, path or header, so no secret either. */
  readonly words: string;
}

/** Faults of opening a connection: at that point nothing of the request was written. */
const connectErrors: { readonly [code: string]: string } = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name does not resolve',
  EAI_AGAIN: 'its name cannot be resolved just now',
  EHOSTUNREACH: 'there is no way to its host',
  ENETUNREACH: 'there is no way to its network',
  ETIMEDOUT: 'connecting took too long',
  UND_ERR_CONNECT_TIMEOUT: 'connecting took too long',
};

/** These can also end open connections. Only the system call tells which it was. */
const alsoWhileOpen = new Set(['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);

/** TLS errors of the handshake. Other TLS errors may come after a request was sent. */
const handshakeFailed =
  /CERT|SELF_SIGNED|UNABLE_TO_|^ERR_TLS_|^ERR_SSL_(WRONG_VERSION|UNSUPPORTED_PROTOCOL|.*(HANDSHAKE_FAILURE|PROTOCOL_VERSION))/;

/** Whether the request of a rejected `fetch` may have reached the tool, and why it failed. */
export function fetchFailure(error: unknown): FetchFailure {
  const causes = causesOf(error);
  const known = causes.map(connectFailure).find((words) => words !== null);
  if (known !== undefined) return { sent: false, words: known };
  const code = causes.map(codeOf).find((found) => found !== null);
  return { sent: true, words: `the connection broke off${code === undefined ? '' : ` (${code})`}` };
}

function connectFailure(cause: Fault): string | null {
  const code = codeOf(cause);
  if (code === null) return null;
  if (handshakeFailed.test(code)) return `no trusted TLS connection (${code})`;
  if (alsoWhileOpen.has(code) && cause.syscall !== 'connect') return null;
  const words = connectErrors[code];
  return words === undefined ? null : `${words} (${code})`;
}

interface Fault {
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

/** The error and its causes; several where a host has several addresses. */
function causesOf(error: unknown, depth = 0): Fault[] {
  if (typeof error !== 'object' || error === null || depth > 5) return [];
  const fault: Fault = error;
  const inner = Array.isArray(fault.errors) ? [...(fault.errors as unknown[]), fault.cause] : [fault.cause];
  return [fault, ...inner.flatMap((cause) => causesOf(cause, depth + 1))];
}

function codeOf({ code }: Fault): string | null {
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(code) ? code : null;
}

/** A longer delay would only let the delivery be given up. */
const longestMs = 24 * 3_600_000;

/**
 * The delay of a Retry-After header (RFC 9110, 10.2.3), at most a day; null where it has none. `now` (ms) is what a date in
 * it is measured from; without it only seconds are understood.
 */
export function statedDelayMs(header: string | null | undefined, now?: number): number | null {
  if (header === null || header === undefined) return null;
  const delayMs = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : untilDate(header, now);
  return Number.isNaN(delayMs) ? null : Math.min(Math.max(delayMs, 0), longestMs);
}

function untilDate(header: string, now = Number.NaN): number {
  // Date.parse takes even `-5` for a date.
  return /^\s*[a-z]/i.test(header) ? Date.parse(header) - now : Number.NaN;
}
