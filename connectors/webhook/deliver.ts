import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import {
  AccessTokens,
  fetchFailure,
  masker,
  maskTexts,
  partsOfUrl,
  statedDelayMs,
  tokenCheck,
} from '../../src/connector.ts';
import type { AttemptRequest, PostForm, RefreshTokens, Sink } from '../../src/connector.ts';
import type { Json, Outcome } from '../../src/model.ts';
import { checkReceiver } from './check.ts';
import { exchange, Route, targetOf } from './client.ts';
import type { Headers } from './client.ts';
import { type Call, json } from './message.ts';
import type { WebhookOptions } from './options.ts';
import { outcomeOf } from './outcomes.ts';
import { PrivateAddressError } from './public-addresses.ts';

/** Opens no connection yet. */
export function connectWebhook(options: WebhookOptions, refreshTokens?: RefreshTokens): Sink<Call> {
  const { url, auth = {}, success, headers: given = {}, secret = [] } = options;
  const route = new Route(url.origin, options);
  const login = auth.basic ?? url.login;
  const password = login?.password.reveal() ?? '';
  const own = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value.reveal()]);
  const fixed: Headers = {
    'user-agent': 'candidate-connector',
    'content-type': json,
    ...(login && { authorization: `Basic ${base64(`${login.user}:${password}`)}` }),
    ...(auth.bearer && { authorization: `Bearer ${auth.bearer.reveal()}` }),
    ...utf8(Object.fromEntries(own)),
  };
  const sign = signer(options);
  // A receiver may quote in its answer what it was sent, with its own address, which is often a secret in itself.
  const secrets = [...Object.values(given), ...[secret].flat(), auth.bearer ?? []].flat();
  const maskOwn = masker([
    base64(`${login?.user}:${password}`),
    password,
    ...secrets.map((each) => each.reveal()),
    url.path,
    ...url.query.slice(1).split(/[&=]/),
    ...partsOfUrl(url.origin + url.path + url.query),
  ]);
  const tokenRoute = auth.oauth2 && new Route(new URL(auth.oauth2.tokenUrl).origin, options);
  const tokens =
    auth.oauth2 && tokenRoute && new AccessTokens(auth.oauth2, postForm(tokenRoute), refreshTokens);

  const mask = (text: string): string => maskOwn(tokens ? tokens.mask(text) : text);

  function callOf({ deliveryId, message, now }: AttemptRequest<Call>, token: string | undefined) {
    const body = Buffer.from(typeof message.body === 'string' ? message.body : JSON.stringify(message.body));
    const headers = {
      ...fixed,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...utf8(message.headers),
      ...sign(deliveryId, Math.floor(now / 1000), body),
    };
    const path = targetOf(url, message.path);
    return { method: message.method, path, headers, body, ...(success?.body && waitForBody) };
  }

  async function deliver(request: AttemptRequest<Call>): Promise<Outcome> {
    const { now, signal } = request;
    const access = await tokens?.get(signal);
    if (access && 'outcome' in access) return access.outcome;
    const result = await exchange(route, callOf(request, access?.token), signal);
    // It may have been revoked before its time; the next attempt has another one.
    if (access && 'answer' in result && result.answer.status === 401) tokens?.refused(access.token);
    const terms = { ...options, proxy: route.proxy, mask: (text: string) => mask(request.mask(text)) };
    const outcome = outcomeOf(result, terms, now, signal.aborted);
    // The config does not know them, so nobody else masks what the headers of the answer say.
    return tokens ? (maskTexts(outcome as unknown as Json, tokens.mask) as unknown as Outcome) : outcome;
  }

  return {
    deliver,
    check: async (_messages, signal) => [
      await checkReceiver({ url, route, headers: fixed }, signal),
      ...(tokens ? [tokenCheck(await tokens.get(signal))] : []),
    ],
    // No attempt is under way any more. What may be left are answers being read to their end.
    close: async () => {
      for (const each of [route, tokenRoute]) await each?.dispatcher.destroy();
    },
  };
}

/** Where it is the body that counts: until the signal ends the call. */
const waitForBody = { bodyTimeout: 0 };

/** Asks for a token by the same way as the sink's calls. */
function postForm(route: Route): PostForm {
  return async (url, { headers, body }, signal) => {
    const { pathname, search } = new URL(url);
    const request = { method: 'POST', path: pathname + search, headers, body, ...waitForBody } as const;
    const result = await exchange(route, request, signal);
    if ('answer' in result) {
      const { status, headers: given, text } = result.answer;
      const stated = [given['retry-after']].flat()[0];
      return { ok: true, data: { status, text, retryAfterMs: statedDelayMs(stated) } };
    }
    if (signal.aborted) return { ok: false, failure: { kind: 'stopped', sent: result.sent } };
    const words =
      result.error instanceof PrivateAddressError
        ? 'its address is not on the internet; say allowPrivate: true in the sink if that is meant'
        : fetchFailure(result.error, route.proxy).words;
    return { ok: false, failure: { kind: 'network', sent: result.sent, words } };
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

/** Headers are bytes to HTTP and Latin-1 to Node; receivers read UTF-8. */
function utf8(headers: Headers): Headers {
  const bytes = (value: string) =>
    /^\p{ASCII}*$/u.test(value) ? value : Buffer.from(value).toString('latin1');
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, bytes(value)]));
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
