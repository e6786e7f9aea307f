import { cannotBeSent, fetchFailure, passed } from '../../src/connector.ts';
import type { LiveCheck } from '../../src/connector.ts';
import { exchange, targetOf } from './client.ts';
import type { Headers, Route } from './client.ts';
import type { Endpoint } from './http-options.ts';
import { privateAddress } from './outcomes.ts';
import { PrivateAddressError } from './public-addresses.ts';

interface Receiver {
  readonly url: Endpoint;
  readonly route: Route;
  readonly headers: Headers;
}

const what = 'url answers';

/**
 * Sends an OPTIONS request, which is no event. It shows that the name resolves, the address may be called, TLS works
 * and somebody answers.
 */
export async function checkReceiver(
  { url, route, headers }: Receiver,
  signal: AbortSignal,
): Promise<LiveCheck> {
  const result = await exchange(route, { method: 'OPTIONS', path: targetOf(url, '') }, headers, signal);
  const { proxy } = route;
  if ('answer' in result) {
    const way =
      proxy === null ? '' : ` Through the proxy ${proxy}, which also decides which addresses may be called.`;
    // What no route has is 404 or 405 to OPTIONS; 410 is said on purpose, and ends each delivery.
    if (result.answer.status === 410)
      return {
        ok: false,
        what,
        detail: `${url.origin} answers 410: it is gone for good.${way}`,
        advice: "Check the sink's url.",
      };
    const detail = `${url.origin} answers (${result.answer.status} to OPTIONS, any answer will do).${way}`;
    return passed(what, detail);
  }
  if (result.error instanceof PrivateAddressError) return { ok: false, what, ...privateAddress('sink') };
  const words = signal.aborted ? 'no answer in time' : fetchFailure(result.error, proxy).words;
  const places = ["the sink's url", ...(proxy === null ? [] : ['the proxy']), 'firewalls'];
  // Some who want another certificate break off without saying so.
  const orCertificate = url.origin.startsWith('https:') ? ', and cert and key if it wants a certificate' : '';
  const advice = cannotBeSent(result.error)
    ? 'Copy it anew from where it was made.'
    : `Check ${places.join(', ')}${orCertificate}.`;
  return { ok: false, what, detail: `${url.origin}: ${words}.`, advice };
}
