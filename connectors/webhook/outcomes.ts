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
import type { AttemptRequest } from '../../src/connector.ts';
import { isDeepStrictEqual } from 'node:util';
import { isMap, type Json } from '../../src/model.ts';
import type { Outcome, Retry } from '../../src/model/outcomes.ts';
import type { Answer, Exchange } from './client.ts';
import type { Call } from './message.ts';
import type { WebhookOptions } from './options.ts';
import { PrivateAddressError } from './public-addresses.ts';

/** The sink's options about answers, the proxy that calls go through, and whether they are signed. */
export interface Terms extends Pick<WebhookOptions, 'success' | 'dead'> {
  readonly proxy: string | null;
  readonly isSigned: boolean;
}

type Mask = AttemptRequest<Call>['mask'];
type Request = Pick<AttemptRequest<Call>, 'now' | 'signal' | 'mask'>;

/** The outcome of a call. `mask`: hides the secrets of this receiver; the request's own mask hides those of the config. */
export function outcomeOf(result: Exchange, terms: Terms, request: Request, mask: Mask): Outcome {
  if ('answer' in result) return outcomeOfAnswer(result.answer, terms, request, mask);
  const { error } = result;
  const { aborted } = request.signal;
  // A retry, since a name may resolve to another address soon. Nothing was connected to.
  if (error instanceof PrivateAddressError) return notPublic('sink');
  const { words, sent } = fetchFailure(error, terms.proxy);
  if (result.sent && sent)
    return aborted
      ? unknown(
          'timeout',
          "The other system did not answer in time. If it is only slow, raise the sink's timeout.",
        )
      : unknown('network', `No answer came: ${words}.`);
  if (aborted) return sinkWide('timeout', 'Time ran out before the request was sent.');
  return sinkWide(reasonOf(error), `The other system cannot be reached: ${words}.`);
}

/** For a url that leads to this machine or into its network, where the sink or look-up does not allow it. */
export const privateAddress = (of: 'sink' | 'look-up') => ({
  detail: `The ${of}'s url leads to an address that is not on the internet (this machine, or a private network).`,
  advice: `Say allowPrivate: true in the ${of} if that is meant.`,
});

export function notPublic(of: 'sink' | 'look-up'): Retry {
  const { detail, advice } = privateAddress(of);
  return sinkWide('invalid', `${detail} ${advice}`);
}

/** The reason of a call that failed without an answer. */
export const reasonOf = (error: NodeJS.ErrnoException): 'timeout' | 'network' =>
  /TIMEOUT|ETIMEDOUT/.test(error.code ?? '') ? 'timeout' : 'network';

function outcomeOfAnswer(answer: Answer, terms: Terms, request: Request, mask: Mask): Outcome {
  const { success = {}, dead = [410] } = terms;
  const { status, headers } = answer;
  const isLogin = pointsToLogin(answer);
  const isSuccess = !isLogin && (success.status?.includes(status) ?? (status >= 200 && status < 300));
  if (isSuccess && success.body === undefined) return deliveredBy(answer);
  const { now, signal } = request;
  const quote = quoteOf(answer, (text) => mask(request.mask(text)));
  const clock = terms.isSigned && mayBeOfTheSignature.has(status) ? clockAdvice(answer, now) : '';
  const detail = `The other system answered ${status}${quote}.${clock}`;
  if (isSuccess) return outcomeByBody(answer, success.body ?? {}, detail, signal.aborted);
  if (status === 410 && dead.length > 0) return rejected('not_found', detail, checkAddress);
  if (dead.includes(status)) return rejected(status === 404 ? 'not_found' : 'invalid', detail, checkBody);
  if (status < 300)
    return perhaps(retry('invalid', `${detail} success.status of the sink does not name it.`));
  if (status < 400) {
    const host = URL.parse(firstOf(headers['location']) ?? '')?.host;
    if (isLogin)
      return sinkWide(
        'auth',
        `The other system answered ${status} and points to a login${host ? ` at ${host}` : ''}. Check the sink's auth and headers, and who may call there: a web app of Google Apps Script needs access for Anyone.`,
      );
    const isPerhapsDone = status === 302 || status === 303;
    const taken = isPerhapsDone
      ? `Where it has taken the call by then, as Google Apps Script does, say success: { status: [${status}] } in the sink; else put`
      : 'Put';
    const elsewhere = perhapsSinkWide(
      'not_found',
      `The other system answered ${status} and points to ${host || 'another address'}; redirects are not followed. ${taken} the final address into the sink's url.`,
    );
    // So a form answers that was taken: the page to look at next is there (RFC 9110, 15.4.3 and 15.4.4).
    return isPerhapsDone ? perhaps(elsewhere) : elsewhere;
  }
  if (status === 401 || status === 403 || status === 407) {
    const advice = "Check the sink's secret, auth and headers, and what the other system requires.";
    return sinkWide('auth', `${detail} ${advice}`);
  }
  // From a gateway: what is behind it may have taken the request, and only its answer was lost.
  if (status === 502) return unknown('server', detail);
  if (status === 504) return unknown('timeout', detail);
  const statedMs = statedDelayMs(firstOf(headers['retry-after']), now);
  // A receiver may have failed behind the work, and a gateway may have lost its answer. Envoy's 408 may be about the
  // receiver. Who says with 503 when to come again has done nothing.
  const mayFollowTheWork =
    status === 408 || (status >= 500 && !nothingDone.has(status) && !(status === 503 && statedMs !== null));
  const again = retryFor(status, detail, statedMs);
  return mayFollowTheWork ? perhaps(again) : again;
}

