export type Fetch = typeof globalThis.fetch;

/** Credentials that need a person. Its message shows nothing of them. */
export class Unusable extends Error {
  readonly what: string;
  readonly fix: string;

  constructor(what: string, fix: string) {
    super(`The credentials cannot be used: ${what}; ${fix}.`);
    this.what = what;
    this.fix = fix;
  }
}

/** An answer that has no token. `data`: its body, if that is JSON. */
export class Refusal extends Error {
  readonly data: unknown;

  constructor(data: unknown) {
    super('no token');
    this.data = data;
  }
}

interface TokenRequest {
  readonly url: string;
  /** Without it the token is only read. */
  readonly body?: string | URLSearchParams;
  readonly headers?: { [name: string]: string };
}

export interface Token {
  readonly token: string;
  /** On the monotonic clock (ms). */
  readonly untilMs: number;
}

/** A token is replaced so long before it expires. */
const marginMs = 60_000;
/** RFC 6749 lets a server leave out how long it lives. */
const assumedLifeS = 300;

export async function askForToken(fetch: Fetch, { url, body, headers = {} }: TokenRequest): Promise<Token> {
  const answer = await fetch(url, { ...(body && { method: 'POST', body }), headers });
  const data = jsonMap(await answer.text());
  if (!answer.ok) throw new Refusal(data);
  return tokenIn(data);
}

/** The token of an answer. Google's service for impersonation has names of its own in it. */
export function tokenIn(data: { readonly [key: string]: unknown }): Token {
  const { access_token, accessToken: token = access_token, expires_in, expireTime } = data;
  if (typeof token !== 'string' || !/^[\x21-\x7E]{1,16384}$/.test(token)) throw new Refusal(data);
  const lifeS =
    typeof expireTime === 'string' ? (Date.parse(expireTime) - Date.now()) / 1000 : Number(expires_in);
  return { token, untilMs: performance.now() + (lifeS > 0 ? lifeS : assumedLifeS) * 1000 - marginMs };
}

function jsonMap(text: string): { readonly [key: string]: unknown } {
  try {
    return Object(JSON.parse(text)) as { [key: string]: unknown };
  } catch {
    return {};
  }
}
