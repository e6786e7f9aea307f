import type { IncomingHttpHeaders } from 'node:http';
import type { Faults } from './faults.ts';
import { HttpTool } from './http-tool.ts';
import type { ToolRequest } from './http-tool.ts';

/** A call that the sandbox took. */
export interface ReceivedCall {
  readonly deliveryId: string;
  readonly method: string;
  /** The request's target: path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** As it came, for signatures are over the bytes. */
  readonly body: string;
}

/** An HTTP endpoint on loopback that takes every call and keeps it. Calls for faults are named by their method. */
export class HttpSandbox {
  readonly calls: ReceivedCall[] = [];
  /** OPTIONS requests: questions, and no events. */
  readonly asked: ReceivedCall[] = [];
  readonly #tool = new HttpTool({
    nameOf: ({ method }) => method,
    answer: (request) => {
      const kept = request.method === 'OPTIONS' ? this.asked : this.calls;
      kept.push(received(request));
      return { status: 200, headers: { 'x-request-id': `req-${kept.length}` }, body: { ok: true } };
    },
    rateLimited: (retryAfterS) => ({
      status: 429,
      headers: retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) },
      body: { error: 'too many requests' },
    }),
  });

  get faults(): Faults {
    return this.#tool.faults;
  }

  get authority(): string {
    return this.#tool.authority;
  }

  get url(): string {
    return `http://${this.authority}`;
  }

  /** Listens on 127.0.0.1, after a stop on the same port as before. */
  async start(): Promise<this> {
    await this.#tool.start();
    return this;
  }

  /** Stops listening and drops every connection. */
  stop(): Promise<void> {
    return this.#tool.stop();
  }

  close(): Promise<void> {
    return this.#tool.close();
  }
}

const received = ({ method, url, headers, body }: ToolRequest): ReceivedCall => ({
  deliveryId: String(headers['webhook-id'] ?? ''),
  method,
  path: url.pathname + url.search,
  headers,
  body,
});
