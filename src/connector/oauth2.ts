import { once } from 'node:events';
import { z } from 'zod';
import type { Retry } from '../model/outcomes.ts';
import { endingAfter } from '../support/clock.ts';
import { jsonMap } from '../support/json.ts';
import { masker } from '../support/masker.ts';
import type { Mask } from '../support/secret.ts';
import type { CallFailure, CallResult } from './calls.ts';
import { secret, SharedToken, type Token, usableUntil } from './credentials.ts';
import { askAgain, sinkWide, unansweredOutcome } from './outcomes.ts';

/** The `oauth2` option of sinks: how they get access tokens (RFC 6749, sections 4.3, 4.4 and 6). */
export const oauth2Options = z
  .strictObject({
    tokenUrl: z.url({ protocol: /^https?$/ }).describe('Where access tokens are given out.'),
    grant: z
      .literal('password', {
        error: 'expected password; for client credentials, and with a refreshToken, leave grant out',
      })
      .optional()
      .describe('`password`: a user logs in, with `username` and `password`.'),
    username: z.string().min(1).optional().describe('The user, for `grant: password`.'),
    password: secret().optional().describe("The user's password."),
    clientId: z
      .string()
      .min(1)
      .optional()
      .describe('The id of the application. With `grant: password` it may be left out.'),
    clientSecret: secret().optional().describe("The application's secret."),
    scope: z.string().min(1).optional().describe('What the token is for, as the server names it.'),
    audience: z.string().min(1).optional().describe('The API that the token is for, as Auth0 wants it.'),
    refreshToken: secret()
      .optional()
      .describe('The consent of a user. Without it the application acts for itself (client credentials).'),
  })
  .superRefine(({ grant, ...given }, context) => {
    const isLogin = grant === 'password';
    const needed = isLogin ? (['username', 'password'] as const) : (['clientId'] as const);
    const unused = isLogin ? (['refreshToken'] as const) : (['username', 'password'] as const);
    for (const key of needed)
      if (given[key] === undefined)
        context.addIssue({ code: 'invalid_type', expected: 'string', path: [key], message: 'expected text' });
    for (const key of unused)
      if (given[key] !== undefined)
        context.addIssue({ code: 'custom', path: [key], message: isLogin ? noConsent : noLogin });
    if (given.clientSecret !== undefined && given.clientId === undefined && isLogin)
      context.addIssue({
        code: 'custom',
        path: ['clientSecret'],
        message: 'clientId is missing, whose secret this is',
      });
  });

const noLogin = 'this is used with grant: password only';
const noConsent = 'with grant: password the user logs in, and no refresh token is used; leave it out';

export type OAuth2Options = z.output<typeof oauth2Options>;

/** The answer of a token endpoint, whatever its status. */
export interface TokenAnswer {
  readonly status: number;
  readonly retryAfterMs: number | null;
  readonly text: string;
}

/** Posts a form; each kind of sink has its own way through proxies and certificates. */
export type PostForm = (
  url: string,
  form: { readonly headers: { readonly [name: string]: string }; readonly body: string },
  signal: AbortSignal,
) => Promise<CallResult<TokenAnswer, CallFailure>>;

interface NoToken {
  readonly outcome: Retry;
}
export type TokenResult = { readonly token: string } | NoToken;

/** The time-out of a request for a token, with the wait for another replica. */
const answersWithinMs = 30_000;
/** So many access and refresh tokens are masked: those in use and the ones before. */
const secretsKept = 6;

/**
 * Keeps the newest refresh token of each consent. A consent is what the config has: some servers give another refresh token
 * with each answer, and take the one before no more. A reload opens sinks again and must go on with the newest.
 */
export interface RefreshTokens {
  /** The newest token; undefined where it is that of the config. Rejects where it cannot be read. */
  newest(consent: string): Promise<string | undefined>;
  keep(consent: string, token: string): Promise<void>;
  /** Waits until no other process asks with this consent. Returns what lets the next one ask. */
  turn?(consent: string, signal: AbortSignal): Promise<() => Promise<void>>;
}

const renewed = new Map<string, string>();

/**
 * The last request of each consent: it resolves when that has ended. Two sinks may have one consent, and some servers end a
 * consent whose refresh token comes twice.
 */
const turns = new WeakMap<RefreshTokens, Map<string, Promise<void>>>();

/** Keeps refresh tokens for this process only. */
const inMemory: RefreshTokens = {
  newest: async (consent) => renewed.get(consent),
  keep: async (consent, token) => void renewed.set(consent, token),
};

/** A server whose refresh tokens stay. Microsoft takes one for 90 days, and gives a newer one with each answer. */
const keepingServer = 'oauth2.googleapis.com';

/** Whether a sink with these options has a refresh token that its server may take only once, or only for a while. */
export function mayRotate(options: { readonly auth?: { readonly oauth2?: OAuth2Options } }): boolean {
  const { refreshToken, tokenUrl } = options.auth?.oauth2 ?? {};
  return refreshToken !== undefined && URL.parse(tokenUrl ?? '')?.hostname !== keepingServer;
}

