import { isIPv4 } from 'node:net';
import { z } from 'zod';
import { Secret } from '../../src/connector.ts';

/** A mail server, as its URL names it. */
export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (smtps); otherwise STARTTLS upgrades the connection. */
  readonly secure: boolean;
  readonly login: { readonly user: string; readonly password: Secret } | null;
}

const expected = 'expected smtp://user:password@host:587 or smtps://user:password@host:465';

/** The `url` option: a string in the YAML, a MailServer with a masked password in the code. */
export const mailServer = z
  .string()
  .transform((text, context): MailServer => {
    const server = parse(text);
    if (typeof server !== 'string') return server;
    // The text itself stays out of the message: it holds the password.
    context.addIssue({ code: 'custom', message: server });
    return z.NEVER;
  })
  .meta({
    secret: true,
    description: 'smtp:// (with STARTTLS) or smtps:// URL of the mail server, with the login',
  });

function parse(text: string): MailServer | string {
  const url = URL.parse(text);
  if (url === null) return `${expected}; special characters in the password must be percent-encoded`;
  if (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') return expected;
  if (url.hostname === '') return `no host: ${expected}`;
  if (url.search !== '' || url.hash !== '' || !['', '/'].includes(url.pathname)) {
    return `nothing may follow the port: ${expected}; special characters in the password must be percent-encoded`;
  }
  if ((url.username === '') !== (url.password === ''))
    return `user and password belong together: ${expected}`;
  const secure = url.protocol === 'smtps:';
  const port = url.port === '' ? (secure ? 465 : 587) : Number(url.port);
  const login = loginOf(url);
  if (login === undefined) return 'user or password has a % that starts no percent-encoding; write it as %25';
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port, secure, login };
}

function loginOf(url: URL): MailServer['login'] | undefined {
  if (url.username === '') return null;
  try {
    return {
      user: decodeURIComponent(url.username),
      password: new Secret(decodeURIComponent(url.password)),
    };
  } catch {
    return undefined;
  }
}

const fullName = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/i;
const addressInBrackets = /^\[[0-9a-f.:]+\]$/i;
/** Ends of names that mean something only here. */
const local = /(^|\.)(localhost|localdomain|local)$/i;

/** The `name` option: what the client calls itself in EHLO. */
export const clientName = z
  .string()
  .refine((name) => fullName.test(name) || addressInBrackets.test(name), {
    error: 'expected a full name such as connector.example.com, or an address in brackets',
  })
  .describe(
    "What the connector calls itself to the mail server (EHLO). By default this machine's full name, or the domain of `from` where it has none.",
  );

/** Relays such as Google's turn away who has no name of their own; a container's name is none. */
export function defaultClientName(hostname: string, fromDomain: string): string {
  return fullName.test(hostname) && !local.test(hostname) ? hostname : fromDomain;
}

/** Whether traffic to this host stays on this machine. A name may begin with 127, too, and lead anywhere. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
