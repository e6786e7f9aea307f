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
import type { Outcome, Retry } from '../../src/model.ts';
import type { Answer, Exchange } from './exchange.ts';
import { PrivateAddressError } from './public-addresses.ts';

/** How an attempt ended. `now` in ms: what a Retry-After that names a date is measured from. */
export function outcomeOf(result: Exchange, now: number, aborted: boolean): Outcome {
  return 'answer' in result
    ? outcomeOfAnswer(result.answer, now)
    : outcomeOfError(result.error, result.sent, aborted);
}

function outcomeOfAnswer(answer: Answer, now: number): Outcome {
  const { status, headers } = answer;
  const detail = `The receiver answered ${status}${said(answer)}.`;
  if (status < 300) {
    const requestId = one(headers['x-request-id']) ?? one(headers['request-id']);
    return delivered({ status, ...(requestId !== undefined && { requestId: requestId.slice(0, 200) }) });
  }
  if (status < 400) return perhapsSinkWide('not_found', redirected(status, one(headers['location'])));
  if (status === 401 || status === 403 || status === 407) {
    const advice = "Check the sink's secret and headers, and what the receiver demands.";
    return sinkWide('auth', `${detail} ${advice}`);
  }
  // A gateway's words: whatever stands behind it may have taken the request, and only its answer was lost.
  if (status === 502) return unknown('server', detail);
  if (status === 504) return unknown('timeout', detail);
  if (status === 410) return rejected('not_found', detail, checkAddress);
  return again(status, detail, statedDelayMs(one(headers['retry-after']), now));
}

const checkAddress = "Check the sink's url and the action's path.";
const checkBody = 'Check with the receiver what it expects, and compare the body and headers.';

/** What the receiver has against this one message: bad request, too large, too long an address or headers, bad content. */
const ofThisMessage = new Set([400, 413, 414, 422, 431]);

/** Failures that say by themselves that it is a matter of waiting. */
const passing = new Set([408, 425, 429]);

/** Faults of one message as well as of the receiver as a whole: others may do better. */
const perhapsOfThisMessage = new Set([408, 425, 500, 501, 505, 507, 508]);

/**
 * Only 410 says "never again". All else may be over with a deploy there: while a gateway has nothing behind it, it
 * answers 404, and a receiver with a bug answers 400 until it is fixed.
 */
function again(status: number, detail: string, retryAfterMs: number | null): Retry {
  if (ofThisMessage.has(status)) return retry('invalid', `${detail} ${checkBody}`, retryAfterMs);
  if (status === 429) return sinkWide('rate_limited', detail, retryAfterMs);
  if (status === 404) return perhapsSinkWide('not_found', `${detail} ${checkAddress}`, retryAfterMs);
  if (status < 500 && !passing.has(status)) {
    return perhapsSinkWide('invalid', `${detail} ${checkBody}`, retryAfterMs);
  }
  const howWide = perhapsOfThisMessage.has(status) ? perhapsSinkWide : sinkWide;
  return howWide(status === 408 ? 'timeout' : 'server', detail, retryAfterMs);
}

function redirected(status: number, location: string | undefined): string {
  const host = location === undefined ? undefined : URL.parse(location)?.host;
  const where = host ? `to ${host}` : 'to another address';
  return `The receiver answered ${status} and points ${where}; redirects are not followed. Put the final address into the sink's url.`;
}

function outcomeOfError(error: Error, sent: boolean, aborted: boolean): Outcome {
  if (error instanceof PrivateAddressError) return barred;
  const { words } = fetchFailure(error);
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

/** For a url that leads to this machine or into its network without the sink's leave. */
export const privateAddress = {
  detail:
    "The sink's url leads to an address that is not on the internet (this machine, or a private network).",
  advice: 'Say allowPrivate: true in the sink if that is meant.',
};

/** A name resolves otherwise in a moment, and it is the same for every message. Nothing was connected to. */
export const barred = sinkWide('invalid', `${privateAddress.detail} ${privateAddress.advice}`);

/** The start of what the receiver said, where it is text for people or programs and not a page. */
function said({ headers, text }: Answer): string {
  if (/html/i.test(one(headers['content-type']) ?? '')) return '';
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  if (line === '' || line.includes('\uFFFD')) return '';
  return `: ${line.length > 200 ? `${line.slice(0, 200)}…` : line.replace(/[.!]$/, '')}`;
}

const one = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;
