import {
  Server,
  type IncomingMessage,
  type RequestListener,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface HttpServerOptions extends ServerOptions {
  /** How long a connection may take for a request once the server retires. */
  readonly patienceMs?: number;
}

const sweepEveryMs = 20;

/** An HTTP server that leaves without losing a request: it retires first, goes on serving, and closes its port last. */
export class HttpServer extends Server {
  readonly #listener: RequestListener;
  readonly #patienceMs: number;
  /** The connections without an unfinished answer, and since when (ms, monotonic): the longest idle comes first. */
  readonly #idle = new Map<Socket, number>();
  /** How many answers of a connection are unfinished; pipelined requests make it more than one. */
  readonly #unfinished = new WeakMap<Socket, number>();
  #retiring: Promise<void> | null = null;

  constructor({ patienceMs = 1000, ...options }: HttpServerOptions, listener: RequestListener) {
    super(options);
    this.#listener = listener;
    this.#patienceMs = patienceMs;
    this.on('connection', (socket: Socket) => this.#opened(socket));
    const serve = (req: IncomingMessage, res: ServerResponse) => this.#serve(req, res);
    this.on('request', serve);
    // A body is asked for where it is read; one that is refused before then need not be sent.
    this.on('checkContinue', serve);
    // Any other expectation may be ignored (RFC 9110, 10.1.1), and an event is worth more than a 417.
    this.on('checkExpectation', serve);
  }

  /**
   * From now on each answer is the last one on its connection, and a connection that brings no request is closed before
   * long. New connections are still taken. Resolves when those that are open now had their time for a request.
   */
  retire(): Promise<void> {
    this.#retiring ??= this.#retire();
    return this.#retiring;
  }

  /** Closes the port, lets the requests under way end, and closes what is still open after `timeoutMs`. */
  async stop(timeoutMs: number): Promise<void> {
    void this.retire();
    const closed = new Promise((resolve) => {
      this.close(resolve);
    });
    const forced = setTimeout(() => this.closeAllConnections(), timeoutMs);
    await closed;
    clearTimeout(forced);
  }

  /** Node asks for it when the port closes. A sender that has just connected would lose its request to Node's own. */
  override closeIdleConnections(): void {
    const until = performance.now() - this.#patienceMs;
    for (const [socket, since] of this.#idle) if (since <= until) socket.destroy();
  }

  async #retire(): Promise<void> {
    const now = performance.now();
    for (const socket of this.#idle.keys()) this.#idle.set(socket, now);
    const sweep = setInterval(() => this.closeIdleConnections(), sweepEveryMs);
    this.once('close', () => clearInterval(sweep));
    while ((this.#idle.values().next().value ?? Infinity) <= now) await delay(sweepEveryMs);
  }

  #opened(socket: Socket): void {
    this.#idle.set(socket, performance.now());
    socket.once('close', () => this.#idle.delete(socket));
  }

  #serve(req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req;
    this.#idle.delete(socket);
    this.#unfinished.set(socket, (this.#unfinished.get(socket) ?? 0) + 1);
    res.once('close', () => this.#answered(socket));
    if (this.#retiring) res.setHeader('connection', 'close');
    this.#listener(req, res);
  }

  #answered(socket: Socket): void {
    const left = (this.#unfinished.get(socket) ?? 1) - 1;
    this.#unfinished.set(socket, left);
    if (left === 0 && !socket.destroyed) this.#idle.set(socket, performance.now());
  }
}
