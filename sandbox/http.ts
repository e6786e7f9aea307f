import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Faults } from './faults.ts';
import { HttpTool } from './http-tool.ts';
import type { ToolAnswer, ToolRequest } from './http-tool.ts';

/** A call that the sandbox took. */
export interface ReceivedCall {
  readonly at: number;
  readonly deliveryId: string;
  readonly method: string;
  /** The request's target: path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body as it came: signatures are over its bytes. */
  readonly bytes: Buffer;
}

export interface HttpSandboxOptions {
  /** The path that it takes calls to, with all paths below it. Default: `/hooks`. */
  readonly base?: string;
  /** The secret of signatures. Calls with a wrong signature are answered 401. */
  readonly secret?: string;
  /** The body that says that a call was not carried out, although the status is 200, as some APIs have it. */
  readonly fails?: (call: ReceivedCall) => object | null;
}

/**
 * An HTTP endpoint on loopback that takes every call to its path and keeps it; other paths are 404. Calls for faults are
 * named by their method.
 */
export class HttpSandbox {
  readonly #options: HttpSandboxOptions;
  readonly #base: string;
  readonly calls: ReceivedCall[] = [];
  /** OPTIONS requests, which carry no event. */
  readonly asked: ReceivedCall[] = [];
  readonly #tool = new HttpTool({
    nameOf: ({ method }) => method,
    answer: (request) => this.#answer(request),
    tooMany: { error: 'too many requests' },
  });

  constructor(options: HttpSandboxOptions = {}) {
    this.#options = options;
    this.#base = options.base ?? '/hooks';
  }

  #answer(request: ToolRequest): ToolAnswer {
    const { pathname } = request.url;
    if (pathname !== this.#base && !pathname.startsWith(`${this.#base}/`))
      return { status: 404, body: 'Not Found' };
    const call = received(request);
    if (request.method === 'OPTIONS') {
      this.asked.push(call);
      return { status: 204, body: '' };
    }
    if (!this.#isSigned(call)) return { status: 401, body: { error: 'invalid signature' } };
    const failure = this.#options.fails?.(call) ?? null;
    if (failure) return { status: 200, body: failure };
    this.calls.push(call);
    return { status: 200, headers: { 'x-request-id': `req-${this.calls.length}` }, body: { ok: true } };
  }

  /** Whether the signature is right, by Standard Webhooks. The age is not checked, as some tests set the clock. */
  #isSigned({ bytes, headers }: ReceivedCall): boolean {
    const { secret } = this.#options;
    if (secret === undefined) return true;
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    const [id, timestamp] = ['webhook-id', 'webhook-timestamp'].map((name) => String(headers[name]));
    const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`);
    const signature = `v1,${hmac.update(bytes).digest('base64')}`;
    return String(headers['webhook-signature']).split(' ').includes(signature);
  }

  get faults(): Faults {
    return this.#tool.faults;
  }

  get authority(): string {
    return this.#tool.authority;
  }

  get url(): string {
    return `http://${this.authority}${this.#base}`;
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

const received = ({ method, url, headers, body, bytes }: ToolRequest): ReceivedCall => ({
  at: Date.now(),
  deliveryId: String(headers['webhook-id'] ?? ''),
  method,
  path: url.pathname + url.search,
  headers,
  body,
  bytes,
});
