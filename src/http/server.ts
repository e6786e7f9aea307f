import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { ErrorRequestHandler } from 'express';
import type { Logger } from 'pino';
import { type Connection, Connections, type ConnectionsOptions } from './connections.ts';
import { answerProblem, hangUpSocket, http, type Refusal } from './problem.ts';

export interface HttpServerOptions {
  readonly log: Pick<Logger, 'warn'>;
  /** The time-out for the head of a request. */
  readonly timeoutMs?: number;
  /** How long a connection may make no progress while an answer is unfinished. */
  readonly stillMs?: number;
  /** How long an idle connection may stay open once the server retires. */
  readonly patienceMs?: number;
  /** Called for what came from an address and is no valid request, such as TLS. */
  readonly unreadable?: (address: string, refusal: Refusal) => void;
  /** Called with the address of a connection that was closed to make room before a request was read on it. */
  readonly noRoom?: (address: string) => void;
}

/** Unfinished answers of one connection. A client that pipelines more does not mean to read them. */
const maxUnfinished = 64;
/** Longer than the minute of most proxies: if we closed first, a request under way could be lost. */
const keepAliveTimeoutMs = 75_000;
/** The time that the testing service waits for an answer. */
const defaultStillMs = 30_000;
const sweepEveryMs = 20;
const acceptWaitingForMs = 500;
const warnEveryMs = 60_000;

/**
 * An HTTP server that anyone may connect to. The number of connections is bounded, and so is what one can hold. All
 * errors have one form, also those for what is not a valid request. It stops without losing a request: it retires
 * first, goes on serving, and closes its port last.
 */
export class HttpServer extends http.Server {
  readonly #listener: RequestListener;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #patienceMs: number;
  readonly #connections: Connections;
  readonly #unreadable: NonNullable<HttpServerOptions['unreadable']>;
  #retiring: Promise<void> | null = null;
  /** Another process listens on the socket after this one. */
  socketOutlivesIt = false;
  #accepted = 0;
  #isUnix = false;
  #warnedAt = -Infinity;

  constructor(options: HttpServerOptions, places: ConnectionsOptions, listener: RequestListener) {
    const { timeoutMs = 10_000, stillMs = defaultStillMs, patienceMs = 1000 } = options;
    super({
      headersTimeout: timeoutMs,
      // Ends a body that is read only to be dropped. A wanted one runs into its own time-out before.
      requestTimeout: 2 * timeoutMs + 30_000,
      connectionsCheckingInterval: Math.min(500, timeoutMs),
      keepAliveTimeout: keepAliveTimeoutMs,
      // Checked below: Node's own answer would have another form.
      requireHostHeader: false,
    });
    this.timeout = stillMs;
    this.#listener = listener;
    this.#log = options.log;
    this.#patienceMs = patienceMs;
    this.#connections = new Connections(places);
    this.#unreadable = options.unreadable ?? (() => {});
    this.#addListeners(options.noRoom);
  }

  /**
   * From now on each answer is the last one on its connection, and idle connections are closed soon. New connections
   * are still accepted. Resolves when all that are open now have had time for a request.
   */
  retire(): Promise<void> {
    this.#retiring ??= this.#retire();
    return this.#retiring;
  }