/** Access tokens of one sink, by OAuth 2.0. */
export class AccessTokens {
  readonly #options: OAuth2Options;
  readonly #post: PostForm;
  readonly #refreshTokens: RefreshTokens;
  readonly #shared = new SharedToken(() => this.#inTurn(endingAfter(answersWithinMs)));
  /** The tokens that were given out lately, as a tool may quote them. */
  #secrets: readonly string[] = [];
  readonly #own: readonly string[];
  #mask: Mask;

  constructor(options: OAuth2Options, post: PostForm, refreshTokens: RefreshTokens = inMemory) {
    this.#options = options;
    this.#post = post;
    this.#refreshTokens = refreshTokens;
    const { clientSecret, refreshToken, password } = options;
    const secrets = [clientSecret, refreshToken, password].map((one) => one?.reveal() ?? '');
    this.#own = [this.#login, ...secrets];
    this.#mask = masker(this.#own);
  }

  /** Masks the tokens and the login in a text that a connector quotes and cuts, before the config's secrets are masked. */
  readonly mask = (text: string): string => this.#mask(text);

  async get(signal: AbortSignal): Promise<TokenResult> {
    const found = await this.#shared.get(signal, (sent) => this.#unanswered({ kind: 'stopped', sent }));
    return typeof found === 'string' ? { token: found } : found;
  }

  async #inTurn(signal: AbortSignal): Promise<Token | NoToken> {
    if (!this.#options.refreshToken) return this.#fetch(signal);
    const byConsent = turns.getOrInsertComputed(this.#refreshTokens, () => new Map());
    const before = byConsent.get(this.#consent) ?? Promise.resolve();
    const { promise: done, resolve: end } = Promise.withResolvers<void>();
    byConsent.set(
      this.#consent,
      before.then(() => done),
    );
    let endTurn: (() => Promise<void>) | undefined;
    try {
      if (!signal.aborted) await Promise.race([before, once(signal, 'abort')]);
      endTurn = await this.#refreshTokens.turn?.(this.#consent, signal);
      return await this.#fetch(signal);
    } catch (error) {
      // An older one is not sent in its place. And nothing has gone out that may have arrived.
      const why = error instanceof Error ? error.message : String(error);
      return { outcome: sinkWide('auth', `The newest refresh token cannot be had: ${why}`) };
    } finally {
      await endTurn?.();
      end();
    }
  }

  /** The tool did not take this token; another one is fetched the next time. */
  refused(token: string): void {
    this.#shared.refused(token);
  }

  async #fetch(signal: AbortSignal): Promise<Token | NoToken> {
    const used = await this.#refreshToken();
    const first = await this.#request(used, signal);
    // Another replica may have used it up meanwhile, and kept the one that it got.
    const isUsedUp = first.ok && jsonMap(first.data.text)['error'] === 'invalid_grant';
    const newer = isUsedUp ? await this.#refreshToken() : used;
    const answer = newer === used ? first : await this.#request(newer, signal);
    if (!answer.ok) return this.#unanswered(answer.failure);
    const { status, text } = answer.data;
    const { access_token: token, expires_in: lifeS, refresh_token: next } = jsonMap(text);
    if (!isSuccess(status) || typeof token !== 'string' || !/^[\x21-\x7e]{1,8192}$/.test(token)) {
      const said = { ...answer.data, text: this.#mask(text) };
      return { outcome: refusedOutcome(said, this.#host, this.#grantAdvice) };
    }
    // A server whose refresh token stays may give an empty one.
    const given = typeof next === 'string' && next !== '' ? next : undefined;
    this.#remember(token, given);
    // With a password, the next token is asked for with that again.
    if (given !== undefined && given !== newer && this.#options.grant === undefined)
      await this.#refreshTokens.keep(this.#consent, given);
    return { token, untilMs: usableUntil(lifeS) };
  }

  #unanswered(failure: CallFailure): NoToken {
    const tool = {
      name: `The token endpoint ${this.#host}`,
      item: 'request for a token',
      foreignAdvice: 'so check tokenUrl and any proxy on the way.',
    };
    const { reason, detail } = askAgain(unansweredOutcome(failure, tool));
    return { outcome: sinkWide(reason, detail) };
  }

  async #refreshToken(): Promise<string | undefined> {
    const given = this.#options.refreshToken?.reveal();
    if (given === undefined) return undefined;
    const kept = await this.#refreshTokens.newest(this.#consent);
    this.#remember(kept);
    return kept ?? given;
  }

  async #request(refreshToken: string | undefined, signal: AbortSignal): ReturnType<PostForm> {
    const inBody = await this.#ask('body', refreshToken, signal);
    // RFC 6749, 2.3.1: each server takes Basic, and some take nothing else.
    const isRefused = inBody.ok && inBody.data.status === 401 && this.#options.clientId !== undefined;
    return isRefused ? this.#ask('header', refreshToken, signal) : inBody;
  }

  #ask(
    clientIn: 'body' | 'header',
    refreshToken: string | undefined,
    signal: AbortSignal,
  ): ReturnType<PostForm> {
    const { tokenUrl, clientId, clientSecret, scope, audience } = this.#options;
    const client = {
      ...(clientId !== undefined && { client_id: clientId }),
      ...(clientSecret && { client_secret: clientSecret.reveal() }),
    };
    const form = {
      ...this.#grant(refreshToken),
      ...(scope !== undefined && { scope }),
      ...(audience !== undefined && { audience }),
      ...(clientIn === 'body' && client),
    };
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
      ...(clientIn === 'header' && { authorization: `Basic ${this.#login}` }),
    };
    return this.#post(tokenUrl, { headers, body: new URLSearchParams(form).toString() }, signal);
  }

