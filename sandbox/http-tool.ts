import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Faults } from './faults.ts';

export interface ToolRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly bytes: Buffer;
}

export interface ToolAnswer {
  readonly status: number;
  readonly headers?: { readonly [name: string]: string };
  /** A string goes out as it is, everything else as JSON. */
  readonly body: unknown;
}

/** The behaviour of an HTTP tool, without faults. */
export interface ToolApi {
  /** The name of a call, for faults and `calls`. */
  nameOf(request: ToolRequest): string;
  /** Carries a call out. */
  answer(request: ToolRequest): ToolAnswer;
  /** The body of an answer that says that the rate is exceeded. */
  readonly tooMany: object;
}

/** The answer of a tool whose rate is exceeded. */
export const tooMany = (body: object, retryAfterS?: number): ToolAnswer => ({
  status: 429,
  headers: retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) },
  body,
});

/** An HTTP tool on loopback that plays faults. Stopped, it refuses connections; started again, it has the same port. */
export class HttpTool {
  readonly faults = new Faults();
  /** The names of all calls that came, in order. */
  readonly calls: string[] = [];
  /** How many calls were refused for their rate. */
  tooMany = 0;
  readonly #api: ToolApi;
  #server: Server | null = null;
  #port = 0;

  constructor(api: ToolApi) {
    this.#api = api;
  }

  /** `127.0.0.1:port` */
  get authority(): string {
    return `127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const server = createServer((incoming, response) => {
      buffer(incoming).then(
        (bytes) => this.#serve({ ...requestOf(incoming), bytes, body: bytes.toString('utf8') }, response),
        () => response.destroy(),
      );
    });
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
    // Lets a client in this process notice that its idle connections are gone, as one elsewhere would have.
    await nextTurn();
    await nextTurn();
  }

  close(): Promise<void> {
    return this.stop();
  }

  /** The members of a sandbox that are its tool's. */
  get controls() {
    return {
      faults: this.faults,
      calls: this.calls,
      /** How many calls were refused for their rate. */
      tooMany: () => this.tooMany,
      start: () => this.start(),
      stop: () => this.stop(),
      close: () => this.close(),
    };
  }

  #serve(request: ToolRequest, response: ServerResponse): void {
    const name = this.#api.nameOf(request);
    this.calls.push(name);
    const fault = this.faults.take({ name });
    if (fault === null) return this.#send(response, this.#api.answer(request));
    switch (fault.kind) {
      case 'status':
        if (fault.commit) this.#api.answer(request);
        return this.#send(response, { ...fault, body: fault.body ?? `status ${fault.status}` });
      case 'rate-limit':
        return this.#send(response, tooMany(this.#api.tooMany, fault.retryAfterS));
      case 'slow':
        setTimeout(() => this.#send(response, this.#api.answer(request)), fault.ms);
        return;
      default:
        if (fault.commit) this.#api.answer(request);
        if (fault.kind === 'drop') response.destroy();
    }
  }

  #send(response: ServerResponse, answer: ToolAnswer): void {
    if (answer.status === 429) this.tooMany += 1;
    send(response, answer);
  }
}

function requestOf({ method = 'GET', url: path = '/', headers }: IncomingMessage) {
  return { method, url: new URL(path, 'http://tool'), headers };
}

function send(response: ServerResponse, { status, headers, body }: ToolAnswer): void {
  const isText = typeof body === 'string';
  const type = isText ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8';
  response.writeHead(status, { 'content-type': type, ...headers });
  response.end(isText ? body : JSON.stringify(body));
}
