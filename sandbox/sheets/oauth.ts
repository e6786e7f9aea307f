import { createPublicKey, randomUUID, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { ToolAnswer } from '../http-tool.ts';

const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const scope = 'https://www.googleapis.com/auth/spreadsheets';
/** The audience of assertions, which the client has built in wherever it sends them. */
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
  /** By how much the endpoint's clock is ahead (s), for a connector whose clock is. Google refuses an assertion of another time. */
  aheadMs = 0;
  readonly #publicKey: KeyObject;
  readonly #email: string;
  readonly #lifetimeS: number;
  readonly #expiry = new Map<string, number>();
  readonly #federated = new Set<string>();

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
    const access_token = this.#give();
    return { status: 200, body: { access_token, expires_in: this.#lifetimeS, token_type: 'Bearer' } };
  }

  /**
   * https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token, for the subject token `subject`, or a request to
   * AWS that is signed.
   */
  exchange(body: string): ToolAnswer {
    const form = new URLSearchParams(body);
    if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:token-exchange') {
      return refused('unsupported_grant_type', 'Invalid grant_type');
    }
    if (form.get('requested_token_type') !== 'urn:ietf:params:oauth:token-type:access_token')
      return refused('invalid_request', 'Invalid requested_token_type');
    if (!form.get('audience')?.startsWith('//iam.googleapis.com/'))
      return refused(
        'invalid_target',
        'The target service indicated by the "audience" parameters is invalid.',
      );
    if (form.get('scope') !== 'https://www.googleapis.com/auth/cloud-platform')
      return refused('invalid_scope', 'Invalid scope');
    const subject = form.get('subject_token') ?? '';
    if (!isSubject(form.get('subject_token_type') ?? '', subject))
      return refused('invalid_grant', `The subject token ${subject} is expired.`);
    const access_token = `federated-${randomUUID()}`;
    this.#federated.add(access_token);
    const issued_token_type = 'urn:ietf:params:oauth:token-type:access_token';
    return { status: 200, body: { access_token, issued_token_type, token_type: 'Bearer', expires_in: 3600 } };
  }

  /** https://cloud.google.com/compute/docs/access/authenticate-workloads#applications */
  ofMachine(flavor: unknown, wanted: string | null): ToolAnswer {
    if (flavor !== 'Google') return { status: 403, body: 'Missing Metadata-Flavor:Google header.' };
    if (wanted !== scope) return { status: 400, body: 'Invalid scope.' };
    const answer = { access_token: this.#give(), expires_in: this.#lifetimeS, token_type: 'Bearer' };
    return { status: 200, body: answer };
  }

  /** https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken */
  impersonate(authorization: string | undefined, body: string): ToolAnswer {
    const message = "Permission 'iam.serviceAccounts.getAccessToken' denied on resource.";
    const denied = { error: { code: 403, message, status: 'PERMISSION_DENIED' } };
    if (!this.#federated.has(authorization?.replace(/^Bearer /, '') ?? ''))
      return { status: 403, body: denied };
    if (!(JSON.parse(body) as { scope: string[] }).scope.includes(scope))
      return { status: 403, body: denied };
    const expireTime = new Date(Date.now() + this.#lifetimeS * 1000).toISOString();
    return { status: 200, body: { accessToken: this.#give(), expireTime } };
  }

  #give(): string {
    const token = `ya29.sandbox-${randomUUID()}`;
    this.#expiry.set(token, Date.now() + this.#lifetimeS * 1000);
    return token;
  }

  accepts(authorization: string | undefined): boolean {
    return (this.#expiry.get(authorization?.replace(/^Bearer /, '') ?? '') ?? 0) > Date.now();
  }

  /** Ends every token given so far, as when a key is replaced. */
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
    const nowS = (Date.now() + this.aheadMs) / 1000;
    const timely = (claims.iat ?? Infinity) <= nowS + 300 && (claims.exp ?? 0) > nowS;
    return timely ? null : 'Invalid JWT: Token must be a short-lived token and in a reasonable timeframe.';
  }
}

/** https://cloud.google.com/iam/docs/workload-identity-federation-with-other-clouds: the request is JSON, percent-encoded. */
function isSubject(type: string, token: string): boolean {
  if (type !== 'urn:ietf:params:aws:token-type:aws4_request') return token === 'subject';
  const { url, headers } = JSON.parse(decodeURIComponent(token)) as {
    url: string;
    headers: { key: string; value: string }[];
  };
  const isSigned = headers.some(
    ({ key, value }) => /^authorization$/i.test(key) && value.startsWith('AWS4-HMAC-SHA256'),
  );
  return isSigned && url.startsWith('https://sts.eu-central-1.amazonaws.com');
}

function refused(error: string, error_description: string): ToolAnswer {
  return { status: 400, body: { error, error_description } };
}
