import type { MethodOptions, sheets_v4 } from 'googleapis/build/src/apis/sheets/index.js';
import { httpFailure, WatchedFetch } from '../../src/connector.ts';
import type { ServiceAccount } from './credentials.ts';
import { Tokens } from './tokens.ts';
import type { Answer, ApiError, Failure } from './failure.ts';

/** Two columns of half a million rows. */
const maxAnswerBytes = 50 * 1024 * 1024;

type Library = typeof import('googleapis/build/src/apis/sheets/index.js');
type Api = sheets_v4.Resource$Spreadsheets;

/** One call, never repeated: `run` gets the api and the options to hand on to it. */
export type Call = <Data>(
  run: (api: Api, options: MethodOptions) => Promise<{ readonly data: Data }>,
  signal: AbortSignal,
) => Promise<Answer<Data>>;

/** Calls through Google's client. A token is fetched before and apart, so that its failure is known to have sent nothing. `closed` ends such a fetch when no attempt waits for it any more. */
export function sheetsApi(
  library: Library,
  account: ServiceAccount,
  apiUrl: string,
  closed: AbortSignal,
): Call {
  const api = library.sheets({ version: 'v4', rootUrl: apiUrl }).spreadsheets;
  const tokens = new Tokens(library, account, closed);
  return async (run, signal) => {
    if (signal.aborted) return failed({ kind: 'stopped', left: false });
    const token = await tokens.get(signal);
    if (typeof token !== 'string') return failed(token);
    const watched = new WatchedFetch(maxAnswerBytes, signal);
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
