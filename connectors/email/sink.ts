import { hostname } from 'node:os';
import type { Readable } from 'node:stream';
import { createTransport } from 'nodemailer';
import { masker } from '../../src/connector.ts';
import type { AttemptRequest, Sink } from '../../src/connector.ts';
import type { Outcome } from '../../src/model.ts';
import { bare, domainOf } from './addresses.ts';
import type { Address } from './addresses.ts';
import { checkMailServer } from './check.ts';
import type { Mail } from './compose.ts';
import type { SmtpError } from './faults.ts';
import { outcomeOf } from './outcome.ts';
import { concluded, PolicyRefusals, progressOf, recipientsLeft, settled } from './recipients.ts';
import { defaultClientName, isLoopback } from './server.ts';
import type { MailServer } from './server.ts';

interface MailOptions {
  readonly url: MailServer;
  readonly from: Address;
  readonly name?: string | undefined;
  readonly requireTls?: boolean | undefined;
}

type Transport = ReturnType<typeof pooled>;

/** A pool of SMTP connections that stay open between mails. Opens none yet. */
export function connectMail(options: MailOptions): Sink<Mail> {
  const settings = settingsOf(options);
  const transport = pooled(settings);
  const means = {
    transport,
    bodies: watchBodies(transport),
    policyRefusals: new PolicyRefusals(),
    mask: masking(options.url),
  };
  return {
    deliver: (request) => deliver(means, request),
    check: (messages, signal) => checkMailServer({ settings, ...options, ...means }, messages, signal),
    close: async () => transport.close(),
  };
}

const setupTimeoutMs = 15_000;

function settingsOf({ url, from, name, requireTls }: MailOptions) {
  const trusted = requireTls ?? (url.login !== null && !isLoopback(url.host));
  return {
    name: name ?? defaultClientName(hostname(), domainOf(from)),
    host: url.host,
    port: url.port,
    secure: url.secure,
    requireTLS: trusted && !url.secure,
    // Where sending in the clear is fine, so is encrypting for a server that cannot prove who it is.
    tls: { rejectUnauthorized: trusted || url.secure },
    ...(url.login && { auth: { user: url.login.user, pass: url.login.password.reveal() } }),
    dnsTimeout: setupTimeoutMs,
    connectionTimeout: setupTimeoutMs,
    greetingTimeout: setupTimeoutMs,
    socketCloseTimeout: 1000,
  };
}

export type MailSettings = ReturnType<typeof settingsOf>;

function pooled(settings: MailSettings) {
  return createTransport({
    ...settings,
    pool: true,
    // Its own second try would make repeats that nobody knows of.
    maxRequeues: 0,
    // The sink's `concurrency` decides: the pool opens no more than are in use at once.
    maxConnections: 100,
    maxMessages: 1000,
    idleTimeout: 60_000,
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

interface Means {
  readonly transport: Transport;
  readonly bodies: Map<string, Readable>;
  readonly policyRefusals: PolicyRefusals;
  readonly mask: (error: SmtpError) => SmtpError;
}

async function deliver(
  { transport, bodies, policyRefusals, mask }: Means,
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
    return settled(message, earlier, sent, policyRefusals.areTheSinks(sent));
  } catch (thrown) {
    const error = mask(thrown as SmtpError);
    const { rejectedErrors } = error;
    if (rejectedErrors) {
      const answer = { accepted: [], rejectedErrors };
      return settled(message, earlier, answer, policyRefusals.areTheSinks(answer));
    }
    // The text is asked for only when recipients passed.
    if (error.command === 'DATA') policyRefusals.passed();
    const wentOut = bodies.get(message.messageId)?.readableEnded ?? false;
    return outcomeOf(error, wentOut, signal.aborted);
  } finally {
    bodies.delete(message.messageId);
  }
}

type Writable<T> = { -readonly [K in keyof T]: Writable<T[K]> };

/** Some servers repeat in a reply what they were sent, the login included. */
function masking({ login }: MailServer): (error: SmtpError) => SmtpError {
  if (login === null) return (error) => error;
  const password = login.password.reveal();
  const shown = masker([base64(`\0${login.user}\0${password}`), base64(password), password]);
  return (error) => {
    for (const each of [error, ...(error.rejectedErrors ?? [])]) {
      each.message = shown(each.message);
      if (each.response !== undefined) each.response = shown(each.response);
    }
    return error;
  };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
