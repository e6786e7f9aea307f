import { createPrivateKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { oauth2Options, oneLine, percentDecoded, proxyOption, Secret, secret } from '../../src/connector.ts';
import { isPrivateLiteral } from './public-addresses.ts';

/** The options of how to call, which sinks and look-ups share. */

/** The parts of a url. */
export interface Endpoint {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly hostname: string;
  /** With the slash at its end, where it has one: it may be another address without. */
  readonly path: string;
  /** With its question mark; empty if there is none. */
  readonly query: string;
  readonly login: Login | null;
}

/** A login. Where the option has no password, the user is the key of an API, and as secret as one. */
type Login =
  | { readonly user: string; readonly password: Secret }
  | { readonly user: Secret; readonly password: null };

/** The parts of a url; null where a text is no http or https URL. A login in it is sent as Basic authorization. */
export function endpointOf(text: string): Endpoint | null {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return null;
  const { origin, hostname, pathname: path, search, username, password } = url;
  const login = { user: percentDecoded(username), password: new Secret(percentDecoded(password)) };
  return { origin, hostname, path, query: search, login: username + password === '' ? null : login };
}

/** Headers of the connection, and those that the connector sets itself. */
const ownHeaders =
  /^(host|content-length|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|webhook-.*)$/i;

export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, { error: 'expected the name of a header' })
  .refine((name) => !ownHeaders.test(name), { error: 'this header is set by the connector' });

export const headerValue = secret().refine((value) => oneLine(value.reveal()) === value.reveal(), {
  error: 'expected one line, without control characters',
});

const basic = z
  .strictObject({ user: z.string().min(1), password: z.union([z.literal(''), secret()]).optional() })
  .transform(({ user, password }): Login =>
    password ? { user, password } : { user: new Secret(user), password: null },
  );

const auth = z
  .strictObject({
    basic: basic.optional().describe('A login.'),
    bearer: secret().optional().describe('A fixed token.'),
    oauth2: oauth2Options.optional().describe('Access tokens that are fetched, and renewed as they expire.'),
  })
  .refine((given) => Object.values(given).filter((one) => one !== undefined).length === 1, {
    error: 'expected one of basic, bearer and oauth2',
  });

const certificates = z
  .string()
  .refine((text) => !/^[./]/.test(text) || text.includes('-----BEGIN'), {
    error: 'expected the PEM text of a certificate, not a path; a file is written as ${file:/path}',
  })
  .refine((text) => readCertificates(text) !== null, { error: 'expected the PEM text of a certificate' });

export const httpOptions = {
  auth: auth.optional().describe('How calls are authorized.'),
  ca: certificates
    .optional()
    .describe('Certificates of authorities to trust besides the known ones, as PEM.'),
  cert: certificates.optional().describe('The certificate that this sink shows, as PEM; goes with `key`.'),
  key: secret().optional().describe('The private key of `cert`, as PEM.'),
  proxy: proxyOption(),
  allowPrivate: z
    .boolean()
    .default(false)
    .describe('Allow a url that leads to this machine or into a private network.'),
};

const notPublic = 'this address is not on the internet; say allowPrivate: true if that is meant';

/** The options that the rules look at. */
interface Given extends HttpOptions {
  readonly url: Pick<Endpoint, 'hostname' | 'login'>;
  readonly headers?: { readonly [name: string]: Secret } | undefined;
}

type Rule = readonly [
  holds: (given: Given) => boolean,
  { path: string[]; error: string; when?: (payload: { readonly value: unknown }) => boolean },
];

const rules: readonly Rule[] = [
  [
    ({ url, allowPrivate }) => allowPrivate || !isPrivateLiteral(url.hostname),
    {
      path: ['url'],
      error: notPublic,
      // Also where another key is faulty, so that all faults are reported at once.
      when: ({ value }) => (value as { url?: { hostname?: string } } | null)?.url?.hostname !== undefined,
    },
  ],
  [
    ({ url, auth: given, headers = {} }) =>
      given === undefined ||
      (url.login === null && !Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')),
    { path: ['auth'], error: 'the url or the headers have a login already; keep one of them' },
  ],
  [
    ({ auth: given, allowPrivate }) =>
      allowPrivate || !isPrivateLiteral(URL.parse(given?.oauth2?.tokenUrl ?? '')?.hostname ?? ''),
    { path: ['auth', 'oauth2', 'tokenUrl'], error: notPublic },
  ],
  [
    ({ cert, key }) => (cert === undefined) === (key === undefined),
    { path: ['cert'], error: 'cert and key go together' },
  ],
  [
    ({ cert, key }) => !cert || !key || readCertificates(cert, key) !== null,
    { path: ['key'], error: 'expected the PEM text of the private key that belongs to cert' },
  ],
];

/** The schema with the rules on how these options go together. */
export const withRules = <Schema extends z.ZodType<Given>>(schema: Schema): Schema =>
  rules.reduce((checked, [holds, told]) => checked.refine(holds, told), schema);

/** The options of a connection, besides its url. */
export type HttpOptions = z.output<z.ZodObject<typeof httpOptions>>;

/** When the certificate in a PEM text ends (ms): the first, which is the sink's own. */
export const endOf = (cert: string): number => readCertificates(cert)?.[0]?.validToDate.getTime() ?? Infinity;

/** The certificates in a PEM text; null where one is invalid, or where `key` does not belong to the first. */
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
