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
  const { proxy } = route;
  const result = await exchange(route, { method: 'OPTIONS', path: targetOf(url, ''), headers }, signal);
  if ('answer' in result) {
    const { status } = result.answer;
    const way =
      proxy === null ? '' : ` Through the proxy ${proxy}, which also decides which addresses may be called.`;
    const detail = `${url.origin} answers (${status} to OPTIONS, any answer will do).${way}`;
    return { ok: true, what, detail };
  }
  if (result.error instanceof PrivateAddressError) return { ok: false, what, ...privateAddress };
  const words = signal.aborted ? 'no answer in time' : fetchFailure(result.error, proxy).words;
  const advice = `Check the sink's url, ${proxy === null ? 'and' : 'the proxy,'} firewalls.`;
  return { ok: false, what, detail: `${url.origin}: ${words}.`, advice };
}
