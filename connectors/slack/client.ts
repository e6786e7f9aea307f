import { boundedAnswer, fetchFailure, statedDelayMs } from '../../src/connector.ts';
import type { Secret } from '../../src/connector.ts';

/** Why a call of the Web API gave no result. Flat, and without anything of the client's errors, which carry headers. */
export type Failure =
  /** The attempt's signal: before the call began, or while it was under way. */
  | { readonly kind: 'stopped'; readonly left: boolean }
  | { readonly kind: 'network'; readonly left: boolean; readonly words: string }
  /** A status other than 200, which Slack itself uses only for rate limits and for trouble of its own. */
  | { readonly kind: 'http'; readonly status: number; readonly retryAfterMs: number | null }
  /** Slack's own answer with `ok: false`. */
  | { readonly kind: 'refused'; readonly error: string; readonly data: RefusalData }
  /** Status 200 with something that is no answer of Slack's, such as a proxy's page. */
  | { readonly kind: 'foreign' };

export interface RefusalData {
  readonly needed?: string;
  readonly provided?: string;
  readonly response_metadata?: { readonly messages?: readonly string[] };
}

export type Answer<Data> =
  | { readonly ok: true; readonly data: Data }
  | { readonly ok: false; readonly failure: Failure };

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
    const seen: Seen = { began: false, answered: null, tooLong: false };
    const client = new WebClient(token.reveal(), {
      slackApiUrl: apiUrl,
      allowAbsoluteUrls: false,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      logger: silent as never,
      fetch: async (url, init) => {
        seen.began = true;
        // A redirect would turn the POST into a GET, so it counts as the answer.
        seen.answered = await fetch(url, { ...init, redirect: 'manual', signal });
        return boundedAnswer(seen.answered, maxAnswerBytes, () => (seen.tooLong = true));
      },
    });
    try {
      return { ok: true, data: (await client.apiCall(method, { ...args })) as Data };
    } catch (error) {
      if (!seen.began) throw error;
      return { ok: false, failure: failureOf(error, seen, signal) };
    }
  };
}

interface Seen {
  began: boolean;
  answered: Response | null;
  tooLong: boolean;
}

function failureOf(error: unknown, { answered, tooLong }: Seen, signal: AbortSignal): Failure {
  if (answered !== null && answered.status !== 200) {
    const retryAfterMs = statedDelayMs(answered.headers.get('retry-after'));
    return { kind: 'http', status: answered.status, retryAfterMs };
  }
  if (tooLong) return { kind: 'foreign' };
  const data = refusal(error);
  if (data !== null) {
    const code = data.error;
    return isCode(code) ? { kind: 'refused', error: code, data } : { kind: 'foreign' };
  }
  if (signal.aborted) return { kind: 'stopped', left: true };
  return { kind: 'network', ...fetchFailure(error) };
}

function refusal(error: unknown): (RefusalData & { readonly error?: unknown }) | null {
  const { code, data } = error as { code?: unknown; data?: RefusalData };
  return code === 'slack_webapi_platform_error' ? (data ?? {}) : null;
}

/** The client hands on a page that is no JSON as if it were an error's code. */
function isCode(code: unknown): code is string {
  return typeof code === 'string' && /^[a-z][a-z0-9_.:-]{0,99}$/i.test(code);
}
