import type { MethodOptions, sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import { fetchFailure, httpFailure, WatchedFetch } from '../../src/connector.ts';
import type { CallFailure, CallResult, HttpFailure, Proxy } from '../../src/connector.ts';
import { Unusable } from './account.ts';
import type { Account, Library, Signer } from './account.ts';

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
      /** OAuth's code, such as invalid_grant, with its description; empty where something else answered. */
      readonly words: string;
      readonly retryAfterMs: number | null;
    };

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

/** One call, never repeated: `run` gets the api and the options to hand on to it. */
export type Call = <Data>(
  run: (api: Api, options: MethodOptions) => Promise<{ readonly data: Data }>,
  signal: AbortSignal,
) => Promise<Answer<Data>>;

/** Calls through Google's client. A token is fetched before and apart, so that its failure is known to have sent nothing. `closed` ends such a fetch when no attempt waits for it any more. */
export function sheetsApi(
  library: Library,
  account: Account,
  { apiUrl, proxy }: { readonly apiUrl: string; readonly proxy: Proxy | null },
  closed: AbortSignal,
): Call {
  const api = library.sheets({ version: 'v4', rootUrl: apiUrl }).spreadsheets;
  const tokens = new Tokens(library, account, proxy, closed);
  return async (run, signal) => {
    if (signal.aborted) return failed({ kind: 'stopped', sent: false });
    const token = await tokens.get(signal);
    if (typeof token !== 'string') return failed(token);
    const watched = new WatchedFetch(maxAnswerBytes, signal, proxy);
    try {
      const { data } = await run(api, callOptions(token, watched));
      return typeof data === 'object' ? { ok: true, data } : failed({ kind: 'foreign' });
    } catch (error) {
      if (watched.answered?.status === 401) tokens.forget();
      if (!watched.began) throw error;
      return failed(failureOf(error, watched));
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

function failureOf(error: unknown, watched: WatchedFetch): Failure {
  const { answered } = watched;
  return answered === null || answered.ok
    ? watched.failureOf(error)
    : { ...httpFailure(answered), error: apiError(error) };
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
  #signer: Signer | null = null;
  #watched: WatchedFetch | null = null;

  constructor(library: Library, account: Account, proxy: Proxy | null, closed: AbortSignal) {
    this.#library = library;
    this.#account = account;
    this.#proxy = proxy;
    this.#closed = closed;
  }

  /** A token, or why there is none; nothing of the call that needs it has left then. */
  async get(signal: AbortSignal): Promise<string | Failure> {
    const stopped = Promise.withResolvers<Failure>();
    const stop = () => stopped.resolve({ kind: 'stopped', sent: false });
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await Promise.race([this.#fetchToken(), stopped.promise]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** For a token that the API refused before its time. */
  forget(): void {
    this.#signer = null;
  }

  async #fetchToken(): Promise<string | Failure> {
    this.#signer ??= this.#account.signer(this.#library, this.#fetch);
    try {
      const { token } = await this.#signer.getAccessToken();
      return token ?? { kind: 'token', status: 200, words: '', retryAfterMs: null };
    } catch (error) {
      return tokenFailure(error, this.#watched?.answered ?? null, this.#proxy?.host);
    }
  }

  readonly #fetch = (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const ended = AbortSignal.any([AbortSignal.timeout(fetchTimeoutMs), this.#closed]);
    this.#watched = new WatchedFetch(maxTokenBytes, ended, this.#proxy);
    return this.#watched.fetch(url, init);
  };
}

function tokenFailure(error: unknown, answered: Response | null, proxy: string | undefined): Failure {
  if (error instanceof Unusable) {
    return { kind: 'token', status: 401, words: error.message, retryAfterMs: null };
  }
  // The library exchanges some tokens by a fetch of its own.
  const refusal = answered?.ok === false ? answered : (error as { response?: Response }).response;
  if (refusal === undefined || refusal.ok) {
    const { words } = isTimeout(error) ? { words: 'no answer in time' } : fetchFailure(error, proxy);
    return { kind: 'network', sent: false, words };
  }
  return { ...httpFailure(refusal), kind: 'token', words: oauthError(error) };
}

function isTimeout(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'TimeoutError';
}

function oauthError(error: unknown): string {
  const { response } = error as { response?: { data?: { error?: unknown; error_description?: unknown } } };
  const { error: code, error_description: description } = response?.data ?? {};
  // Google's other services, such as the one for impersonation, have an object there.
  const { status, message } = Object(code) as { status?: unknown; message?: unknown };
  return [code, description, status, message]
    .filter((part) => typeof part === 'string')
    .join(': ')
    .slice(0, 300);
}
