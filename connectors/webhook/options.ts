import { createPrivateKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { oauth2Options, oneLine, proxyOption, Secret, secret } from '../../src/connector.ts';
import { contentTypeOf, isJson, isUtf8 } from './message.ts';
import { isPrivateLiteral } from './public-addresses.ts';

/** The parts of the sink's url. */
export interface Endpoint {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly hostname: string;
  /** Without a slash at its end. */
  readonly path: string;
  /** With its question mark; empty if there is none. */
  readonly query: string;
  readonly login: { readonly user: string; readonly password: Secret } | null;
}

/** The `url` option. A login in it goes out as Basic authorization. */
const endpoint = z
  .string()
  .transform((text, context): Endpoint => {
    const url = URL.parse(text);
    if (url && /^https?:$/.test(url.protocol)) {
      const { origin, hostname, pathname, search, username, password } = url;
      const login = { user: decoded(username), password: new Secret(decoded(password)) };
      const path = pathname.replace(/\/$/, '');
      return { origin, hostname, path, query: search, login: username + password === '' ? null : login };
    }
    context.addIssue({ code: 'custom', message: 'expected a URL such as https://ats.example.com/hooks' });
    return z.NEVER;
  })
  .describe('Where to call, as in https://ats.example.com/hooks.');

/** Headers that belong to the connection, or that the connector itself sets. */
const ownHeaders =
  /^(host|content-length|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|webhook-.*)$/i;

export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, { error: 'expected the name of a header' })
  .refine((name) => !ownHeaders.test(name), { error: 'this header is set by the connector' });

/** For what does not understand Standard Webhooks. */
const signature = z.strictObject({
  header: headerName.describe('The header that carries it, as in X-Hub-Signature-256.'),
  algorithm: z.enum(['sha256', 'sha512', 'sha1']).default('sha256').describe('The hash of the HMAC.'),
  encoding: z.enum(['hex', 'base64']).default('hex').describe('How its bytes are written.'),
  prefix: z.string().default('').describe('What stands before it, as in `sha256=`.'),
});

const auth = z
  .strictObject({
    basic: z
      .strictObject({ user: z.string().min(1), password: secret() })
      .optional()
      .describe('A login.'),
    bearer: secret().optional().describe('A fixed token.'),
    oauth2: oauth2Options.optional().describe('Access tokens that are fetched, and renewed as they expire.'),
  })
  .refine((given) => Object.values(given).filter((one) => one !== undefined).length === 1, {
    error: 'expected one of basic, bearer and oauth2',
  });

const statuses = (from: number, to: number) => z.array(z.int().min(from).max(to)).min(1);

const success = z
  .strictObject({
    status: statuses(200, 499).optional().describe('The statuses that mean success. Default: all of 2xx.'),
    body: z
      .record(z.string(), z.json())
      .optional()
      .describe('Values that the JSON of the answer must have, as in { success: true }.'),
  })
  .refine(({ status, body }) => status ?? body, { error: 'expected status or body' });

const certificates = z
  .string()
  .refine((text) => !/^[./]/.test(text) || text.includes('-----BEGIN'), {
    error: 'expected the PEM text of a certificate, not a path; a file is written as ${file:/path}',
  })
  .refine((text) => readCertificates(text) !== null, { error: 'expected the PEM text of a certificate' });

const headerValue = secret().refine((value) => oneLine(value.reveal()) === value.reveal(), {
  error: 'expected one line, without control characters',
});

const contentTypeIn = (headers: { readonly [name: string]: Secret }): string =>
  contentTypeOf(Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()])));

export const notUtf8 = 'bodies are sent in UTF-8; leave the charset out';

const notPublic = 'this address is not on the internet; say allowPrivate: true if that is meant';

