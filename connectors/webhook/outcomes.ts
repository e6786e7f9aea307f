import {
  delivered,
  fetchFailure,
  perhapsSinkWide,
  rejected,
  retry,
  sinkWide,
  statedDelayMs,
  unknown,
} from '../../src/connector.ts';
import { isDeepStrictEqual } from 'node:util';
import { isMap, type Json, type Outcome, type Retry } from '../../src/model.ts';
import type { Answer, Exchange, Success } from './client.ts';
import { PrivateAddressError } from './public-addresses.ts';

/** What the sink's options say of answers, and the way they came. */
export interface Terms {
  readonly success?: Success | undefined;
  readonly dead?: readonly number[] | undefined;
  readonly proxy: string | null;
  readonly mask: (text: string) => string;
}

/** How an attempt ended. `now` in ms: what a Retry-After that names a date is measured from. */
export function outcomeOf(result: Exchange, terms: Terms, now: number, aborted: boolean): Outcome {
  return 'answer' in result
    ? outcomeOfAnswer(result.answer, terms, now, aborted)
    : outcomeOfError(result.error, result.sent, aborted, terms.proxy);
}

function outcomeOfAnswer(answer: Answer, terms: Terms, now: number, aborted: boolean): Outcome {
  const { success = {}, dead = [] } = terms;
  const { status, headers } = answer;
  const detail = `The receiver answered ${status}${quoteOf(answer, terms.mask)}.`;
  const isSuccess = success.status?.includes(status) ?? (status >= 200 && status < 300);
  if (isSuccess) return outcomeByBody(answer, success.body ?? {}, detail, aborted);
  if (dead.includes(status)) return rejected(status === 404 ? 'not_found' : 'invalid', detail, checkBody);
  if (status < 300)
    return perhaps(retry('invalid', `${detail} success.status of the sink does not name it.`));
  if (status < 400) {
    const elsewhere = perhapsSinkWide('not_found', redirected(status, firstOf(headers['location'])));
    // So a form answers that was taken: the page to look at next is there (RFC 9110, 15.4.3 and 15.4.4).
    return status === 302 || status === 303 ? perhaps(elsewhere) : elsewhere;
  }
  if (status === 401 || status === 403 || status === 407) {
    const advice = "Check the sink's secret and headers, and what the receiver requires.";
    return sinkWide('auth', `${detail} ${advice}`);
  }
  // From a gateway: what is behind it may have taken the request, and only its answer was lost.
  if (status === 502) return unknown('server', detail);
  if (status === 504) return unknown('timeout', detail);
  if (status === 410) return rejected('not_found', detail, checkAddress);
  const statedMs = statedDelayMs(firstOf(headers['retry-after']), now);
  const again = retryFor(status, detail, statedMs);
  return mayFollowTheWork(status, statedMs) ? perhaps(again) : again;
}

const perhaps = (outcome: Retry): Retry => ({ ...outcome, perhapsDone: true });

/** From 500 on, the statuses by which nothing was done: not supported, no room, not reached (Cloudflare's 52x). */
const nothingDone = new Set([501, 505, 506, 507, 508, 510, 511, 521, 523, 525, 526]);

/**
 * Whether a status may come after the work was done: from a receiver that failed behind it, or from a gateway that lost
 * its answer. Envoy's 408 may be about the receiver. Who says with 503 when to come again has done nothing.
 */
const mayFollowTheWork = (status: number, statedMs: number | null): boolean =>
  status === 408 || (status >= 500 && !nothingDone.has(status) && !(status === 503 && statedMs !== null));

/** The status is one of success. */
function outcomeByBody(answer: Answer, wanted: Wanted, detail: string, aborted: boolean): Outcome {
  const { status, headers, isWhole } = answer;
  const fault = bodyFault(answer, wanted);
  if (fault !== null && !isWhole)
    return unknown(
      aborted ? 'timeout' : 'network',
      `${detail} Its body did not come whole, so success is not known.`,
    );
  if (fault !== null) {
    const again = retry('invalid', `${detail} That is no success: ${fault}.`);
    return fault === notJson ? perhaps(again) : again;
  }
  const requestId = firstOf(headers['x-request-id']) ?? firstOf(headers['request-id']);
  return delivered({ status, ...(requestId !== undefined && { requestId: requestId.slice(0, 200) }) });
}

