import {
  AccessTokens,
  fetchFailure,
  masker,
  maskTexts,
  partsOfUrl,
  passed,
  statedDelayMs,
  tokenCheck,
} from '../../src/connector.ts';
import type { LiveCheck, Mask, PostForm, RefreshTokens, Secret } from '../../src/connector.ts';
import type { Json } from '../../src/model.ts';
import type { Outcome, Retry } from '../../src/model/outcomes.ts';
import {
  type Exchange,
  exchange,
  type Headers,
  headersOf,
  type NamedHeaders,
  type Request,
  Route,
  setHeader,
  uncompressed,
} from './client.ts';
import { type Endpoint, endOf, type HttpOptions } from './http-options.ts';
import { PrivateAddressError } from './public-addresses.ts';

interface CallerOptions extends HttpOptions {
  readonly url: Endpoint;
  readonly headers?: { readonly [name: string]: Secret } | undefined;
}

/** One call. Its headers win over those of the options, and both over its `traceparent`. */
interface CallRequest extends Request {
  readonly headers?: Headers;
  readonly traceparent?: string | undefined;
}

/** Makes the calls of one sink or look-up, with its headers, its login and its connections. Opens none yet. */
export class Caller {
  readonly route: Route;
  /** The headers of every call, without an access token. */
  readonly headers: Headers;
  readonly #tokens: AccessTokens | undefined;
  readonly #tokenRoute: Route | undefined;
  /** When the certificate of the options ends (ms); null where there is none. */
  readonly #certificateEndsAt: number | null;
  /** The options have a `traceparent` of their own. */
  readonly #isTraced: boolean;
  readonly #maskOwn: Mask;
  readonly #maskLogin: Mask;

