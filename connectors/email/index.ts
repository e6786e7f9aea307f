import { hostname } from 'node:os';
import { z } from 'zod';
import {
  defineConnector,
  html as markup,
  isLoopback,
  oauth2Options,
  oneLine,
  openProxy,
  proxyOption,
  Secret,
  visible,
  slipsBy,
  tagOfHtml,
  writtenLineBreak,
} from '../../src/connector.ts';
import type { Medium } from '../../src/connector.ts';
import { addressSlips, audienceOf, domainOf, joinList, parseAddresses, recipientNamed } from './addresses.ts';
import type { Address } from './addresses.ts';
import type { MailServer } from './client.ts';
import { defaultFields } from './default-message.ts';
import { describe } from './describe.ts';
import { action, compose } from './message.ts';

const expected = 'expected smtp://user:password@host:587 or smtps://user:password@host:465';
const mustBeEncoded = 'special characters in the password must be percent-encoded';

/** The `url` option: text in the YAML, a MailServer with a masked password in the code. */
const mailServer = z
  .string({ error: expected })
  .transform((text, context): MailServer => {
    // The text itself stays out of the message: it holds the password.
    const refuse = (message: string) => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    const url = URL.parse(text);
    if (url === null) return refuse(`${expected}; ${mustBeEncoded}`);
    const { protocol, username, password } = url;
    if (protocol !== 'smtp:' && protocol !== 'smtps:') return refuse(expected);
    if (url.hostname === '') return refuse(`no host: ${expected}`);
    if (url.search !== '' || url.hash !== '' || !['', '/'].includes(url.pathname))
      return refuse(`nothing may follow the port: ${expected}; ${mustBeEncoded}`);
    if (username === '' && password !== '') return refuse(`user and password belong together: ${expected}`);
    const secure = protocol === 'smtps:';
    const port = url.port === '' ? (secure ? 465 : 587) : Number(url.port);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    if (username === '') return { host, port, secure, login: null };
    try {
      const [user, decoded] = [decodeURIComponent(username), decodeURIComponent(password)];
      return { host, port, secure, login: { user, password: decoded === '' ? null : new Secret(decoded) } };
    } catch {
      return refuse('user or password has a % that starts no percent-encoding; write it as %25');
    }
  })
  .meta({
    secret: true,
    description: 'smtp:// (with STARTTLS) or smtps:// URL of the mail server, with the login',
  });

const sender = z
  .string()
  .transform((text, context): Address => {
    const { addresses, invalid } = parseAddresses(text);
    const [address] = addresses;
    if (address !== undefined && addresses.length === 1 && invalid.length === 0) return address;
    context.addIssue({
      code: 'custom',
      message: 'expected one email address, as in "Hiring <hiring@example.com>"',
    });
    return z.NEVER;
  })
  .describe('The address that mails come from, as in "Hiring <hiring@example.com>".');

const fullName = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/i;
const addressInBrackets = /^\[[0-9a-f.:]+\]$/i;
/** Names that mean something only on this machine or network. */
const local = /(^|\.)(localhost|localdomain|local)$/i;

/** The `name` option: what the client calls itself in EHLO. */
const clientName = z
  .string()
  .refine((name) => fullName.test(name) || addressInBrackets.test(name), {
    error: 'expected a full name such as connector.example.com, or an address in brackets',
  })
  .describe(
    "What the connector calls itself to the mail server (EHLO). Default: this machine's full name, else the domain of `from`.",
  );

const auth = z.strictObject({
  user: z
    .string()
    .regex(/^[^\p{Cc}]+$/u, { error: 'expected one line' })
    .optional()
    .describe('The mailbox that logs in, where the url does not name it.'),
  oauth2: z
    .nonoptional(oauth2Options.optional(), {
      error:
        'expected how access tokens are fetched; a password stands in the url, as in smtp://user:password@host:587',
    })
    .describe(
      'Access tokens that are fetched, and renewed as they expire (XOAUTH2). Microsoft 365 wants them instead of a password; Google also takes an app password.',
    ),
});

