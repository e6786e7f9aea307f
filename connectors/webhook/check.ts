import { fetchFailure } from '../../src/connector.ts';
import type { LiveCheck } from '../../src/connector.ts';
import { exchange, targetOf } from './client.ts';
import type { Endpoint, Headers, Route } from './client.ts';
import { privateAddress } from './outcomes.ts';
import { PrivateAddressError } from './public-addresses.ts';

export interface Receiver {
  readonly url: Endpoint;
  readonly route: Route;
  readonly headers: Headers;
}

const what = 'url answers';

/**
 * Sends an OPTIONS request, which is no event. It shows that the name resolves, the address may be called, TLS works
 * and somebody answers.
 */
export async function checkReceiver(receiver: Receiver, signal: AbortSignal): Promise<LiveCheck> {
  const { url, route, headers } = receiver;
  const result = await exchange(route, { method: 'OPTIONS', path: targetOf(url, ''), headers }, signal);
  if ('error' in result) return unreachable(receiver, result.error, signal.aborted);
  const way =
    route.proxy === null
      ? ''
      : ` Through the proxy ${route.proxy}, which also decides which addresses may be called.`;
  const detail = `${url.origin} answers (${result.answer.status} to OPTIONS, any answer will do).${way}`;
  return { ok: true, what, detail };
}

function unreachable({ url, route: { proxy } }: Receiver, error: Error, aborted: boolean): LiveCheck {
  if (error instanceof PrivateAddressError) return { ok: false, what, ...privateAddress };
  const words = aborted ? 'no answer in time' : fetchFailure(error, proxy).words;
  const places = ["the sink's url", ...(proxy === null ? [] : ['the proxy']), 'firewalls'];
  // With TLS 1.3, whoever wants another certificate only breaks off.
  const orCertificate = url.origin.startsWith('https:') ? ', and cert and key if it wants a certificate' : '';
  return {
    ok: false,
    what,
    detail: `${url.origin}: ${words}.`,
    advice: `Check ${places.join(', ')}${orCertificate}.`,
  };
}
