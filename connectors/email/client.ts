import type { Readable } from 'node:stream';
import { createTransport } from 'nodemailer';
import type { NodemailerError } from 'nodemailer';
import { masker } from '../../src/connector.ts';
import type { Secret } from '../../src/connector.ts';
import type { Address } from './addresses.ts';

/** A mail server, as its URL names it. */
export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (smtps); otherwise STARTTLS upgrades the connection. */
  readonly secure: boolean;
  readonly login: { readonly user: string; readonly password: Secret } | null;
}

/** The sink's options, with their defaults filled in. */
export interface MailOptions {
  readonly url: MailServer;
  readonly from: Address;
  readonly name: string;
  readonly requireTls: boolean;
}

/**
 * nodemailer's error. `code` is its own (EAUTH, ETIMEDOUT, …), `originalCode` the system's (ECONNREFUSED, …). `command` is
 * the step that failed, but is `CONN` also for failures after the mail went out.
 */
export type SmtpError = NodemailerError;

const setupTimeoutMs = 15_000;

/** How to connect, as nodemailer takes it. */
export function smtpSettings({ url, name, requireTls }: MailOptions) {
  return {
    name,
    host: url.host,
    port: url.port,
    secure: url.secure,
    requireTLS: requireTls && !url.secure,
    // Where sending unencrypted is allowed, so is encrypting for a server that cannot prove who it is.
    tls: { rejectUnauthorized: requireTls || url.secure },
    ...(url.login && { auth: { user: url.login.user, pass: url.login.password.reveal() } }),
    dnsTimeout: setupTimeoutMs,
    connectionTimeout: setupTimeoutMs,
    greetingTimeout: setupTimeoutMs,
    socketCloseTimeout: 1000,
  };
}

export type SmtpSettings = ReturnType<typeof smtpSettings>;

/** Connections that stay open between mails. Opens none yet. */
export function smtpPool(settings: SmtpSettings) {
  return createTransport({
    ...settings,
    pool: true,
    // A second try of its own could send a mail twice.
    maxRequeues: 0,
    // The sink's `concurrency` decides: the pool opens no more than are in use at once.
    maxConnections: 100,
    maxMessages: 1000,
    idleTimeout: 60_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

export type SmtpPool = ReturnType<typeof smtpPool>;

/**
 * Keeps the stream of each mail being sent, by its Message-ID. nodemailer reports a time-out after the mail went out as
 * one of the connection. This stream tells them apart: the line that ends a mail is written only after it has ended.
 */
export function watchBodies(pool: SmtpPool): Map<string, Readable> {
  const bodies = new Map<string, Readable>();
  pool.use('stream', (mail, done) => {
    mail.message?.processFunc((body) => {
      bodies.set(String(mail.data.messageId), body);
      return body;
    });
    done();
  });
  return bodies;
}

/** Masks the login in errors: some servers repeat in a reply what they were sent. */
export function loginMasker({ login }: MailServer): (error: SmtpError) => SmtpError {
  if (login === null) return (error) => error;
  const password = login.password.reveal();
  const mask = masker([base64(`\0${login.user}\0${password}`), base64(password), password]);
  return (error) => {
    for (const each of [error, ...(error.rejectedErrors ?? [])]) {
      each.message = mask(each.message);
      if (each.response !== undefined) each.response = mask(each.response);
    }
    return error;
  };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
