import type { MethodOptions, sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import { httpFailure, masker, oneLine, WatchedFetch } from '../../src/connector.ts';
import type { CallFailure, CallResult, HttpFailure, Proxy } from '../../src/connector.ts';
import { isOfTheMachine } from './account.ts';
import type { Account, Library } from './account.ts';
import { Refusal, Unusable } from './tokens.ts';
import type { Token } from './tokens.ts';

/** Why a call of the Sheets API gave no result. */
export type Failure =
  | CallFailure
  | (HttpFailure & { readonly error: ApiError })
  /** The header of this tab is not where it should be, so that nothing is written. */
  | { readonly kind: 'header'; readonly tab: string; readonly words: string }
  /** No access token, so that nothing of the call has left. */
  | {
      readonly kind: 'token';
      readonly status: number;
      /** What answered. */
      readonly host: string;
      /** OAuth's code, such as invalid_grant, with its description; empty where something else answered. */
      readonly words: string;
      readonly retryAfterMs: number | null;
    }
  /** No access token can be asked for with these credentials. */
  | { readonly kind: 'unusable'; readonly words: string };

/** The parts of Google's error body that tell causes apart. */
export interface ApiError {
  /** As in google.rpc.Code: PERMISSION_DENIED, say. Empty where something else answered. */
  readonly status: string;
  readonly message: string;
  /** From the ErrorInfo in the details: RATE_LIMIT_EXCEEDED, SERVICE_DISABLED. */
  readonly reason: string;
}

export type Answer<Data> = CallResult<Data, Failure>;

/** About a million cells. */
const maxAnswerBytes = 50 * 1024 * 1024;

type Api = sheets_v4.Resource$Spreadsheets;

/** What Google counts apart, and limits to 60 in a minute for each account. */
export type Counted = 'read' | 'write';

/** One call, never repeated: `run` gets the api and the options to hand on to it. */
export type Call = <Data>(
  kind: Counted,
  run: (api: Api, options: MethodOptions) => Promise<{ readonly data: Data }>,
  signal: AbortSignal,
) => Promise<Answer<Data>>;

/** Calls through Google's client. A token is fetched before and apart, so that its failure is known to have sent nothing. `closed` ends such a fetch when no attempt waits for it any more. `counts` gets each call that was begun. */
export function sheetsApi(
  library: Library,
  account: Account,
  { apiUrl, proxy }: { readonly apiUrl: string; readonly proxy: Proxy | null },
  closed: AbortSignal,
  counts: { [kind in Counted]: number },
): Call {
  const api = library.sheets({ version: 'v4', rootUrl: apiUrl }).spreadsheets;
  const tokens = new Tokens(library, account, proxy, closed);
  return async (kind, run, signal) => {
    if (signal.aborted) return failed({ kind: 'stopped', sent: false });
    const token = await tokens.get(signal);
    if (typeof token !== 'string') return failed(token);
    const watched = new WatchedFetch(maxAnswerBytes, signal, proxy);
    counts[kind] += 1;
    try {
      const { data } = await run(api, callOptions(token, watched));
      return typeof data === 'object' ? { ok: true, data } : failed({ kind: 'foreign' });
    } catch (error) {
      if (watched.answered?.status === 401) tokens.forget();
      if (!watched.began) throw error;
      return failed(failureOf(error, watched, masker([token])));
    }
  };
}

const failed = (failure: Failure) => ({ ok: false, failure }) as const;

function callOptions(token: string, watched: WatchedFetch): MethodOptions {
  return {
    headers: { authorization: `Bearer ${token}` },
    retry: false,
    fetchImplementation: watched.fetch,
  };
}

function failureOf(error: unknown, watched: WatchedFetch, mask: (text: string) => string): Failure {
  const { answered } = watched;
  if (answered === null || answered.ok) return watched.failureOf(error);
  const { message, ...rest } = apiError(error);
  return { ...httpFailure(answered), error: { ...rest, message: mask(message) } };
}

interface ErrorBody {
  readonly status?: unknown;
  readonly message?: unknown;
  readonly details?: readonly { readonly reason?: unknown }[];
}

function apiError(error: unknown): ApiError {
  const { response } = error as { response?: { data?: { error?: ErrorBody } } };
  const body = response?.data?.error;
  const reasons = Array.isArray(body?.details) ? body.details.map(({ reason }) => reason) : [];
  return {
    status: textOf(body?.status),
    message: textOf(body?.message),
    reason: textOf(reasons.find((reason) => typeof reason === 'string')),
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Attempts share a token, so one attempt's end must not end its fetch; this does. */
const fetchTimeoutMs = 10_000;
const maxTokenBytes = 64 * 1024;

/** Access tokens of an account, kept until shortly before they expire. */
class Tokens {
  readonly #library: Library;
  readonly #account: Account;
  readonly #proxy: Proxy | null;
  readonly #closed: AbortSignal;
  #kept: Token | null = null;
  #coming: Promise<string | Failure> | null = null;
  #asked: Asked | null = null;

  constructor(library: Library, account: Account, proxy: Proxy | null, closed: AbortSignal) {
    this.#library = library;
    this.#account = account;
    this.#proxy = proxy;
    this.#closed = closed;
  }

  /** A token, or why there is none; nothing of the call that needs it has left then. */
  async get(signal: AbortSignal): Promise<string | Failure> {
    const stopped = Promise.withResolvers<Failure>();
    const stop = () =>
      stopped.resolve(this.#asked ? unanswered(this.#asked) : { kind: 'stopped', sent: false });
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await Promise.race([this.#token(), stopped.promise]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** For a token that the API refused before its time. */
  forget(): void {
    this.#kept = null;
  }

  async #token(): Promise<string | Failure> {
    if (this.#kept && performance.now() < this.#kept.untilMs) return this.#kept.token;
    this.#coming ??= this.#ask().finally(() => (this.#coming = null));
    return this.#coming;
  }

  async #ask(): Promise<string | Failure> {
    try {
      this.#kept = await this.#account.ask(this.#library, this.#fetch);
      return this.#kept.token;
    } catch (error) {
      return tokenFailure(error, this.#asked);
    }
  }

  readonly #fetch = (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { href, host } = new URL(url instanceof Request ? url.url : url);
    const ended = AbortSignal.any([AbortSignal.timeout(fetchTimeoutMs), this.#closed]);
    const proxy = isOfTheMachine(href) ? null : this.#proxy;
    const watched = new WatchedFetch(maxTokenBytes, ended, proxy);
    this.#asked = { host, watched, mask: masker(secretsSent(init)) };
    return watched.fetch(url, init);
  };
}

/** The last call on the way to a token. */
interface Asked {
  readonly host: string;
  readonly watched: WatchedFetch;
  /** An answer may quote what it was sent. */
  readonly mask: (text: string) => string;
}

function tokenFailure(error: unknown, asked: Asked | null): Failure {
  if (error instanceof Unusable) return { kind: 'unusable', words: error.message };
  if (asked === null) throw error;
  const { host, watched, mask } = asked;
  const refusal = error instanceof Refusal ? error : (error as { response?: { data?: unknown } }).response;
  if (refusal && watched.answered)
    return { ...httpFailure(watched.answered), kind: 'token', host, words: mask(oauthWords(refusal.data)) };
  const failure = watched.failureOf(error);
  if (failure.kind === 'foreign') return { kind: 'token', status: 200, host, words: '', retryAfterMs: null };
  if (failure.kind === 'stopped') return unanswered(asked);
  return { kind: 'network', sent: false, words: `${host} was asked for a token, and ${failure.words}` };
}

const unanswered = ({ host }: Asked): Failure => ({
  kind: 'token',
  status: 408,
  host,
  words: `${host} had not answered when the time was up`,
  retryAfterMs: null,
});

const secretFields = ['assertion', 'subject_token', 'refresh_token', 'client_secret'];

function secretsSent({ body, headers }: RequestInit): string[] {
  const form = new URLSearchParams(
    typeof body === 'string' ? body : body instanceof URLSearchParams ? body : '',
  );
  const [, login = ''] = new Headers(headers).get('authorization')?.split(' ') ?? [];
  return [...secretFields.flatMap((field) => form.getAll(field)), login];
}

/** What an answer says of its error: OAuth's code with its description, or that of Google's other services. */
function oauthWords(data: unknown): string {
  const { error, error_description: description } = Object(data) as { [key: string]: unknown };
  const { status, message } = Object(error) as { status?: unknown; message?: unknown };
  const parts = [error, description, status, message].filter((part) => typeof part === 'string');
  return oneLine(parts.join(': ')).slice(0, 300);
}
