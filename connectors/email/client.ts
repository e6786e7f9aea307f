import type { Readable } from 'node:stream';
import { createTransport } from 'nodemailer';
import type { NodemailerError, SendMailOptions, SMTPSentMessageInfo } from 'nodemailer';
import { AccessTokens, masker, statedDelayMs, WatchedFetch } from '../../src/connector.ts';
import type { OAuth2Options, PostForm, Proxy, RefreshTokens, Secret } from '../../src/connector.ts';
import type { Retry } from '../../src/model/outcomes.ts';
import type { Address } from './addresses.ts';

/** A mail server, by the `url` option. */
export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (smtps); otherwise STARTTLS upgrades the connection. */
  readonly secure: boolean;
  /** The password is null where access tokens log in. */
  readonly login: { readonly user: string; readonly password: Secret | null } | null;
}

/** The sink's options, with their defaults filled in. */
export interface MailOptions {
  readonly url: MailServer;
  readonly from: Address;
  readonly name: string;
  readonly requireTls: boolean;
  readonly oauth2?: OAuth2Options | undefined;
  /** The proxy that access tokens are fetched through; null for none. */
  readonly proxy: Proxy | null;
  readonly refreshTokens: RefreshTokens | undefined;
}

/**
 * An error of nodemailer. `code` is its own (EAUTH, ETIMEDOUT, …), `originalCode` the system's (ECONNREFUSED, …). `command`
 * is the step that failed; it is `CONN` also for failures after the mail went out.
 */
export type SmtpError = NodemailerError;

/**
 * For connecting, the greeting and STARTTLS together. Servers that look for the name of a client, or let all wait on purpose,
 * greet after half a minute. Where a name has several addresses, one that stands still takes its share of this.
 */
const setupTimeoutMs = 45_000;
const dnsTimeoutMs = 15_000;
/** RFC 5321 allows 512 a line. */
const maxReplyBytes = 64 * 1024;

/** The settings of a connection, as nodemailer takes them. */
export function smtpSettings({ url, name, requireTls }: MailOptions, tokens: TokenLogin | null) {
  const { login } = url;
  // On this port servers begin with TLS, also where the url has smtp://; without it they would never greet (RFC 8314, 3.3).
  const secure = url.secure || url.port === 465;
  return {
    name,
    host: url.host,
    port: url.port,
    secure,
    requireTLS: requireTls && !secure,
    // Where mail may go unencrypted, it may also go to a server whose certificate is not trusted.
    tls: { rejectUnauthorized: requireTls || url.secure },
    ...(login?.password && { auth: { user: login.user, pass: login.password.reveal() } }),
    ...(tokens && { auth: { user: tokens.user, method: tokenMethod }, customAuth: tokens.methods }),
    dnsTimeout: dnsTimeoutMs,
    connectionTimeout: setupTimeoutMs,
    greetingTimeout: setupTimeoutMs,
    socketCloseTimeout: 1000,
    maxResponseSize: maxReplyBytes,
  };
}

export type SmtpSettings = ReturnType<typeof smtpSettings>;

