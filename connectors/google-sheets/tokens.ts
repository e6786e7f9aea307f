export type Fetch = typeof globalThis.fetch;

/** Gives access tokens, and keeps them until shortly before they expire. */
export interface Signer {
  getAccessToken(): Promise<{ readonly token: string }>;
}

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

/** An answer that has no token. */
export class Refusal extends Error {
  readonly answer: Response;
  /** Its body, if that is JSON. */
  readonly data: unknown;

  constructor(answer: Response, data: unknown) {
    super('no token');
    this.answer = answer;
    this.data = data;
  }
}

interface TokenRequest {
  readonly url: string;
  /** Without it the token is only read. */
  readonly body?: string | URLSearchParams;
  readonly headers?: { [name: string]: string };
}

interface Kept {
  readonly token: string;
  /** On the monotonic clock (ms). */
  readonly untilMs: number;
}

/** A token is replaced so long before it expires. */
const marginMs = 60_000;
/** RFC 6749 lets a server leave out how long it lives. */
const assumedLifeS = 300;

export async function askForToken(fetch: Fetch, { url, body, headers = {} }: TokenRequest): Promise<Kept> {
  const answer = await fetch(url, { ...(body && { method: 'POST', body }), headers });
  const data = jsonMap(await answer.text());
  // The second name is that of Google's service for impersonation.
  const token = data['access_token'] ?? data['accessToken'];
  if (!answer.ok || typeof token !== 'string' || !/^[\x21-\x7E]{1,16384}$/.test(token))
    throw new Refusal(answer, data);
  return { token, untilMs: performance.now() + lifeS(data) * 1000 - marginMs };
}

function lifeS({ expires_in: life, expireTime }: { readonly [key: string]: unknown }): number {
  const seconds =
    typeof expireTime === 'string' ? (Date.parse(expireTime) - Date.now()) / 1000 : Number(life);
  return seconds > 0 ? seconds : assumedLifeS;
}

/** Keeps a token until shortly before it expires. Only one is asked for at a time. */
export function keeping(ask: () => Promise<Kept>): Signer {
  let kept: Kept | null = null;
  let coming: Promise<Kept> | null = null;
  return {
    getAccessToken: async () => {
      if (kept && performance.now() < kept.untilMs) return kept;
      coming ??= ask().finally(() => (coming = null));
      kept = await coming;
      return kept;
    },
  };
}

function jsonMap(text: string): { readonly [key: string]: unknown } {
  try {
    return Object(JSON.parse(text)) as { [key: string]: unknown };
  } catch {
    return {};
  }
}