const checkAddress = "Check the sink's url and the action's path.";
const checkBody = 'Check with the receiver what it expects, and compare the body and headers.';

/** The receiver refuses this one message: bad request, too large, address or headers too long, bad content. */
const ofThisMessage = new Set([400, 413, 414, 422, 431]);

/** Below 500, the statuses that mean "try again later". */
const temporary = new Set([408, 425, 429]);

/** The fault may be this message's or the receiver's, so others may get through. */
const perhapsOfThisMessage = new Set([408, 425, 500, 501, 505, 507, 508]);

/**
 * Only 410 is final. All else may end with the receiver's next deploy: a gateway with nothing behind it answers 404,
 * and a receiver with a bug answers 400 until it is fixed.
 */
function retryFor(status: number, detail: string, retryAfterMs: number | null): Retry {
  if (ofThisMessage.has(status)) return retry('invalid', `${detail} ${checkBody}`, retryAfterMs);
  if (status === 429) return sinkWide('rate_limited', detail, retryAfterMs);
  if (status === 404) return perhapsSinkWide('not_found', `${detail} ${checkAddress}`, retryAfterMs);
  if (status < 500 && !temporary.has(status)) {
    return perhapsSinkWide('invalid', `${detail} ${checkBody}`, retryAfterMs);
  }
  const withBreadth = perhapsOfThisMessage.has(status) ? perhapsSinkWide : sinkWide;
  return withBreadth(status === 408 ? 'timeout' : 'server', detail, retryAfterMs);
}

type Wanted = NonNullable<Success['body']>;

/** A page of something else, perhaps. */
const notJson = 'its body is not JSON';

/** Why the body is not what a success has. */
function bodyFault({ text }: Answer, wanted: Wanted): string | null {
  if (Object.keys(wanted).length === 0) return null;
  const body = jsonOf(text);
  if (body === undefined) return notJson;
  return has(body, wanted) ? null : `its body has not ${JSON.stringify(wanted)}`;
}

function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Maps may have more keys than are wanted; all else is the same. */
function has(value: Json | undefined, wanted: Json): boolean {
  if (!isMap(wanted)) return isDeepStrictEqual(value, wanted);
  return isMap(value) && Object.entries(wanted).every(([key, inner]) => has(value[key], inner));
}

function redirected(status: number, location: string | undefined): string {
  const host = location === undefined ? undefined : URL.parse(location)?.host;
  const where = host ? `to ${host}` : 'to another address';
  return [
    `The receiver answered ${status} and points ${where}; redirects are not followed.`,
    "Put the final address into the sink's url.",
  ].join(' ');
}

function outcomeOfError(error: Error, sent: boolean, aborted: boolean, proxy: string | null): Outcome {
  if (error instanceof PrivateAddressError) return blocked;
  const { words } = fetchFailure(error, proxy);
  if (sent) {
    return aborted
      ? unknown('timeout', 'The receiver did not answer in time.')
      : unknown('network', `No answer came: ${words}.`);
  }
  const late = aborted || /TIMEOUT|ETIMEDOUT/.test((error as NodeJS.ErrnoException).code ?? '');
  const detail = aborted
    ? 'Time ran out before the request was sent.'
    : `The receiver cannot be reached: ${words}.`;
  return sinkWide(late ? 'timeout' : 'network', detail);
}

/** For a url that leads to this machine or into its network, where the sink does not allow it. */
export const privateAddress = {
  detail:
    "The sink's url leads to an address that is not on the internet (this machine, or a private network).",
  advice: 'Say allowPrivate: true in the sink if that is meant.',
};

/** A retry, since a name may resolve to another address soon. Nothing was connected to. */
const blocked = sinkWide('invalid', `${privateAddress.detail} ${privateAddress.advice}`);

/** More is not looked through for secrets. */
const quotedFrom = 64 * 1024;

/** The start of the answer's text; nothing of a page or of binary data. */
function quoteOf({ headers, text }: Answer, mask: Terms['mask']): string {
  if (/html/i.test(firstOf(headers['content-type']) ?? '')) return '';
  const line = mask(text.slice(0, quotedFrom))
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  if (line === '' || line.includes('\uFFFD')) return '';
  return `: ${line.length > 200 ? `${line.slice(0, 200)}…` : line.replace(/[.!]$/, '')}`;
}

const firstOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;
