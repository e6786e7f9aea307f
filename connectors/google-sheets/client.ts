import type { MethodOptions, sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import { httpFailure, masker, oneLine, SharedToken, WatchedFetch } from '../../src/connector.ts';
import type { CallFailure, CallResult, HttpFailure, Proxy, Token } from '../../src/connector.ts';
import { isOfTheMachine, NoToken, Unusable } from './account.ts';
import type { Account, Library } from './account.ts';
import type { Row } from './message.ts';

/** Why a call of the Sheets API gave no result. */
export type Failure =
  | CallFailure
  | (HttpFailure & { readonly error: ApiError })
  /** The header of this tab is not where it should be: nothing is written. */
  | { readonly kind: 'header'; readonly tab: string; readonly words: string }
  /** There is no access token: nothing of the call has been sent. */
  | {
      readonly kind: 'token';
      readonly status: number;
      /** The host that answered. */
      readonly host: string;
      /** OAuth's code, such as invalid_grant, with its description; empty where something else answered. */
      readonly words: string;
      readonly retryAfterMs: number | null;
    }
  /** The credentials cannot be used to ask for an access token. */
  | { readonly kind: 'unusable'; readonly words: string };

/** The parts of Google's error body that tell causes apart. */
export interface ApiError {
  /** A code of google.rpc.Code, such as PERMISSION_DENIED. Empty where something else answered. */
  readonly status: string;
  readonly message: string;
  /** The reason of the ErrorInfo in the details, such as RATE_LIMIT_EXCEEDED, or `rateLimitExceeded`. Empty without one. */
  readonly reason: string;
}

export type Answer<Data> = CallResult<Data, Failure>;

/** The largest answer that is read: about a million cells. */
const maxAnswerBytes = 50 * 1024 * 1024;

type Api = sheets_v4.Resource$Spreadsheets;

/** The kinds of calls. Google counts each apart, and limits it to 60 a minute for each account. */
export type Counted = 'read' | 'write';

/** Makes one call, and never repeats it. `run` gets the api, and options to hand on to it. */
export type Call = <Data>(
  kind: Counted,
  run: (api: Api, options: MethodOptions) => Promise<{ readonly data: Data }>,
  signal: AbortSignal,
) => Promise<Answer<Data>>;

/**
 * Calls through Google's client. A token is fetched before and apart, so that its failure is known to have sent nothing.
 * `closed` ends such a fetch when no attempt waits for it any more. `counts` gets each call that was begun.
 */
export function sheetsApi(
  library: Library,
  account: Account,
  { apiUrl, proxy }: { readonly apiUrl: string; readonly proxy: Proxy | null },
  closed: AbortSignal,
  counts: { [kind in Counted]: number },
): Call {
  const api = library.sheets({ version: 'v4', rootUrl: apiUrl }).spreadsheets;
  const tokens = new Tokens(library, account, proxy, closed);
  const failed = (failure: Failure) => ({ ok: false, failure }) as const;
  return async (kind, run, signal) => {
    if (signal.aborted) return failed({ kind: 'stopped', sent: false });
    const token = await tokens.get(signal);
    if (typeof token !== 'string') return failed(token);
    const watched = new WatchedFetch(maxAnswerBytes, signal, proxy);
    counts[kind] += 1;
    try {
      const headers = { authorization: `Bearer ${token}` };
      const { data } = await run(api, { headers, retry: false, fetchImplementation: watched.fetch });
      return typeof data === 'object' ? { ok: true, data } : foreign;
    } catch (error) {
      const { answered, began } = watched;
      if (answered?.status === 401) tokens.refused(token);
      if (!began) throw error;
      if (answered === null || answered.ok) return failed(watched.failureOf(error));
      const body = (error as { response?: { data?: { error?: ErrorBody } } }).response?.data?.error;
      const said = {
        status: textOf(body?.status),
        message: masker([token])(textOf(body?.message)),
        reason: reasonOf(body),
      };
      return failed({ ...httpFailure(answered), error: said });
    }
  };
}

export const foreign = { ok: false, failure: { kind: 'foreign' } } as const;

/**
 * So much of ranges goes in one call (characters). They stand in its address, where each letter that is not Latin takes six or
 * nine, and Google takes none of 20,000 (dust-tt/dust#4042).
 */
const maxQueryLength = 8000;

/** Reads the values of ranges, row by row. Those of a list are read at the same moment. */
export async function readRanges(
  { call, spreadsheetId }: { readonly call: Call; readonly spreadsheetId: string },
  lists: readonly (readonly string[])[],
  signal: AbortSignal,
): Promise<Answer<readonly (readonly Row[])[]>> {
  const rows: (readonly Row[])[] = [];
  for (const ranges of byLength(lists)) {
    // As people see it, a number may have separators or a currency.
    const query = { spreadsheetId, ranges, valueRenderOption: 'UNFORMATTED_VALUE' };
    const answer = await call<sheets_v4.Schema$BatchGetValuesResponse>(
      'read',
      (api, options) => api.values.batchGet(query, options),
      signal,
    );
    if (!answer.ok) return answer;
    const { valueRanges } = answer.data;
    // Empty cells leave no values, so only the ranges tell them from an answer that is not Google's.
    if (!Array.isArray(valueRanges) || valueRanges.length !== ranges.length) return foreign;
    if (!valueRanges.every(({ range }) => typeof range === 'string')) return foreign;
    rows.push(...valueRanges.map(({ values }) => (values ?? []) as Row[]));
  }
  return { ok: true, data: rows };
}

/** The ranges of each call. */
function byLength(lists: readonly (readonly string[])[]): string[][] {
  const calls: string[][] = [];
  let room = 0;
  for (const list of lists) {
    const length = new URLSearchParams(list.map((range) => ['ranges', range])).toString().length + 1;
    if (calls.length === 0 || length > room) {
      calls.push([]);
      room = maxQueryLength;
    }
    calls.at(-1)!.push(...list);
    room -= length;
  }
  return calls;
}

interface ErrorBody {
  readonly status?: unknown;
  readonly message?: unknown;
  readonly details?: readonly Detail[];
  readonly errors?: readonly Detail[];
}

interface Detail {
  readonly reason?: unknown;
  readonly domain?: unknown;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/**
 * The reason of an error. Some answers have it only in the list that came before the details, which has other words there: of
 * these, the ones of quotas and of what is not enabled are not in `status` as well.
 */
function reasonOf({ details, errors }: ErrorBody = {}): string {
  const former = listOf(errors).filter(({ domain }) => domain === 'usageLimits');
  const reasons = [...listOf(details), ...former].map(({ reason }) => textOf(reason));
  return reasons.find((reason) => reason !== '') ?? '';
}

const listOf = (value: unknown): readonly Detail[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'object' && each !== null) : [];

/** The time-out of a fetch of a token. Attempts share a token, so that the end of one must not end the fetch. */
const fetchTimeoutMs = 10_000;
const maxTokenBytes = 64 * 1024;

/** Access tokens of an account. */
class Tokens {
  readonly #library: Library;
  readonly #account: Account;
  readonly #proxy: Proxy | null;
  readonly #closed: AbortSignal;
  readonly #shared = new SharedToken<Failure>(() => this.#ask());
  /** The last call that was made for a token. */
  #asked: {
    readonly host: string;
    readonly watched: WatchedFetch;
    readonly mask: (text: string) => string;
  } | null = null;

  constructor(library: Library, account: Account, proxy: Proxy | null, closed: AbortSignal) {
    this.#library = library;
    this.#account = account;
    this.#proxy = proxy;
    this.#closed = closed;
  }

  /** A token, or why there is none. */
  get(signal: AbortSignal): Promise<string | Failure> {
    return this.#shared.get(signal, () =>
      this.#asked ? unanswered(this.#asked.host) : { kind: 'stopped', sent: false },
    );
  }

  /** Forgets a token that the API refused before its time. */
  refused(token: string): void {
    this.#shared.refused(token);
  }

  async #ask(): Promise<Token | Failure> {
    try {
      return await this.#account.ask(this.#library, this.#fetch);
    } catch (error) {
      if (error instanceof Unusable) return { kind: 'unusable', words: error.message };
      if (this.#asked === null) throw error;
      const { host, watched, mask } = this.#asked;
      const refusal =
        error instanceof NoToken ? error : (error as { response?: { data?: unknown } }).response;
      if (refusal && watched.answered) {
        // OAuth's code with its description, or what Google's other services say.
        const { error: code, error_description: description } = Object(refusal.data) as {
          [key: string]: unknown;
        };
        const { status, message } = Object(code) as { status?: unknown; message?: unknown };
        const said = [code, description, status, message].filter((part) => typeof part === 'string');
        const words = mask(oneLine(said.join(': ')).slice(0, 300));
        return { ...httpFailure(watched.answered), kind: 'token', host, words };
      }
      const failure = watched.failureOf(error);
      if (failure.kind === 'foreign')
        return { kind: 'token', status: 200, host, words: '', retryAfterMs: null };
      if (failure.kind === 'stopped') return unanswered(host);
      return { kind: 'network', sent: false, words: `${host} was asked for a token, and ${failure.words}` };
    }
  }

  readonly #fetch = (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { href, host } = new URL(url instanceof Request ? url.url : url);
    const ended = AbortSignal.any([AbortSignal.timeout(fetchTimeoutMs), this.#closed]);
    const watched = new WatchedFetch(maxTokenBytes, ended, isOfTheMachine(href) ? null : this.#proxy);
    // An answer may quote the request.
    const { body, headers } = init;
    const sent = typeof body === 'string' || body instanceof URLSearchParams ? body : '';
    const form = new URLSearchParams(sent);
    const [, login = ''] = new Headers(headers).get('authorization')?.split(' ') ?? [];
    const mask = masker([...secretFields.flatMap((field) => form.getAll(field)), login]);
    this.#asked = { host, watched, mask };
    return watched.fetch(url, init);
  };
}

const secretFields = ['assertion', 'subject_token', 'refresh_token', 'client_secret'];

const unanswered = (host: string): Failure => ({
  kind: 'token',
  status: 408,
  host,
  words: `${host} had not answered when the time was up`,
  retryAfterMs: null,
});
