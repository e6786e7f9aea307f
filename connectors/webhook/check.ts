import { fetchFailure } from '../../src/connector.ts';
import type { LiveCheck } from '../../src/connector.ts';
import type { Exchange } from './exchange.ts';
import { privateAddress } from './outcome.ts';
import { PrivateAddressError } from './public-addresses.ts';

/** What an OPTIONS request, which is no event, shows: the name resolves, the address may be called, TLS works, somebody answers. */
export function checkReceiver(origin: string, result: Exchange | null, aborted: boolean): LiveCheck {
  const what = 'url answers';
  if (result !== null && 'answer' in result) {
    return {
      ok: true,
      what,
      detail: `${origin} answers (${result.answer.status} to OPTIONS, any answer will do).`,
    };
  }
  if (result === null || result.error instanceof PrivateAddressError) {
    return { ok: false, what, detail: privateAddress.detail, advice: privateAddress.advice };
  }
  const words = aborted ? 'no answer in time' : fetchFailure(result.error).words;
  return { ok: false, what, detail: `${origin}: ${words}.`, advice: "Check the sink's url, and firewalls." };
}
