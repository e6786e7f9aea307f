import { boundedAnswer } from './bounded-answer.ts';
import { fetchFailure } from './fetch-failure.ts';
import { statedDelayMs } from './stated-delay.ts';

/** What a call of a tool's API gave, or why it gave nothing. */
export type CallResult<Data, Failure> =
  | { readonly ok: true; readonly data: Data }
  | { readonly ok: false; readonly failure: Failure };

/** Why a call ended without an answer of the tool's. Flat, and without anything of a client's errors, which carry headers. */
export type CallFailure =
  /** The attempt's signal: before the call began, or while it was under way. */
  | { readonly kind: 'stopped'; readonly left: boolean }
  | { readonly kind: 'network'; readonly left: boolean; readonly words: string }
  /** A success with something that is no answer of the tool's, such as a proxy's page. */
  | { readonly kind: 'foreign' };

/** An answer whose status tells a failure. */
export interface HttpFailure {
  readonly kind: 'http';
  readonly status: number;
  readonly retryAfterMs: number | null;
}

/**
 * A `fetch` for one call of a client library, which knows what came of it: libraries hide whether a request was begun,
 * or an answer's status.
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

  /** Node's, so that failures look alike in all connectors. */
  readonly fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    this.began = true;
    // A redirect would turn a POST into a GET, so it counts as the answer.
    this.answered = await fetch(url, { ...init, redirect: 'manual', signal: this.#signal });
    return boundedAnswer(this.answered, this.#maxAnswerBytes, () => (this.#tooLong = true));
  };

  /** Why the call failed, from what the library threw; for an answer whose status tells no failure. */
  failureOf(error: unknown): CallFailure {
    if (this.#tooLong) return { kind: 'foreign' };
    if (this.#signal.aborted) return { kind: 'stopped', left: true };
    return { kind: 'network', ...fetchFailure(error) };
  }
}

export function httpFailure({ status, headers }: Response): HttpFailure {
  return { kind: 'http', status, retryAfterMs: statedDelayMs(headers.get('retry-after')) };
}
