import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { SecureVersion } from 'node:tls';
import PostalMime from 'postal-mime';
import type { Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import { Faults } from './faults.ts';

/** A mail that the sandbox took. */
export interface ReceivedMail {
  /** The part of the Message-ID before the @. */
  readonly deliveryId: string;
  readonly envelope: { readonly from: string; readonly to: readonly string[] };
  /** The name that the client gave. */
  readonly ehlo: string;
  readonly parsed: Email;
  readonly raw: string;
  readonly user: string | null;
  readonly encrypted: boolean;
}

export interface SmtpSandboxOptions {
  /** The login that is demanded, if any. */
  readonly login?: { readonly user: string; readonly password: string };
  /** The access tokens that are taken; no passwords are then. */
  readonly oauth2?: {
    readonly user: string;
    readonly isValid: (token: string) => boolean;
    readonly like: 'Google' | 'Microsoft';
  };
  /** Offers STARTTLS, or with `implicit` speaks TLS from the first byte; with a `maxVersion` as an old server does. */
  readonly tls?: {
    readonly key: string;
    readonly cert: string;
    readonly implicit?: boolean;
    readonly minVersion?: SecureVersion;
    readonly maxVersion?: SecureVersion;
    readonly ciphers?: string;
  };
  /** The domains that mail is taken for without a login, as by a server of one's own. Default: all. */
  readonly relaysFor?: readonly string[];
  /** The number of mails a connection may bring, and the reply to the next one. */
  readonly perConnection?: { readonly mails: number; readonly reply: string };
  /** Clients that are silent for so long are hung up on, with 421 (RFC 5321, 4.5.3.2.7). */
  readonly idleMs?: number;
  /** The largest mail, which is announced (RFC 1870). */
  readonly maxBytes?: number;
  /** Refuses each sender and recipient the first time, in the words of Postgrey. */
  readonly greylists?: boolean;
  /** Replies by recipient, as `550 5.1.1 No such user`. */
  readonly refuse?: { readonly [address: string]: string };
}

type Done = (error?: Error | null) => void;

/** Greets at once, as mail servers do. smtp-server lets each client wait 100 ms, to catch those that speak first. */
class PromptServer extends SMTPServer {
  override connect(...to: Parameters<SMTPServer['connect']>): void {
    super.connect(...to);
    const connection = [...this.connections].at(-1)!;
    const ready = connection.connectionReady.bind(connection);
    let isReady = false;
    // Its timer calls this once more.
    connection.connectionReady = () => {
      if (!isReady) ready();
      isReady = true;
    };
    setImmediate(() => connection.connectionReady());
  }
}

/** A mail server on loopback that keeps what it gets. Calls for faults: CONNECT, AUTH, MAIL, RCPT, DATA. */
export class SmtpSandbox {
  readonly faults = new Faults();
  readonly mails: ReceivedMail[] = [];
  /** How many connections were opened. */
  connections = 0;
  refuse: { readonly [address: string]: string };
  port = 0;
  readonly #triplets = new Set<string>();
  readonly #options: SmtpSandboxOptions;
  #server: SMTPServer | null = null;

  constructor(options: SmtpSandboxOptions = {}) {
    this.#options = options;
    this.refuse = options.refuse ?? {};
  }

  /** Listens on 127.0.0.1, after a stop on the same port as before. */
  async start(): Promise<this> {
    const server = new PromptServer(this.#settings());
    server.on('error', () => {});
    server.server.on('connection', () => (this.connections += 1));
    server.listen(this.port, '127.0.0.1');
    await once(server.server, 'listening');
    this.port = (server.server.address() as AddressInfo).port;
    this.#server = server;
    return this;
  }

  /** Stops listening and drops every connection. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const connection of server.connections) drop(connection);
    await closed;
  }

  async close(): Promise<void> {
    await this.stop();
  }

  /** How many connections are open. */
  get open(): number {
    return this.#server?.connections.size ?? 0;
  }

  url(user = this.#options.login?.user, password = this.#options.login?.password): string {
    const scheme = this.#options.tls?.implicit ? 'smtps' : 'smtp';
    const login =
      user === undefined ? '' : `${encodeURIComponent(user)}:${encodeURIComponent(password ?? '')}@`;
    return `${scheme}://${login}localhost:${this.port}`;
  }

  #settings(): ConstructorParameters<typeof SMTPServer>[0] {
    const { login, tls, oauth2, idleMs, maxBytes } = this.#options;
    const hasLogin = login !== undefined || oauth2 !== undefined;
    return {
      secure: tls?.implicit ?? false,
      ...tls,
      disabledCommands: [...(tls ? [] : ['STARTTLS']), ...(hasLogin ? [] : ['AUTH'])],
      authMethods: [...(oauth2 ? ['XOAUTH2'] : []), 'LOGIN', 'PLAIN'],
      authOptional: !hasLogin,
      allowInsecureAuth: tls === undefined,
      disableReverseLookup: true,
      closeTimeout: 10,
      logger: false,
      ...(idleMs !== undefined && { socketTimeout: idleMs }),
      ...(maxBytes !== undefined && { size: maxBytes }),
      onConnect: (session, done) => this.#play('CONNECT', session, done),
      onAuth: (auth, session, done) =>
        this.#play('AUTH', session, (error) => {
          const ok = auth.username === login?.user && auth.password === login?.password;
          if (error) done(error);
          else if (oauth2) checkToken(oauth2, auth, done);
          else if (ok) done(null, { user: auth.username });
          else done(replyError('535 Authentication credentials invalid'));
        }),
      onMailFrom: (_address, session, done) =>
        this.#play('MAIL', session, (error) =>
          done(error ?? nameRefusal(session.hostNameAppearsAs) ?? this.#limitRefusal(session)),
        ),
      onRcptTo: ({ address }, session, done) => {
        const refusal =
          this.refuse[address] ?? this.#relayRefusal(address, session) ?? this.#greylisting(address, session);
        this.#play('RCPT', session, (error) =>
          done(error ?? (refusal === null ? null : replyError(refusal))),
        );
      },
      onData: (stream, session, done) => void this.#receive(stream, session, done),
    };
  }

  /** The refusal to relay, as Postfix does by default (smtpd_relay_restrictions), in its words; null where it relays. */
  #relayRefusal(address: string, session: SMTPServerSession): string | null {
    const { relaysFor } = this.#options;
    const isAllowed =
      session.user !== undefined || relaysFor?.includes(address.replace(/^.*@/, '')) !== false;
    return isAllowed ? null : `554 5.7.1 <${address}>: Relay access denied`;
  }

  #limitRefusal(session: SMTPServerSession): Error | null {
    const { mails, reply } = this.#options.perConnection ?? { mails: Infinity, reply: '' };
    return session.transaction > mails ? replyError(reply) : null;
  }

  #greylisting(address: string, { envelope: { mailFrom } }: SMTPServerSession): string | null {
    const triplet = `${mailFrom ? mailFrom.address : ''} ${address}`;
    if (!this.#options.greylists || this.#triplets.has(triplet)) return null;
    this.#triplets.add(triplet);
    return `450 4.2.0 <${address}>: Recipient address rejected: Greylisted`;
  }

  async #receive(stream: SMTPServerDataStream, session: SMTPServerSession, done: Done): Promise<void> {
    const raw = await buffer(stream).catch(() => null);
    if (raw === null) return;
    // In the words of Postfix.
    if (stream.sizeExceeded) return done(replyError('552 5.3.4 Error: message file too big'));
    // RFC 5322, 2.1.1, in the words of Debian's Exim (acl_check_data).
    const longest = Math.max(
      ...raw
        .toString('latin1')
        .split('\r\n')
        .map((line) => line.length),
    );
    if (longest > 998)
      return done(replyError(`550 maximum allowed line length is 998 octets, got ${longest}`));
    const mail = await received(raw, session);
    this.#play('DATA', session, done, () => this.mails.push(mail));
  }

  /** Plays the fault that is due for a call, or lets the call take effect. */
  #play(name: string, session: SMTPServerSession, done: Done, commit: () => void = () => {}): void {
    const fault = this.faults.take({ name });
    if (fault === null) {
      commit();
      done();
    } else if (fault.kind === 'status') {
      if (fault.commit) commit();
      done(replyError(`${fault.status} ${typeof fault.body === 'string' ? fault.body : 'Told to refuse'}`));
    } else if (fault.kind === 'rate-limit') {
      done(replyError('450 Too many messages, slow down'));
    } else if (fault.kind === 'slow') {
      setTimeout(() => (commit(), done()), fault.ms);
    } else {
      if (fault.commit) commit();
      if (fault.kind === 'drop') drop(this.#connectionOf(session));
    }
  }

  #connectionOf(session: SMTPServerSession): Connection | undefined {
    return [...(this.#server?.connections ?? [])].find((connection) => connection.session === session);
  }
}

