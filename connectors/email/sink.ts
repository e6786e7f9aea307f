import type { Readable } from 'node:stream';
import { createTransport } from 'nodemailer';
import type { AttemptRequest, LiveCheck, Sink } from '../../src/connector.ts';
import type { Outcome } from '../../src/model.ts';
import { bare } from './addresses.ts';
import type { Mail } from './compose.ts';
import { checkMailServer } from './check.ts';
import type { SmtpError } from './faults.ts';
import { outcomeOf } from './outcome.ts';

import { concluded, progressOf, recipientsLeft, settled } from './recipients.ts';
import { isLoopback } from './server.ts';
import type { MailServer } from './server.ts';

interface MailOptions {
  readonly url: MailServer;
  readonly requireTls?: boolean | undefined;
}

type Transport = ReturnType<typeof pooled>;

/** A pool of SMTP connections that stay open between mails. Opens none yet. */
export function connectMail(options: MailOptions): Sink<Mail> {
  const transport = pooled(options);
  const bodies = watchBodies(transport);
  const mask = masking(options.url);
  return {
    deliver: async (request) => mask(await deliver(transport, bodies, request)),
    check: async (_messages, signal): Promise<LiveCheck[]> =>
      mask(await checkMailServer(() => transport.verify(), options.url, signal)),
    close: async () => transport.close(),
  };
}

const setupTimeoutMs = 15_000;

function pooled({ url, requireTls }: MailOptions) {
  const trusted = requireTls ?? (url.login !== null && !isLoopback(url.host));
  return createTransport({
    pool: true,
    host: url.host,
    port: url.port,
    secure: url.secure,
    requireTLS: trusted && !url.secure,
    // Where sending in the clear is fine, so is encrypting for a server that cannot prove who it is.
    tls: { rejectUnauthorized: trusted || url.secure },
    ...(url.login && { auth: { user: url.login.user, pass: url.login.password.reveal() } }),
    // Its own second try would make repeats that nobody knows of.
    maxRequeues: 0,
    // The sink's `concurrency` decides: the pool opens no more than are in use at once.
    maxConnections: 100,
    maxMessages: 1000,
    idleTimeout: 60_000,
    dnsTimeout: setupTimeoutMs,
    connectionTimeout: setupTimeoutMs,
    greetingTimeout: setupTimeoutMs,
    socketCloseTimeout: 1000,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/**
 * Keeps the stream of each mail under way, by its Message-ID. nodemailer reports a time-out after the mail went out as one of
 * the connection. What tells them apart: the line by which a server takes a mail is written only after this stream ended.
 */
function watchBodies(transport: Transport): Map<string, Readable> {
  const bodies = new Map<string, Readable>();
  transport.use('stream', (mail, done) => {
    mail.message?.processFunc((body) => {
      bodies.set(String(mail.data.messageId), body);
      return body;
    });
    done();
  });
  return bodies;
}

async function deliver(
  transport: Transport,
  bodies: Map<string, Readable>,
  { message, progress, now, signal }: AttemptRequest<Mail>,
): Promise<Outcome> {
  const earlier = progressOf(progress);
  const to = recipientsLeft(message, earlier);
  if (to.length === 0) return concluded(message, earlier);
  try {
    const envelope = { from: bare(message.from), to };
    // The copy is for nodemailer, which takes no read-only lists.
    const sent = await transport.sendMail({
      ...structuredClone(message as Writable<Mail>),
      date: new Date(now),
      envelope,
      signal,
    });
    return settled(message, earlier, sent);
  } catch (thrown) {
    const error = thrown as SmtpError;
    if (error.rejectedErrors)
      return settled(message, earlier, { accepted: [], rejectedErrors: error.rejectedErrors });
    return outcomeOf(error, bodies.get(message.messageId)?.readableEnded ?? false, signal.aborted);
  } finally {
    bodies.delete(message.messageId);
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] extends object ? Writable<T[K]> : T[K] };

/** Some servers repeat what they were sent in their reply, the login included. */
function masking({ login }: MailServer): <T>(value: T) => T {
  if (login === null) return (value) => value;
  const password = login.password.reveal();
  const secrets = [base64(`\0${login.user}\0${password}`), base64(password), password];
  const masked = (text: string) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
  // Only where a reply is quoted: addresses must stay as they are for the next attempt.
  const quoting = new Set(['detail', 'note', 'reply']);
  return (value) =>
    JSON.parse(JSON.stringify(value), (key, part) =>
      quoting.has(key) && typeof part === 'string' ? masked(part) : part,
    );
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
