import type { Pool } from 'undici';
import { fetchFailure } from '../../src/connector.ts';
import type { LiveCheck } from '../../src/connector.ts';
import { exchange, targetOf } from './client.ts';
import type { Endpoint, Headers } from './client.ts';
import { privateAddress } from './outcomes.ts';
import { isPrivateLiteral, PrivateAddressError } from './public-addresses.ts';

interface Receiver {
  readonly url: Endpoint;
  readonly allowPrivate: boolean;
  readonly pool: Pool;
  readonly headers: Headers;
}

const what = 'url answers';

/**
 * Sends an OPTIONS request, which is no event. It shows that the name resolves, the address may be called, TLS works
 * and somebody answers.
 */
export async function checkReceiver(receiver: Receiver, signal: AbortSignal): Promise<LiveCheck> {
  const { url, allowPrivate, pool, headers } = receiver;
  const blocked: LiveCheck = { ok: false, what, ...privateAddress };
  if (!allowPrivate && isPrivateLiteral(url.hostname)) return blocked;
  const result = await exchange(pool, { method: 'OPTIONS', path: targetOf(url, ''), headers }, signal);
  if ('answer' in result) {
    const { status } = result.answer;
    return { ok: true, what, detail: `${url.origin} answers (${status} to OPTIONS, any answer will do).` };
  }
  if (result.error instanceof PrivateAddressError) return blocked;
  const words = signal.aborted ? 'no answer in time' : fetchFailure(result.error).words;
  return {
    ok: false,
    what,
    detail: `${url.origin}: ${words}.`,
    advice: "Check the sink's url, and firewalls.",
  };
}