type Connection = SMTPServer['connections'] extends Set<infer T> ? T : never;

/** Ends a connection without a word. In the middle of a TLS handshake that would crash Node; closing the server ends those. */
function drop(connection: Connection | undefined): void {
  if (connection === undefined) return;
  const { _upgrading: upgrading, _socket: socket } = connection;
  if (!upgrading) socket.destroy();
}

async function received(raw: Buffer, session: SMTPServerSession): Promise<ReceivedMail> {
  const parsed = await PostalMime.parse(raw);
  const { mailFrom, rcptTo } = session.envelope;
  return {
    deliveryId: /^<(.*)@/.exec(parsed.messageId ?? '')?.[1] ?? '',
    ehlo: session.hostNameAppearsAs,
    envelope: { from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address) },
    parsed,
    raw: raw.toString('latin1'),
    user: typeof session.user === 'string' ? session.user : null,
    encrypted: session.secure,
  };
}

/**
 * The refusal of a client's name; null if it is taken. Google's relay turns away clients without a full name, an address in brackets included
 * (support.google.com/a/answer/2956491), and so does Postfix with reject_non_fqdn_helo_hostname, whose words these are.
 */
function nameRefusal(name: string): Error | null {
  if (/^(?=.*[a-z])[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(name)) return null;
  return replyError(`504 5.5.2 <${name}>: Helo command rejected: need fully-qualified hostname`);
}

type Login = Parameters<NonNullable<SMTPServer['options']['onAuth']>>;

/**
 * Checks an access token. Google answers a bad one with 334 and JSON, and refuses once the client has sent an empty line
 * (developers.google.com/workspace/gmail/imap/xoauth2-protocol). Microsoft refuses at once, and passwords in its own words
 * (learn.microsoft.com, "Deprecation of Basic authentication in Exchange Online").
 */
function checkToken(
  { user, isValid, like }: NonNullable<SmtpSandboxOptions['oauth2']>,
  { method, username, accessToken = '' }: Login[0],
  done: Login[2],
): void {
  if (method !== 'XOAUTH2')
    done(replyError('550 5.7.30 Basic authentication is not supported for Client Submission.'));
  else if (username === user && isValid(accessToken)) done(null, { user: username });
  else if (like === 'Microsoft') done(replyError('535 5.7.3 Authentication unsuccessful'));
  else done(null, { data: { status: '400', schemes: 'Bearer', scope: 'https://mail.google.com/' } });
}

function replyError(reply: string): Error {
  return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) });
}
