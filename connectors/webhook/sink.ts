import { Pool } from 'undici';
import { masker, partsOfUrl } from '../../src/connector.ts';
import type { AttemptRequest, Secret, Sink } from '../../src/connector.ts';
import type { Outcome } from '../../src/model.ts';
import { checkReceiver } from './check.ts';
import type { Call } from './compose.ts';
import { targetOf } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { exchange } from './exchange.ts';
import type { Exchange } from './exchange.ts';
import { barred, outcomeOf } from './outcome.ts';
import { isPrivateLiteral, lookupPublic } from './public-addresses.ts';
import { signer } from './sign.ts';

interface WebhookOptions {
  readonly url: Endpoint;
  readonly secret?: Secret | readonly Secret[] | undefined;
  readonly headers?: { readonly [name: string]: Secret } | undefined;
  readonly allowPrivate: boolean;
}

type Headers = { readonly [name: string]: string };

/** A pool of connections that stay open between calls. Opens none yet. */
export function connectWebhook(options: WebhookOptions): Sink<Call> {
  const { url, allowPrivate, secret = [] } = options;
  const pool = openPool(url.origin, allowPrivate);
  const fixed = fixedHeaders(options);
  const withSignature = signing([secret].flat());
  const mask = masking(options);
  const isBarred = !allowPrivate && isPrivateLiteral(url.hostname);

  async function deliver({ deliveryId, message, now, signal }: AttemptRequest<Call>): Promise<Outcome> {
    if (isBarred) return barred;
    const body = Buffer.from(typeof message.body === 'string' ? message.body : JSON.stringify(message.body));
    const headers = withSignature({ ...fixed, ...utf8(message.headers) }, deliveryId, now, body);
    const path = targetOf(url, message.path);
    const result = await exchange(pool, { method: message.method, path, headers, body }, signal);
    return outcomeOf(mask(result), now, signal.aborted);
  }

  return {
    deliver,
    check: async (_messages, signal) => {
      const ask = { method: 'OPTIONS', path: targetOf(url, ''), headers: fixed };
      const result = isBarred ? null : await exchange(pool, ask, signal);
      return [checkReceiver(url.origin, result, signal.aborted)];
    },
    // No attempt is under way any more; what may be left are answers being read to their end.
    close: async () => (pool.destroyed ? undefined : pool.destroy()),
  };
}

function openPool(origin: string, allowPrivate: boolean): Pool {
  return new Pool(origin, {
    // The sink's `concurrency` decides: the pool opens no more than are in use at once.
    connections: 100,
    pipelining: 1,
    // HTTP/2 would send again by itself what a server put back.
    allowH2: false,
    connect: { timeout: 10_000, ...(!allowPrivate && { lookup: lookupPublic }) },
    // The sink's `timeout` decides how long to wait for an answer. A body is of little worth once the status is known.
    headersTimeout: 0,
    bodyTimeout: 5000,
  });
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

function signing(secrets: readonly Secret[]) {
  const sign = secrets.length === 0 ? null : signer(secrets);
  return (headers: Headers, deliveryId: string, now: number, body: Buffer): Headers => {
    const timestampS = Math.floor(now / 1000);
    return {
      ...headers,
      'webhook-id': deliveryId,
      'webhook-timestamp': String(timestampS),
      ...(sign && { 'webhook-signature': sign(deliveryId, timestampS, body) }),
    };
  };
}

function utf8(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, utf8Bytes(value)]));
}

/** Headers are bytes to HTTP and Latin-1 to Node; receivers read UTF-8. */
const utf8Bytes = (value: string): string =>
  /^\p{ASCII}*$/u.test(value) ? value : Buffer.from(value).toString('latin1');

/** A receiver may quote in its answer what it was sent, its own address included, which is often a secret by itself. */
function masking({ url, headers = {}, secret = [] }: WebhookOptions): (result: Exchange) => Exchange {
  const password = url.login?.password.reveal() ?? '';
  const given = [...Object.values(headers), ...[secret].flat()].map((each) => each.reveal());
  const inUrl = [
    url.path,
    ...url.query.slice(1).split(/[&=]/),
    ...partsOfUrl(url.origin + url.path + url.query),
  ];
  const shown = masker([base64(`${url.login?.user}:${password}`), password, ...given, ...inUrl]);
  return (result) => {
    if ('error' in result) return result;
    return { answer: { ...result.answer, text: shown(result.answer.text) } };
  };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
