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

/** What an HTTP tool does, apart from misbehaving. */
export interface ToolApi {
  /** The name of the call, as faults and the log know it. */
  nameOf(request: ToolRequest): string;
  /** Carries the call out. */
  answer(request: ToolRequest): ToolAnswer;
  /** How this tool says that the rate is exceeded. */
  rateLimited(retryAfterS: number | undefined): ToolAnswer;
}

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

  async close(): Promise<void> {
    await this.stop();
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
        return this.#send(response, this.#api.rateLimited(fault.retryAfterS));
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