  /** Closes the port, lets the requests under way finish, and closes what is still open after `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    void this.retire();
    await this.#acceptWaiting();
    const closed = new Promise((resolve) => {
      this.close(resolve);
    });
    const forced = setTimeout(() => this.closeAllConnections(), timeoutMs);
    await closed;
    clearTimeout(forced);
  }

  /**
   * Connections that the system has made and Node has not accepted are reset when the port closes, with the requests that
   * they have sent. Node accepts one in each turn of the event loop. So that there is an end, the system is told to make no
   * further ones: a client's system then tries again after a second, when the next process may listen.
   */
  async #acceptWaiting(): Promise<void> {
    const until = performance.now() + acceptWaitingForMs;
    // Node can set the length of the queue only as it begins to listen; the handle can at any time.
    const handle = Reflect.get(this, '_handle') as { listen?: (backlog: number) => number } | null;
    if (!this.socketOutlivesIt) handle?.listen?.(0);
    await nextTurn();
    for (let before = -1; before < this.#accepted && performance.now() < until;) {
      before = this.#accepted;
      await nextTurn();
    }
  }

  /** Called by Node when the port closes. Node's own version would also close a connection that has just been opened. */
  override closeIdleConnections(): void {
    this.#connections.closeIdle(this.#patienceMs);
  }

  async #retire(): Promise<void> {
    const allHadTime = this.#connections.restartIdleTime();
    // `setImmediate`, so that requests are read first that came while the process was busy.
    const sweep = setInterval(() => setImmediate(() => this.closeIdleConnections()), sweepEveryMs);
    this.once('close', () => clearInterval(sweep));
    while (!allHadTime()) await delay(sweepEveryMs);
  }

  #addListeners(noRoom: HttpServerOptions['noRoom']): void {
    this.on('listening', () => {
      const address = this.address();
      this.#isUnix = address === null || typeof address === 'string';
    });
    this.on('connection', (socket: Socket) => {
      this.#accepted += 1;
      // A unix socket has no addresses, and only this machine reaches it.
      if (this.#isUnix) Object.defineProperty(socket, 'remoteAddress', { value: '127.0.0.1' });
      const closed = this.#connections.add(socket);
      if (closed?.isUnread) noRoom?.(closed.address);
      if (closed) this.#warn('the limit of connections is reached: some are closed to make room');
    });
    this.on('error', () => {
      if (!this.listening) return;
      this.#connections.closeSomeIdle();
      this.#warn(
        'a connection cannot be accepted, most likely for lack of open files: some idle ones are closed',
      );
    });
    const serve = (req: IncomingMessage, res: ServerResponse) => this.#serve(req, res);
    this.on('request', serve);
    // The body is asked for where it is read; a request that is refused before need not send it.
    this.on('checkContinue', serve);
    // Any other expectation may be ignored (RFC 9110, 10.1.1), and an event is worth more than a 417.
    this.on('checkExpectation', serve);
    this.on('clientError', (error: ClientError, socket) => {
      const refusal = refusalFor(error);
      // A client that leaves in the middle of a request is told of with that.
      if (/^HPE_(?!INVALID_EOF_STATE)/.test(error.code ?? ''))
        this.#unreadable((socket as Socket).remoteAddress ?? '', refusal);
      this.#refuse(socket, refusal);
    });
    // Node leaves CONNECT without any answer.
    this.on('connect', (_req, socket) => this.#refuse(socket, nothingHere));
  }

  #serve(req: IncomingMessage, res: ServerResponse): void {
    const connection = this.#connections.of(req.socket);
    if (!connection || connection.ending) return;
    this.#connections.began(req.socket, connection, res);
    if (this.#retiring) res.setHeader('connection', 'close');
    if (isOpenEnded(req) || connection.unfinished === maxUnfinished) this.#makeLast(res, connection);
    if (connection.unfinished === maxUnfinished && req.socket.writableLength > 0)
      return void req.socket.destroy();
    const fault = hostFault(req);
    if (fault) {
      const refusal = { status: 400, detail: fault, headers: { connection: 'close' } };
      this.#unreadable(req.socket.remoteAddress ?? '', refusal);
      return answerProblem(res, refusal);
    }
    req.url = originForm(req.url ?? '/');
    this.#listener(req, res);
  }

  #makeLast(res: ServerResponse, connection: Connection): void {
    connection.ending = true;
    res.setHeader('connection', 'close');
    // What was read already may be many more requests, and none of them is answered.
    res.req.socket.pause();
  }

  /**
   * Answers what Node could not parse, in the form of all other errors. Node's default would answer before an earlier
   * request on the connection that still waits for its commit, and so report an accepted event as refused.
   */
  #refuse(socket: Duplex, refusal: Refusal): void {
    const connection = this.#connections.of(socket as Socket);
    if (!connection || connection.ending) return;
    connection.ending = true;
    const res = connection.newest;
    if (res?.req.complete && !res.writableFinished) res.once('close', () => hangUpSocket(socket));
    else if (res?.req.complete === false && res.headersSent) socket.destroy();
    else hangUpSocket(socket, refusal);
  }

  #warn(message: string): void {
    const now = performance.now();
    if (now < this.#warnedAt + warnEveryMs) return;
    this.#warnedAt = now;
    this.#log.warn({ connections: this.#connections.size }, message);
  }
}

export const nothingHere: Refusal = { status: 404, detail: 'There is nothing here.' };

/** Logs a bug, and answers with `refusal`. */
export function afterBug(
  log: Pick<Logger, 'error'>,
  refusal: Refusal,
): (error: unknown, res: ServerResponse) => void {
  return (error, res) => {
    log.error({ err: error }, 'a request failed');
    if (res.headersSent) res.destroy();
    else answerProblem(res, refusal);
  };
}

/** The handler of errors for Express, whose own would show the stack. */
export function errorHandler(answer: ReturnType<typeof afterBug>): ErrorRequestHandler {
  return (error, _req, res, _next) => answer(error, res);
}

interface ClientError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
}

/** The first bytes of a TLS connection. */
const isTls = (bytes: Buffer | undefined): boolean => bytes?.[0] === 0x16 && bytes[1] === 3;

function refusalFor({ code, rawPacket }: ClientError): Refusal {
  if (isTls(rawPacket))
    return {
      status: 400,
      detail:
        'This is TLS, and the port speaks plain HTTP. Let a proxy in front of it end TLS, and call this port by http://.',
    };
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, detail: 'The request did not arrive in time.' };
    case 'HPE_HEADER_OVERFLOW':
      return { status: 431, detail: 'The headers are too large.' };
    default:
      return { status: 400, detail: 'This is not an HTTP request.' };
  }
}

/**
 * Whether the bytes that follow a request may be no request: the client asks for another protocol, which nobody here speaks
 * (RFC 9110, 7.8), or a proxy that knows no chunks may see the end elsewhere (RFC 9112, 6.1).
 */
const isOpenEnded = ({ headers, httpVersion }: IncomingMessage): boolean =>
  headers.upgrade !== undefined || (httpVersion === '1.0' && headers['transfer-encoding'] !== undefined);

/** What is wrong with the Host header; null if nothing is. With two of them, a proxy could see another host (RFC 9112, 3.2). */
function hostFault({ headers, rawHeaders, httpVersion }: IncomingMessage): string | null {
  if (headers.host === undefined) return httpVersion === '1.1' ? 'The request names no Host.' : null;
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1 ? 'The request names more than one Host.' : null;
}

/** The path and query of a request. Some proxies send the whole URL. */
function originForm(url: string): string {
  if (url.startsWith('/')) return url;
  const rest = url.replace(/^https?:\/\/[^/?]*/i, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Asks for the body, where the client waits to be asked for it. */
export function continueIfExpected({ headers }: IncomingMessage, res: ServerResponse): void {
  if (headers.expect?.toLowerCase() === '100-continue') res.writeContinue();
}
