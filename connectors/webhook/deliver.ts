import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { AttemptRequest, RefreshTokens, Sink } from '../../src/connector.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import { Caller, utf8, waitForBody } from './caller.ts';
import { checkReceiver } from './check.ts';
import { type Headers, targetOf } from './client.ts';
import { type Call, json } from './message.ts';
import type { WebhookOptions } from './options.ts';
import { outcomeOf } from './outcomes.ts';

/** Opens no connection yet. */
export function connectWebhook(options: WebhookOptions, refreshTokens?: RefreshTokens): Sink<Call> {
  const { url, success, secret = [] } = options;
  const caller = new Caller(
    options,
    { base: { 'content-type': json }, secrets: [secret].flat() },
    refreshTokens,
  );
  const { route } = caller;
  const sign = signer(options);

  function callOf({ deliveryId, message, now, traceparent }: AttemptRequest<Call>) {
    const body = Buffer.from(typeof message.body === 'string' ? message.body : JSON.stringify(message.body));
    const headers = { ...utf8(message.headers), ...sign(deliveryId, Math.floor(now / 1000), body) };
    const path = targetOf(url, message.path);
    const own = { method: message.method, path, headers, body };
    return { ...own, traceparent: traceparent(), ...(success?.body && waitForBody) };
  }

  async function deliver(request: AttemptRequest<Call>): Promise<Outcome> {
    const { now, signal } = request;
    const result = await caller.call(callOf(request), signal);
    if ('outcome' in result) return result.outcome;
    const terms = { ...options, proxy: route.proxy, mask: (text: string) => caller.mask(request.mask(text)) };
    return caller.masked(outcomeOf(result, terms, now, signal.aborted));
  }

  return {
    deliver,
    check: async (_messages, signal) => [
      await checkReceiver({ url, route, headers: caller.headers }, signal),
      ...(await caller.checkToken(signal)),
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
  return (id: string, timestampS: number, body: Buffer): Headers => {
    const standard = (key: KeyObject): string =>
      `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.`).update(body).digest('base64')}`;
    const { header, algorithm, encoding, prefix } = signature ?? {};
    const hmac = () =>
      createHmac(algorithm!, secrets[0] ?? '')
        .update(body)
        .digest(encoding!);
    return {
      'webhook-id': id,
      'webhook-timestamp': String(timestampS),
      ...(keys.length > 0 && { 'webhook-signature': keys.map(standard).join(' ') }),
      ...(header !== undefined && { [header.toLowerCase()]: `${prefix}${hmac()}` }),
    };
  };
}