const options = z
  .object({
    url: mailServer,
    from: sender,
    name: clientName.optional(),
    auth: auth.optional().describe('How the connector logs in, where that is not by a password in the url.'),
    requireTls: z
      .boolean()
      .optional()
      .describe(
        'Send only over TLS, and only to a server with a trusted certificate. Default: true where there is a login and the url leads to another machine.',
      ),
    proxy: proxyOption().describe(
      'The proxy that access tokens are fetched through; `none` for none. Mail never goes through one. Default: HTTPS_PROXY, HTTP_PROXY and NO_PROXY.',
    ),
  })
  .refine(({ proxy, auth: given }) => proxy === undefined || proxy === 'none' || given !== undefined, {
    path: ['proxy'],
    error:
      'only access tokens (auth.oauth2) are fetched through a proxy, and mail never goes through one: leave it out',
    when: ({ value }) => typeof value === 'object' && value !== null,
  })
  .refine(({ url, requireTls }) => !url.secure || requireTls !== false, {
    path: ['requireTls'],
    error:
      'smtps:// always encrypts, to a server with a trusted certificate; leave requireTls out, or use smtp:// with the port for STARTTLS',
    when: ({ value }) => isMailServer(value),
  })
  .refine(({ url, auth: given }) => !url.login || (url.login.password === null) === (given !== undefined), {
    path: ['url'],
    error: ({ input }) =>
      (input as { auth?: unknown }).auth === undefined
        ? `user and password belong together: ${expected}`
        : 'a password is not used beside auth.oauth2; leave it out',
    when: ({ value }) => isMailServer(value),
  })
  .refine(({ url, auth: given }) => !given || (url.login === null) === (given.user !== undefined), {
    path: ['auth'],
    error:
      'expected once who logs in: as auth.user, or in the url, as in smtp://hiring%40example.com@smtp.office365.com',
    when: ({ value }) => isMailServer(value) && !(value.url.login?.password && value.auth),
  });

/** In the plain text of a mail nothing is markup. */
const textSlips = slipsBy([
  writtenLineBreak,
  { pattern: tagOfHtml, message: 'people see this tag in the mail: what is HTML belongs into `html`' },
  {
    pattern: /<(?:https?|mailto):[^<>|]+\|[^<>]+>/,
    message:
      'people see this in the mail as it stands: it is how Slack writes a link; here write the address alone',
  },
]);

const recipients: Medium = { escape: oneLine, join: joinList, addresses: true, slips: addressSlips };

/**
 * Mail over SMTP. Nobody can be asked what arrived; mail systems can drop a repeat by its Message-ID, which is the same
 * on every attempt.
 */
export const email = defineConnector({
  name: 'email',
  describe,
  options,
  action,
  templates: {
    to: recipients,
    cc: recipients,
    bcc: recipients,
    replyTo: recipients,
    subject: { escape: (value) => visible(oneLine(value)) },
    text: { escape: visible, slips: textSlips },
    html: { escape: (value) => markup`${visible(value)}`.text },
    threadBy: { escape: oneLine },
    headers: { escape: oneLine },
  },
  defaults: { concurrency: 5, timeoutMs: 60_000 },
  defaultFields,
  ofDigest: ['attach'],
  sharedBy: () => [['threadBy']],
  placeKeys: ['to', 'cc', 'bcc', 'replyTo', 'threadBy'],
  alike: (text, key) => (key === 'threadBy' ? text : text.toLowerCase()),
  audience: {
    keys: ['to', 'cc', 'bcc'],
    of: ({ to, cc = [], bcc = [] }) => audienceOf([to, cc, bcc].flat()),
    named: { key: 'to', read: recipientNamed },
  },
  compose: (fields, context, { from }) => compose(fields, context, from),
  connect: async ({ url, from, name, auth: given, requireTls, proxy }, refreshTokens) => {
    const { connectMail } = await import('./deliver.ts');
    const login = given?.user === undefined ? url.login : { user: given.user, password: null };
    return connectMail({
      url: { ...url, login },
      from,
      name: name ?? defaultClientName(hostname(), domainOf(from)),
      requireTls: requireTls ?? (login !== null && !isLoopback(url.host)),
      oauth2: given?.oauth2,
      proxy: given ? await openProxy(given.oauth2.tokenUrl, proxy) : null,
      refreshTokens,
    });
  },
});

/** Whether `url` has been read. It is still text where another key is faulty. */
const isMailServer = (value: unknown): value is { url: MailServer; auth?: { user?: string } } =>
  (value as { url?: { host?: string } | null } | null)?.url?.host !== undefined;

/** Relays such as Google's refuse a client without a full name; a container's name is not one. */
export function defaultClientName(machineName: string, fromDomain: string): string {
  return fullName.test(machineName) && !local.test(machineName) ? machineName : fromDomain;
}