/** Whether an answer sends the caller to a login, as who guards a system does before that has the call. */
export function pointsToLogin({ status, headers }: Answer): boolean {
  if (status < 300 || status >= 400) return false;
  const to = URL.parse(firstOf(headers['location']) ?? '', 'http://there');
  const { host = '', pathname = '', searchParams = new URLSearchParams() } = to ?? {};
  // By OpenID Connect or SAML, at an address of any name.
  if (searchParams.has('response_type') || searchParams.has('SAMLRequest')) return true;
  // OAuth2 Proxy and authentik, which guard systems that have no login of their own.
  if (/\/(oauth2|outpost\.goauthentik\.io)\/start$/.test(pathname)) return true;
  return /(^|[/._-])(service)?(log|sign)[-_]?in([/._-]|$)/i.test(host + pathname);
}

/** The statuses by which receivers refuse a signature. */
const mayBeOfTheSignature = new Set([400, 401, 403]);

/** What to say of a clock by which signed calls come too early or too late: more than five minutes by Standard Webhooks. */
function clockAdvice({ headers }: Answer, now: number): string {
  const behindMin = (Date.parse(firstOf(headers['date']) ?? '') - now) / 60_000;
  if (!(Math.abs(behindMin) > 5)) return '';
  const off = `${Math.round(Math.abs(behindMin))} minutes ${behindMin > 0 ? 'behind' : 'ahead of'}`;
  return ` This machine's clock is ${off} that of the other system, which may take no signed calls then: set it right.`;
}

const perhaps = (outcome: Retry): Retry => ({ ...outcome, perhapsDone: true });

/** Statuses from 500 on that say that nothing was done: not supported, no room, not reached (Cloudflare's 52x and 530). */
const nothingDone = new Set([501, 505, 506, 507, 508, 510, 511, 521, 523, 525, 526, 530]);

/** The outcome of an answer whose status means success, by the values that its body must have. */
function outcomeByBody(
  answer: Answer,
  wanted: { readonly [key: string]: Json },
  detail: string,
  aborted: boolean,
): Outcome {
  const { text, isWhole } = answer;
  let body: Json | undefined;
  try {
    body = JSON.parse(text) as Json;
  } catch {
    // A page of something else, perhaps.
  }
  const isRight = Object.keys(wanted).length === 0 || has(body, wanted);
  if (!isRight && !isWhole) {
    const words = `${detail} Its body did not come whole, so success is not known.`;
    return unknown(aborted ? 'timeout' : 'network', words);
  }
  const noSuccess = `${detail} That is no success:`;
  if (!isRight && body === undefined) return perhaps(retry('invalid', `${noSuccess} its body is not JSON.`));
  if (!isRight) return retry('invalid', `${noSuccess} its body has not ${JSON.stringify(wanted)}.`);
  return deliveredBy(answer);
}

function deliveredBy({ status, headers }: Answer): Outcome {
  const requestId = firstOf(headers['x-request-id']) ?? firstOf(headers['request-id']);
  return delivered(requestId === undefined ? { status } : { status, requestId: requestId.slice(0, 200) });
}

/** Whether a value has all that is wanted. Maps may have more keys; all else has to be equal. */
function has(value: Json | undefined, wanted: Json): boolean {
  if (!isMap(wanted)) return isDeepStrictEqual(value, wanted);
  return isMap(value) && Object.entries(wanted).every(([key, inner]) => has(value[key], inner));
}

const checkAddress = "Check the sink's url and the action's path.";
const checkBody =
  'Check with whoever runs the other system what it expects, and compare the body and headers.';

/** Statuses by which a receiver refuses this one message: bad request, too large, address or headers too long, bad content. */
const ofThisMessage = new Set([400, 413, 414, 422, 431]);

/** Statuses below 500 that mean "try again later". */
const temporary = new Set([408, 425, 429]);

/** Statuses whose fault may be this message's or the receiver's, so that others may get through. */
const perhapsOfThisMessage = new Set([408, 425, 500, 501, 505, 507, 508]);

/**
 * The retry for a failing status. Only 410 is final, where the sink's `dead` is not empty: all else may end with the
 * receiver's next deploy. A gateway with nothing behind it answers 404, and a receiver with a bug answers 400 until it is fixed.
 */
function retryFor(status: number, detail: string, retryAfterMs: number | null): Retry {
  if (ofThisMessage.has(status)) return retry('invalid', `${detail} ${checkBody}`, retryAfterMs);
  if (status === 429) return sinkWide('rate_limited', detail, retryAfterMs);
  if (status === 404 || status === 410)
    return perhapsSinkWide('not_found', `${detail} ${checkAddress}`, retryAfterMs);
  if (status < 500 && !temporary.has(status)) {
    return perhapsSinkWide('invalid', `${detail} ${checkBody}`, retryAfterMs);
  }
  const withBreadth = perhapsOfThisMessage.has(status) ? perhapsSinkWide : sinkWide;
  return withBreadth(status === 408 ? 'timeout' : 'server', detail, retryAfterMs);
}

/** In characters: so much of an answer is masked, and quoted from. */
const quotedFrom = 64 * 1024;

/** The start of the answer's text, masked; empty for a page or binary data. Slack's incoming webhooks call a plain word HTML. */
function quoteOf({ headers, text }: Answer, mask: Mask): string {
  if (/html/i.test(firstOf(headers['content-type']) ?? '') && text.includes('<')) return '';
  const line = mask(text.slice(0, quotedFrom))
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  if (line === '' || line.includes('\uFFFD')) return '';
  return `: ${line.length > 200 ? `${line.slice(0, 200)}…` : line.replace(/[.!]$/, '')}`;
}

const firstOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;
