import { createHmac } from 'node:crypto';
import { masker, partsOfUrl } from '../../src/connector.ts';
import type { AttemptRequest, Secret, Sink } from '../../src/connector.ts';
import type { Outcome } from '../../src/model.ts';
import { checkReceiver } from './check.ts';
import { exchange, openPool, targetOf } from './client.ts';
import type { Exchange, Headers, WebhookOptions } from './client.ts';
import type { Call } from './message.ts';
import { blocked, outcomeOf } from './outcomes.ts';
import { isPrivateLiteral } from './public-addresses.ts';

/** Opens no connection yet. */
export function connectWebhook(options: WebhookOptions): Sink<Call> {
  const { url, allowPrivate, secret = [] } = options;
  const pool = openPool(options);
  const fixed = fixedHeaders(options);
  const sign = signer([secret].flat());
  const mask = secretMasker(options);
  const isBlocked = !allowPrivate && isPrivateLiteral(url.hostname);

  async function deliver({ deliveryId, message, now, signal }: AttemptRequest<Call>): Promise<Outcome> {
    if (isBlocked) return blocked;
    const body = Buffer.from(typeof message.body === 'string' ? message.body : JSON.stringify(message.body));
    const headers = { ...fixed, ...utf8(message.headers), ...sign(deliveryId, Math.floor(now / 1000), body) };
    const path = targetOf(url, message.path);
    const result = await exchange(pool, { method: message.method, path, headers, body }, signal);
    return outcomeOf(mask(result), now, signal.aborted);
  }

  return {
    deliver,
    check: async (_messages, signal) => [
      await checkReceiver({ url, allowPrivate, pool, headers: fixed }, signal),
    ],
    // No attempt is under way any more. What may be left are answers being read to their end.
    close: async () => (pool.destroyed ? undefined : pool.destroy()),
  };
}

function fixedHeaders({ url, headers = {} }: WebhookOptions): Headers {
  const login = url.login && base64(`${url.login.user}:${url.login.password.reveal()}`);
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.reveal()]);
  return {
    'user-agent': 'candidate-connector',
    ...(login !== null && { authorization: `Basic ${login}` }),
    ...utf8(Object.fromEntries(own)),
  };
}

/** The headers of Standard Webhooks. One signature for each secret, as a receiver may know only the old or the new one. */
function signer(secrets: readonly Secret[]) {
  const keys = secrets.map((secret) => Buffer.from(secret.reveal().replace(/^whsec_/, ''), 'base64'));
  return (id: string, timestampS: number, body: Buffer): Headers => {
    const signature = (key: Buffer): string =>
      `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.`).update(body).digest('base64')}`;
    return {
      'webhook-id': id,
      'webhook-timestamp': String(timestampS),
      ...(keys.length > 0 && { 'webhook-signature': keys.map(signature).join(' ') }),
    };
  };
}

function utf8(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, utf8Bytes(value)]));
}

/** Headers are bytes to HTTP and Latin-1 to Node; receivers read UTF-8. */
const utf8Bytes = (value: string): string =>
  /^\p{ASCII}*$/u.test(value) ? value : Buffer.from(value).toString('latin1');

/** A receiver may quote in its answer what it was sent, with its own address, which is often a secret in itself. */
function secretMasker({ url, headers = {}, secret = [] }: WebhookOptions): (result: Exchange) => Exchange {
  const password = url.login?.password.reveal() ?? '';
  const secrets = [...Object.values(headers), ...[secret].flat()].map((each) => each.reveal());
  const inUrl = [
    url.path,
    ...url.query.slice(1).split(/[&=]/),
    ...partsOfUrl(url.origin + url.path + url.query),
  ];
  const mask = masker([base64(`${url.login?.user}:${password}`), password, ...secrets, ...inUrl]);
  return (result) => {
    if ('error' in result) return result;
    return { answer: { ...result.answer, text: mask(result.answer.text) } };
  };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
