import { createHmac, createSecretKey } from 'node:crypto';
import type { AttemptRequest, RefreshTokens, Sink } from '../../src/connector.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import { Caller, utf8, waitForBody } from './caller.ts';
import { checkReceiver } from './check.ts';
import { type Headers, setHeader, targetOf } from './client.ts';
import { type Call, json } from './message.ts';
import type { WebhookOptions } from './options.ts';
import { outcomeOf, type Terms } from './outcomes.ts';

/** Opens no connection yet. */
export function connectWebhook(options: WebhookOptions, refreshTokens?: RefreshTokens): Sink<Call> {
  const { url, success, dead, secret = [] } = options;
  const caller = new Caller(
    options,
    { base: { 'content-type': json }, secrets: [secret].flat() },
    refreshTokens,
  );
  const { route } = caller;
  const sign = signer(options);
  const bodyTimeout = success?.body && waitForBody.bodyTimeout;
  const terms: Terms = { success, dead, proxy: route.proxy, isSigned: [secret].flat().length > 0 };

  function callOf({ deliveryId, message, now, traceparent }: AttemptRequest<Call>) {
    const { method } = message;
    const body = Buffer.from(typeof message.body === 'string' ? message.body : JSON.stringify(message.body));
    const headers: Headers = [];
    for (const [name, value] of Object.entries(message.headers)) headers.push(name, utf8(value));
    sign(headers, deliveryId, Math.floor(now / 1000), body);
    const path = targetOf(url, message.path);
    return { method, path, headers, body, bodyTimeout, traceparent: traceparent() };
  }

  async function deliver(request: AttemptRequest<Call>): Promise<Outcome> {
    const result = await caller.call(callOf(request), request.signal);
    if ('outcome' in result) return result.outcome;
    return caller.told(outcomeOf(result, terms, request, caller.mask), request.now);
  }

  return {
    deliver,
    check: async (_messages, signal) => [
      await checkReceiver({ url, route, headers: caller.headers }, signal),
      ...(await caller.checkLogin(signal)),
    ],
    close: () => caller.close(),
  };
}

/**
 * The headers of Standard Webhooks, with one signature for each secret, as a receiver may know only the old or the new
 * one; and those of the sink's own `signature`, by the first secret as text.
 */
function signer({ secret = [], signature }: WebhookOptions) {
  const secrets = [secret].flat().map((each) => each.reveal());
  const keys = secrets
    .filter((text) => signature === undefined || text.startsWith('whsec_'))
    .map((text) => createSecretKey(Buffer.from(text.replace(/^whsec_/, ''), 'base64')));
  const { header, algorithm, encoding, prefix } = signature ?? {};
  const own = header?.toLowerCase();
  return (headers: Headers, id: string, timestampS: number, body: Buffer): void => {
    setHeader(headers, 'webhook-id', id);
    setHeader(headers, 'webhook-timestamp', String(timestampS));
    let signatures = '';
    for (const key of keys) {
      const hmac = createHmac('sha256', key).update(`${id}.${timestampS}.`).update(body);
      signatures += `${signatures && ' '}v1,${hmac.digest('base64')}`;
    }
    if (signatures !== '') setHeader(headers, 'webhook-signature', signatures);
    if (own === undefined) return;
    const hmac = createHmac(algorithm!, secrets[0] ?? '').update(body);
    setHeader(headers, own, `${prefix}${hmac.digest(encoding!)}`);
  };
}