  /** `base`: headers that those of the options replace. `secrets`: further texts to mask. */
  constructor(
    options: CallerOptions,
    { base, secrets = [] }: { readonly base: NamedHeaders; readonly secrets?: readonly Secret[] },
    refreshTokens?: RefreshTokens,
  ) {
    const { url, auth = {}, headers: given = {} } = options;
    this.route = new Route(url.origin, options);
    this.#certificateEndsAt = options.cert === undefined ? null : endOf(options.cert);
    const login = auth.basic ?? url.login;
    const password = login?.password?.reveal() ?? '';
    const user = typeof login?.user === 'string' ? login.user : (login?.user.reveal() ?? '');
    // People copy the word along with the token.
    const bearer = auth.bearer?.reveal().replace(/^bearer +/i, '');
    const own = Object.entries(given).map(([name, value]) => [name.toLowerCase(), utf8(value.reveal())]);
    this.headers = headersOf(
      uncompressed,
      { 'user-agent': 'candidate-connector' },
      base,
      login ? { authorization: `Basic ${base64(`${user}:${password}`)}` } : {},
      bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
      Object.fromEntries(own) as NamedHeaders,
    );
    this.#isTraced = own.some(([name]) => name === 'traceparent');
    // A receiver may quote in its answer what it was sent, with its own address, which is often a secret in itself.
    const hidden = [...Object.values(given), ...secrets];
    this.#maskOwn = masker([
      base64(`${user}:${password}`),
      password || user,
      bearer ?? '',
      ...hidden.map((each) => each.reveal()),
      url.path.replace(/\/$/, ''),
      ...url.query.slice(1).split(/[&=]/),
      ...partsOfUrl(url.origin + url.path + url.query),
    ]);
    this.#maskLogin = masker(login ? [base64(`${user}:${password}`)] : []);
    this.#tokenRoute = auth.oauth2 && new Route(new URL(auth.oauth2.tokenUrl).origin, options);
    this.#tokens =
      auth.oauth2 &&
      this.#tokenRoute &&
      new AccessTokens(auth.oauth2, postForm(this.#tokenRoute), refreshTokens);
  }

  readonly mask: Mask = (text) => this.#maskOwn(this.#maskMade(text));

  /** Masks what calls are made with and the config does not have: access tokens, and the login of HTTP Basic. */
  readonly #maskMade: Mask = (text) => this.#maskLogin(this.#tokens ? this.#tokens.mask(text) : text);

  /**
   * The outcome as it is told, without what only calls are made with; others mask the secrets of the config. Servers say of a
   * certificate that has ended no more than 400, or break off: so that is added.
   */
  told(outcome: Outcome, now: number): Outcome {
    const endsAt = this.#certificateEndsAt ?? Infinity;
    const told =
      outcome.outcome === 'delivered' || now < endsAt
        ? outcome
        : {
            ...outcome,
            detail: `${outcome.detail} The certificate in cert ended ${dayOf(endsAt)}. ${renew}`,
          };
    return maskTexts(told as unknown as Json, this.#maskMade) as unknown as Outcome;
  }

  /** Makes one call, or says why there is no access token for it. */
  call(request: CallRequest, signal: AbortSignal): Promise<Exchange | { readonly outcome: Retry }> {
    return this.#tokens
      ? this.#callWithToken(this.#tokens, request, signal)
      : exchange(this.route, request, this.#headersFor(request), signal);
  }

  async #callWithToken(tokens: AccessTokens, request: CallRequest, signal: AbortSignal) {
    const access = await tokens.get(signal);
    if ('outcome' in access) return access;
    const result = await exchange(this.route, request, this.#headersFor(request, access.token), signal);
    // It may have been revoked before its time; the next call has another one.
    if ('answer' in result && result.answer.status === 401) tokens.refused(access.token);
    return result;
  }

  #headersFor({ traceparent, headers: given = [] }: CallRequest, token?: string): Headers {
    const headers = [...this.headers];
    if (traceparent !== undefined && !this.#isTraced) headers.push('traceparent', traceparent);
    if (token !== undefined) setHeader(headers, 'authorization', `Bearer ${token}`);
    for (let at = 0; at < given.length; at += 2) setHeader(headers, given[at]!, given[at + 1]!);
    return headers;
  }

  get hasTokens(): boolean {
    return this.#tokens !== undefined;
  }

  /** Checks the certificate and the access token by which calls say who makes them. */
  async checkLogin(signal: AbortSignal): Promise<LiveCheck[]> {
    const endsAt = this.#certificateEndsAt;
    const what = 'certificate';
    return [
      ...(endsAt === null
        ? []
        : Date.now() < endsAt
          ? [passed(what, `it ends ${dayOf(endsAt)}.`)]
          : [{ ok: false, what, detail: `it ended ${dayOf(endsAt)}.`, advice: renew }]),
      ...(this.#tokens ? [tokenCheck(await this.#tokens.get(signal))] : []),
    ];
  }

  /** Closes all connections. To be called when no attempt is under way. */
  async close(): Promise<void> {
    for (const each of [this.route, this.#tokenRoute]) await each?.dispatcher.destroy();
  }
}

const renew = 'Ask whoever runs the other system for a new one, and put it into cert and key.';
const dayOf = (time: number): string => `on ${new Date(time).toISOString().slice(0, 10)}`;

/** For calls whose body counts: no time-out of its own, until the signal ends the call. */
export const waitForBody = { bodyTimeout: 0 };

/** Asks for tokens with the same options as the calls. */
function postForm(route: Route): PostForm {
  return async (url, { headers, body }, signal) => {
    const { pathname, search } = new URL(url);
    const request = { method: 'POST', path: pathname + search, body, ...waitForBody };
    const result = await exchange(route, request, headersOf(uncompressed, headers), signal);
    if ('answer' in result) {
      const { status, headers: given, text } = result.answer;
      const stated = [given['retry-after']].flat()[0];
      return { ok: true, data: { status, text, retryAfterMs: statedDelayMs(stated) } };
    }
    if (signal.aborted) return { ok: false, failure: { kind: 'stopped', sent: result.sent } };
    const words =
      result.error instanceof PrivateAddressError
        ? 'its address is not on the internet; say allowPrivate: true if that is meant'
        : fetchFailure(result.error, route.proxy).words;
    return { ok: false, failure: { kind: 'network', sent: result.sent, words } };
  };
}

/** A header's value as Node takes it (Latin-1), so that receivers read UTF-8. */
export const utf8 = (value: string): string =>
  /^\p{ASCII}*$/u.test(value) ? value : Buffer.from(value).toString('latin1');

const base64 = (text: string): string => Buffer.from(text).toString('base64');
