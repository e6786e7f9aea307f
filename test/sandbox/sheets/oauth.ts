import { createPublicKey, randomUUID, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { ToolAnswer } from '../http-tool.ts';

const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const scope = 'https://www.googleapis.com/auth/spreadsheets';
/** The client has it built in, wherever it sends the assertion. */
const audience = 'https://oauth2.googleapis.com/token';

interface Claims {
  readonly iss?: string;
  readonly aud?: string;
  readonly scope?: string;
  readonly iat?: number;
  readonly exp?: number;
}

/** Google's token endpoint for one service account: takes assertions that its key signed, gives tokens for a time. */
export class TokenEndpoint {
  readonly #publicKey: KeyObject;
  readonly #email: string;
  readonly #lifetimeS: number;
  readonly #expiry = new Map<string, number>();

  constructor(account: {
    readonly email: string;
    readonly publicKeyPem: string;
    readonly lifetimeS: number;
  }) {
    this.#publicKey = createPublicKey(account.publicKeyPem);
    this.#email = account.email;
    this.#lifetimeS = account.lifetimeS;
  }

  answer(body: string): ToolAnswer {
    const form = new URLSearchParams(body);
    if (form.get('grant_type') !== grantType) return refused('unsupported_grant_type', 'Invalid grant_type');
    const fault = this.#faultOf(form.get('assertion') ?? '');
    if (fault !== null) return refused('invalid_grant', fault);
    const access_token = `ya29.sandbox-${randomUUID()}`;
    this.#expiry.set(access_token, Date.now() + this.#lifetimeS * 1000);
    return { status: 200, body: { access_token, expires_in: this.#lifetimeS, token_type: 'Bearer' } };
  }

  accepts(authorization: string | undefined): boolean {
    return (this.#expiry.get(authorization?.replace(/^Bearer /, '') ?? '') ?? 0) > Date.now();
  }

  /** Every token given so far stops working, as when a key is replaced. */
  revokeAll(): void {
    this.#expiry.clear();
  }

  /** All tokens given, so that tests can look for them where they must not be. */
  get given(): string[] {
    return [...this.#expiry.keys()];
  }

  #faultOf(assertion: string): string | null {
    const [header, payload, signature] = assertion.split('.');
    if (!header || !payload || !signature) return 'Invalid JWT: could not be parsed.';
    const signed = Buffer.from(`${header}.${payload}`);
    const valid = verify('RSA-SHA256', signed, this.#publicKey, Buffer.from(signature, 'base64url'));
    if (!valid) return 'Invalid JWT Signature.';
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims;
    if (claims.iss !== this.#email) return 'Invalid grant: account not found';
    if (claims.aud !== audience) return 'Invalid JWT: Failed audience check.';
    if (claims.scope !== scope) return 'Invalid OAuth scope or ID token audience provided.';
    const nowS = Date.now() / 1000;
    const timely = (claims.iat ?? Infinity) <= nowS + 300 && (claims.exp ?? 0) > nowS;
    return timely ? null : 'Invalid JWT: Token must be a short-lived token and in a reasonable timeframe.';
  }
}

function refused(error: string, error_description: string): ToolAnswer {
  return { status: 400, body: { error, error_description } };
}