export const options = z
  .object({
    url: endpoint,
    secret: z
      .union([secret(), z.array(secret()).min(1)])
      .optional()
      .describe(
        'Signs each call as Standard Webhooks say; list the new and the old one while you change it.',
      ),
    signature: signature
      .optional()
      .describe(
        'Signs the body with `secret` in a header of its own, for what does not know Standard Webhooks.',
      ),
    auth: auth.optional().describe('How calls are authorized.'),
    success: success.optional().describe('What counts as success, for APIs whose status does not tell.'),
    dead: statuses(400, 599)
      .optional()
      .describe('Statuses after which a delivery is dead at once. 410 always is.'),
    ca: certificates
      .optional()
      .describe('Certificates of authorities to trust besides the known ones, as PEM.'),
    cert: certificates.optional().describe('The certificate that this sink shows, as PEM; goes with `key`.'),
    key: secret().optional().describe('The private key of `cert`, as PEM.'),
    proxy: proxyOption(),
    headers: z
      .record(headerName, headerValue)
      .refine((headers) => isJson(contentTypeIn(headers)), {
        error:
          "a Content-Type that is not JSON goes into the action's headers, beside the body that it describes",
      })
      .refine((headers) => isUtf8(contentTypeIn(headers)), { error: notUtf8 })
      .optional()
      .describe('Sent with each call, such as an API key.'),
    allowPrivate: z
      .boolean()
      .default(false)
      .describe('Allow a url that leads to this machine or into a private network.'),
  })
  .refine(({ url, allowPrivate }) => allowPrivate || !isPrivateLiteral(url.hostname), {
    path: ['url'],
    error: notPublic,
    // Also where another key is faulty, so that all faults are reported at once.
    when: ({ value }) => (value as { url?: { hostname?: string } } | null)?.url?.hostname !== undefined,
  })
  .refine(
    ({ secret: given, signature: own }) =>
      own !== undefined ||
      [given ?? []].flat().every((one) => {
        // Of Standard Webhooks: base64, with or without `whsec_` in front.
        const base64 = one.reveal().replace(/^whsec_/, '');
        return base64.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(base64);
      }),
    {
      path: ['secret'],
      error: 'expected whsec_ and base64 after it; make one with: echo "whsec_$(openssl rand -base64 32)"',
      // They are as they were written where another key is faulty.
      when: ({ value }) =>
        [(value as { secret?: unknown } | null)?.secret ?? []].flat().every((one) => one instanceof Secret),
    },
  )
  .refine(({ secret: given, signature: own }) => own === undefined || given !== undefined, {
    path: ['signature'],
    error: 'secret is missing, by which the signature is made',
  })
  .refine(
    ({ url, auth: given, headers = {} }) =>
      given === undefined ||
      (url.login === null && !Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')),
    {
      path: ['auth'],
      error: 'the url or the headers have a login already; keep one of them',
    },
  )
  .refine(
    ({ auth: given, allowPrivate }) =>
      allowPrivate || !isPrivateLiteral(URL.parse(given?.oauth2?.tokenUrl ?? '')?.hostname ?? ''),
    { path: ['auth', 'oauth2', 'tokenUrl'], error: notPublic },
  )
  .refine(({ cert, key }) => (cert === undefined) === (key === undefined), {
    path: ['cert'],
    error: 'cert and key go together',
  })
  .refine(({ cert, key }) => !cert || !key || readCertificates(cert, key) !== null, {
    path: ['key'],
    error: 'expected the PEM text of the private key that belongs to cert',
  });

export type WebhookOptions = z.output<typeof options>;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Null where one is none, or where the key is not that of the first. */
function readCertificates(text: string, key?: Secret): X509Certificate[] | null {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const begun = text.match(/-----BEGIN CERTIFICATE-----/g) ?? [];
  if (found.length === 0 || found.length < begun.length) return null;
  try {
    const all = found.map((one) => new X509Certificate(one));
    return !key || all[0]?.checkPrivateKey(createPrivateKey(key.reveal())) ? all : null;
  } catch {
    return null;
  }
}
