import { httpFailure, WatchedFetch } from '../../src/connector.ts';
import type { CallFailure, CallResult, HttpFailure, Secret } from '../../src/connector.ts';

/** Why a call of the Web API gave no result. */
export type Failure =
  | CallFailure
  /** A status other than 200, which Slack itself uses only for rate limits and for trouble of its own. */
  | HttpFailure
  /** Slack's own answer with `ok: false`. */
  | { readonly kind: 'refused'; readonly error: string; readonly data: RefusalData };

export interface RefusalData {
  readonly needed?: string;
  readonly provided?: string;
  readonly response_metadata?: { readonly messages?: readonly string[] };
}

export type Answer<Data> = CallResult<Data, Failure>;

/** One call of a Web API method: never repeated, ended by the signal. `Data` is what Slack documents for it. */
export type Call = <Data = unknown>(
  method: string,
  args: { readonly [name: string]: unknown },
  signal: AbortSignal,
) => Promise<Answer<Data>>;

/** A page of 200 messages with all their blocks has less. */
const maxAnswerBytes = 10 * 1024 * 1024;

type Library = typeof import('@slack/web-api');

/** The client prints warnings about arguments, and with them the arguments. */
const silent = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  setLevel: () => {},
  getLevel: () => 'error',
  setName: () => {},
};

/**
 * Calls through the official client. It has no signal for a single call, and hides the status of some answers,
 * but takes a `fetch`; so each call has a client of its own (which costs 0.03 ms) around a `fetch` that knows both.
 */
export function webApi({ WebClient }: Library, token: Secret, apiUrl: string): Call {
  return async <Data>(
    method: string,
    args: { readonly [name: string]: unknown },
    signal: AbortSignal,
  ): Promise<Answer<Data>> => {
    if (signal.aborted) return { ok: false, failure: { kind: 'stopped', left: false } };
    const watched = new WatchedFetch(maxAnswerBytes, signal);
    const client = new WebClient(token.reveal(), {
      slackApiUrl: apiUrl,
      allowAbsoluteUrls: false,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      logger: silent as never,
      fetch: watched.fetch,
    });
    try {
      return { ok: true, data: (await client.apiCall(method, { ...args })) as Data };
    } catch (error) {
      if (!watched.began) throw error;
      return { ok: false, failure: failureOf(error, watched) };
    }
  };
}

function failureOf(error: unknown, watched: WatchedFetch): Failure {
  const { answered } = watched;
  if (answered !== null && answered.status !== 200) return httpFailure(answered);
  const data = refusal(error);
  if (data !== null) {
    const code = data.error;
    return isCode(code) ? { kind: 'refused', error: code, data } : { kind: 'foreign' };
  }
  return watched.failureOf(error);
}

function refusal(error: unknown): (RefusalData & { readonly error?: unknown }) | null {
  const { code, data } = error as { code?: unknown; data?: RefusalData };
  return code === 'slack_webapi_platform_error' ? (data ?? {}) : null;
}

/** The client hands on a page that is no JSON as if it were an error's code. */
function isCode(code: unknown): code is string {
  return typeof code === 'string' && /^[a-z][a-z0-9_.:-]{0,99}$/i.test(code);
}