/** A pool of connections that stay open between mails. Opens none yet. */
function smtpPool(settings: SmtpSettings) {
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

type SmtpPool = ReturnType<typeof smtpPool>;

interface Connections {
  readonly pool: SmtpPool;
  /** A mail has gone through one of them. */
  hasSent: boolean;
}

/** Sends over connections that stay open, and over fresh ones where the server wants no more mails on an open one. */
export class SmtpClient {
  readonly #settings: SmtpSettings;
  #current: Connections;
  readonly #retired = new Set<SmtpPool>();
  readonly #bodies = new Map<string, Readable>();

  constructor(settings: SmtpSettings) {
    this.#settings = settings;
    this.#current = this.#open();
  }

  /** Sends a mail. `mail` makes it anew for each try, as nodemailer may change it. */
  async send(mail: () => SendMailOptions): Promise<SMTPSentMessageInfo> {
    const used = this.#current;
    try {
      return await this.#sendThrough(used, mail());
    } catch (error) {
      const { code, responseCode, command } = error as SmtpError;
      // The server closed an open connection before anything of the mail was written.
      const isClosed = code === 'ECONNECTION' && responseCode === undefined;
      const isUnused = isClosed && !this.#bodies.get(mail().messageId ?? '')?.readableDidRead;
      // The server takes no more mails over this connection, or has ended its login. Nothing of this mail was written.
      const isUsedUp = command === 'MAIL FROM' && usedUpWords.test(wordsOf(error as SmtpError));
      if (!(isUnused || isUsedUp) || !used.hasSent) throw error;
      if (used === this.#current) this.#retire(used.pool);
      return await this.#sendThrough(this.#current, mail());
    }
  }

  async #sendThrough(connections: Connections, mail: SendMailOptions): Promise<SMTPSentMessageInfo> {
    const sent = await connections.pool.sendMail(mail);
    connections.hasSent = true;
    return sent;
  }

  /**
   * Whether the whole mail was sent. nodemailer reports a time-out after that as one of the connection. The stream of the
   * mail tells them apart: the line that ends a mail is written only after it has ended.
   */
  wentOut({ messageId }: { readonly messageId: string }): boolean {
    return this.#bodies.get(messageId)?.readableEnded ?? false;
  }

  /** To be called when the mail's attempt has ended. */
  forget({ messageId }: { readonly messageId: string }): void {
    this.#bodies.delete(messageId);
  }

  close(): void {
    for (const pool of [this.#current.pool, ...this.#retired]) pool.close();
  }

  #open(): Connections {
    const pool = smtpPool(this.#settings);
    pool.use('stream', (mail, done) => {
      const { signal, messageId } = mail.data;
      mail.message?.processFunc((body) => {
        this.#bodies.set(String(messageId), body);
        // The server has asked for it, perhaps long ago: this process may have stood still since.
        body.once('resume', () => {
          if (signal?.aborted) body.destroy(new Error('aborted'));
        });
        return body;
      });
      if (signal) mail.data.signal = this.#endingOnceRead(signal, String(messageId));
      done();
    });
    return { pool, hasSent: false };
  }

  /**
   * The signal for nodemailer, which drops the reply to a mail where its signal has aborted. Once the whole mail went out, what
   * the server replied is read before it aborts: this process may have stood still since.
   */
  #endingOnceRead(signal: AbortSignal, messageId: string): AbortSignal {
    const controller = new AbortController();
    const abort = () => controller.abort();
    const end = () => void (this.wentOut({ messageId }) ? setImmediate(abort) : abort());
    signal.addEventListener('abort', end, { once: true });
    return controller.signal;
  }

  /** Opens another pool. This one stays until its last connection has been idle: other mails may be under way there. */
  #retire(pool: SmtpPool): void {
    this.#retired.add(pool);
    pool.once('clear', () => this.#retired.delete(pool));
    this.#current = this.#open();
  }
}

const usedUpWords =
  /too many (e-?mails|messages|transactions).*\b(connection|session)|^530\b|\bsession (has )?(expired|timed out)|\breconnect\b/i;

/** The beginning of a reply, which is searched for words. Searching a very long one could block the process for minutes. */
export const wordsOf = ({ response = '' }: SmtpError): string => response.slice(0, 1000);

const maxAnswerBytes = 1024 * 1024;

/** Our name for the login by access token. Errors of it have this command. */
const tokenMethod = 'TOKEN';
export const tokenCommand = `AUTH ${tokenMethod}`;

interface LoginSession {
  readonly sendCommand: (command: string) => Promise<{ readonly status?: number; readonly text?: string }>;
}

/** The login by access token (XOAUTH2). nodemailer's own would log in twice and lose the reply to the first token. */
export class TokenLogin {
  readonly user: string;
  readonly methods = { [tokenMethod]: (session: LoginSession) => this.#logIn(session) };
  readonly #tokens: AccessTokens;
  #token = '';

  constructor(
    user: string,
    options: OAuth2Options,
    { proxy, refreshTokens }: Pick<MailOptions, 'proxy' | 'refreshTokens'>,
  ) {
    this.user = user;
    const post: PostForm = async (url, form, signal) => {
      const watched = new WatchedFetch(maxAnswerBytes, signal, proxy);
      try {
        const answer = await watched.fetch(url, { method: 'POST', ...form });
        const retryAfterMs = statedDelayMs(answer.headers.get('retry-after'));
        return { ok: true, data: { status: answer.status, text: await answer.text(), retryAfterMs } };
      } catch (error) {
        return { ok: false, failure: watched.failureOf(error) };
      }
    };
    this.#tokens = new AccessTokens(options, post, refreshTokens);
  }

  /** Fetches a token where a new one is needed, for the next connections. Resolves to why there is none, or to null. */
  async fault(signal: AbortSignal): Promise<Retry | null> {
    const result = await this.#tokens.get(signal);
    if ('outcome' in result) return result.outcome;
    this.#token = result.token;
    return null;
  }

  /** The server did not take the token: the next attempt fetches another one. */
  refused(): void {
    this.#tokens.refused(this.#token);
  }

  get secrets(): string[] {
    return [this.#token, this.#message];
  }

  get #message(): string {
    return base64(`user=${this.user}\x01auth=Bearer ${this.#token}\x01\x01`);
  }

  async #logIn({ sendCommand }: LoginSession): Promise<void> {
    const first = await sendCommand(`AUTH XOAUTH2 ${this.#message}`);
    // With 334 the server explains itself in JSON; it refuses once that is answered.
    const { status, text } = first.status === 334 ? await sendCommand('') : first;
    if (status !== 235) throw new Error(text);
  }
}

/** Masks the login in errors: some servers repeat in a reply what they were sent. */
export function loginMasker(
  { login }: MailServer,
  tokens: TokenLogin | null,
): (error: SmtpError) => SmtpError {
  const password = login?.password?.reveal() ?? '';
  const ofPassword = masker([base64(`\0${login?.user}\0${password}`), base64(password), password]);
  const mask = (text: string): string => masker(tokens?.secrets ?? [])(ofPassword(text));
  return (error) => {
    for (const each of [error, ...(error.rejectedErrors ?? [])]) {
      each.message = mask(each.message);
      if (each.response !== undefined) each.response = mask(each.response);
    }
    return error;
  };
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