  #grant(refreshToken: string | undefined): { readonly [name: string]: string } {
    const { grant, username = '', password } = this.#options;
    if (grant === 'password') return { grant_type: grant, username, password: password?.reveal() ?? '' };
    return refreshToken === undefined
      ? { grant_type: 'client_credentials' }
      : { grant_type: 'refresh_token', refresh_token: refreshToken };
  }

  /** The application's login for HTTP Basic. */
  get #login(): string {
    const { clientId = '', clientSecret } = this.#options;
    return Buffer.from([clientId, clientSecret?.reveal() ?? ''].map(encodeURIComponent).join(':')).toString(
      'base64',
    );
  }

  /** The key of the consent. Another refresh token in the config is another one. */
  get #consent(): string {
    const { tokenUrl, clientId, refreshToken } = this.#options;
    return JSON.stringify([tokenUrl, clientId, refreshToken?.reveal()]);
  }

  #remember(...given: readonly (string | undefined)[]): void {
    const fresh = given.flatMap((token) =>
      token === undefined || this.#secrets.includes(token) ? [] : [token],
    );
    if (fresh.length === 0) return;
    this.#secrets = [...fresh, ...this.#secrets].slice(0, secretsKept);
    this.#mask = masker([...this.#own, ...this.#secrets]);
  }

  get #grantAdvice(): string {
    if (this.#options.grant === 'password') return loginAdvice;
    if (this.#options.refreshToken === undefined) return ofItselfAdvice;
    const isKept = this.#refreshTokens !== inMemory;
    return [refreshAdvice, ...(isKept ? [] : [keepAdvice])].join(' ');
  }

  get #host(): string {
    return new URL(this.#options.tokenUrl).host;
  }
}

/** RFC 6749 has 200; some servers say 201. */
const isSuccess = (status: number): boolean => status >= 200 && status < 300;

const loginAdvice = 'Check username and password.';
const ofItselfAdvice =
  'The application may not act for itself there: have that allowed, or give a refreshToken of a user.';
const refreshAdvice = 'The refresh token was revoked, was used up or has expired: get a new one.';
const keepAdvice =
  'Where the server gives another one with each answer, set store.secretKey, so that the newest is kept.';

/** RFC 6749, 5.2. */
const advice: { readonly [error: string]: string } = {
  invalid_client: 'Check clientId and clientSecret; a secret may have expired.',
  unauthorized_client: 'Allow the application this kind of grant, or check clientId.',
  invalid_scope: 'Check scope.',
  unsupported_grant_type:
    'Check with the server which grants it has; without refreshToken it is client credentials.',
};

/** The codes of a server that cannot answer just now (RFC 6749, 4.1.2.1). */
const passing: ReadonlySet<unknown> = new Set(['server_error', 'temporarily_unavailable']);

/** `grantAdvice`: what to do where the server does not take the grant. */
function refusedOutcome(
  { status, retryAfterMs, text }: TokenAnswer,
  host: string,
  grantAdvice: string,
): Retry {
  const endpoint = `The token endpoint ${host}`;
  if (status >= 300 && status < 400)
    return sinkWide(
      'not_found',
      `${endpoint} answered ${status}; redirects are not followed. Put the final address into tokenUrl.`,
    );
  const { error, error_description: description } = jsonMap(text);
  const reason = status === 429 ? 'rate_limited' : status >= 500 || passing.has(error) ? 'server' : 'auth';
  if (typeof error === 'string') {
    const words =
      typeof description === 'string' ? ` (${description.replace(/\s+/g, ' ').slice(0, 200)})` : '';
    const known = Object.hasOwn(advice, error) ? advice[error]! : '';
    const hint = error === 'invalid_grant' ? grantAdvice : known;
    const detail = `${endpoint} refused: ${error.slice(0, 60)}${words}. ${hint}`.trimEnd();
    return sinkWide(reason, detail, retryAfterMs);
  }
  if (reason !== 'auth') return sinkWide(reason, `${endpoint} answered ${status}.`, retryAfterMs);
  const what = isSuccess(status) ? 'answered without a token' : `answered ${status}`;
  return sinkWide('auth', `${endpoint} ${what}. Check tokenUrl.`);
}
