import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import {
  AccessTokens,
  failedCheck,
  fetchFailure,
  masker,
  maskTexts,
  partsOfUrl,
  passed,
  statedDelayMs,
} from '../../src/connector.ts';
import type { AttemptRequest, LiveCheck, PostForm, RefreshTokens, Sink } from '../../src/connector.ts';
import type { Json, Outcome } from '../../src/model.ts';
import { checkReceiver } from './check.ts';
import { exchange, Route, targetOf } from './client.ts';
import type { Headers, Signature, WebhookOptions } from './client.ts';
import { type Call, json } from './message.ts';
import { outcomeOf } from './outcomes.ts';
import { PrivateAddressError } from './public-addresses.ts';

/** Opens no connection yet. */
export function connectWebhook(options: WebhookOptions, refreshTokens?: RefreshTokens): Sink<Call> {
  const { url, auth, success } = options;
  const route = new Route(url.origin, options);
  const fixed = fixedHeaders(options);
  const sign = signer(options);
  const maskOwn = secretMasker(options);
  const tokenRoute = auth?.oauth2 && new Route(new URL(auth.oauth2.tokenUrl).origin, options);
  const tokens =
    auth?.oauth2 && tokenRoute && new AccessTokens(auth.oauth2, postForm(tokenRoute), refreshTokens);

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
      ...(tokens ? [await checkTokens(tokens, signal)] : []),
    ],
    // No attempt is under way any more. What may be left are answers being read to their end.
    close: async () => {
      for (const each of [route, tokenRoute]) await each?.dispatcher.destroy();
    },
  };
}

/** Where it is the body that counts: until the signal ends the call. */
const waitForBody = { bodyTimeout: 0 };

async function checkTokens(tokens: AccessTokens, signal: AbortSignal): Promise<LiveCheck> {
  const result = await tokens.get(signal);
  return 'outcome' in result
    ? failedCheck('access token', result.outcome)
    : passed('access token', 'granted');
}

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

function fixedHeaders({ url, headers = {}, auth = {} }: WebhookOptions): Headers {
  const login = auth.basic ?? url.login;
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.reveal()]);
  return {
    'user-agent': 'candidate-connector',
    'content-type': json,
    ...(login && { authorization: `Basic ${base64(`${login.user}:${login.password.reveal()}`)}` }),
    ...(auth.bearer && { authorization: `Bearer ${auth.bearer.reveal()}` }),
    ...utf8(Object.fromEntries(own)),
  };
}

/**
 * The headers of Standard Webhooks, with one signature for each secret, as a receiver may know only the old or the new
 * one; and those of the sink's own `signature`, by the first secret as text.
 */
function signer({ secret = [], signature }: WebhookOptions) {
  const secrets = [secret].flat().map((each) => each.reveal());
  const keys = secrets.filter((text) => signature === undefined || text.startsWith('whsec_')).map(keyOf);
  return (id: string, timestampS: number, body: Buffer): Headers => {
    const standard = (key: KeyObject): string =>
      `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.`).update(body).digest('base64')}`;
    return {
      'webhook-id': id,
      'webhook-timestamp': String(timestampS),
      ...(keys.length > 0 && { 'webhook-signature': keys.map(standard).join(' ') }),
      ...(signature && ownSignature(signature, secrets[0] ?? '', body)),
    };
  };
}

const keyOf = (secret: string): KeyObject =>
  createSecretKey(Buffer.from(secret.replace(/^whsec_/, ''), 'base64'));

function ownSignature(
  { header, algorithm, encoding, prefix }: Signature,
  secret: string,
  body: Buffer,
): Headers {
  return { [header.toLowerCase()]: prefix + createHmac(algorithm, secret).update(body).digest(encoding) };
}

function utf8(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, utf8Bytes(value)]));
}

/** Headers are bytes to HTTP and Latin-1 to Node; receivers read UTF-8. */
const utf8Bytes = (value: string): string =>
  /^\p{ASCII}*$/u.test(value) ? value : Buffer.from(value).toString('latin1');

/** A receiver may quote in its answer what it was sent, with its own address, which is often a secret in itself. */
function secretMasker({ url, headers = {}, secret = [], auth = {} }: WebhookOptions) {
  const login = auth.basic ?? url.login;
  const password = login?.password.reveal() ?? '';
  const given = [...Object.values(headers), ...[secret].flat(), auth.bearer ?? []].flat();
  const secrets = given.map((each) => each.reveal());
  const inUrl = [
    url.path,
    ...url.query.slice(1).split(/[&=]/),
    ...partsOfUrl(url.origin + url.path + url.query),
  ];
  return masker([base64(`${login?.user}:${password}`), password, ...secrets, ...inUrl]);
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
