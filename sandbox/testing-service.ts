import { randomUUID } from 'node:crypto';
import type { Faults } from './faults.ts';
import { HttpTool, tooMany, type ToolAnswer, type ToolRequest } from './http-tool.ts';

/** A candidate, as the service answers. */
export interface CandidateRecord {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  /** Null while the test is being scored. */
  readonly result: { readonly score: number; readonly finishedAt: string } | null;
  readonly reportUrl: string;
}

export interface TestingServiceOptions {
  readonly username?: string;
  readonly password?: string;
  /** The life of an access token. */
  readonly tokenLifeMs?: number;
  readonly callsPerMinute?: number;
  /** ms */
  readonly clock?: () => number;
}

/** The default life, as the documentation of testing services has it: "valid for 30 minutes, after which you'll need to request a new token". */
const tokenLifeMs = 30 * 60_000;

/**
 * The default rate. No service promises more to its smallest accounts. Two candidates a second exceed it, so that a client
 * without a rate is noticed at once.
 */
const callsPerMinute = 30;

const names = ['Ana Kovač', 'Björn Åkesson', 'Chloé Martin', 'Dario Rossi', "Eva O'Neill", 'Filip Horvat'];
const tests: { readonly [id: string]: string } = {
  '1234567': 'Backend Engineer, TypeScript',
  '2345678': 'Product Designer',
  '7654321': 'Practice test',
};

/**
 * The API of a candidate-testing service on loopback. A login by OAuth's password grant (RFC 6749, 4.3) gives tokens for a
 * time; each call needs one (RFC 6750). It knows every candidate id but those that begin with `missing`.
 * Calls for faults are named `token`, `candidate` and `test`.
 */
export class TestingService {
  readonly username: string;
  readonly password: string;
  /** How many more times a candidate is answered 404, as one whose result is not written yet. */
  readonly missingFor = new Map<string, number>();
  /** How many more times a candidate has no score yet. */
  readonly unscoredFor = new Map<string, number>();
  /** Turns an answer into that of another version of the API, with other types or names. */
  version: (answer: CandidateRecord) => unknown = (answer) => answer;
  readonly #tool: HttpTool;
  readonly #clock: () => number;
  readonly #tokenLifeMs: number;
  readonly #callsPerMinute: number;
  /** When each token ends (ms). */
  readonly #tokens = new Map<string, number>();
  /** When the calls of the last minute came (ms). */
  #recent: number[] = [];

  constructor(options: TestingServiceOptions = {}) {
    this.username = options.username ?? 'hiring@example.com';
    this.password = options.password ?? 'api-password-0123';
    this.#clock = options.clock ?? Date.now;
    this.#tokenLifeMs = options.tokenLifeMs ?? tokenLifeMs;
    this.#callsPerMinute = options.callsPerMinute ?? callsPerMinute;
    this.#tool = new HttpTool({
      nameOf: ({ url }) => /^\/api\/(token|candidate|test)/.exec(url.pathname)?.[1] ?? 'other',
      answer: (request) => this.#answer(request),
      tooMany: tooManyBody,
    });
  }

  get faults(): Faults {
    return this.#tool.faults;
  }

  /** The names of all calls that came, in order. */
  get calls(): readonly string[] {
    return this.#tool.calls;
  }

  get url(): string {
    return `http://${this.#tool.authority}/api`;
  }

  async start(): Promise<this> {
    await this.#tool.start();
    return this;
  }

  stop(): Promise<void> {
    return this.#tool.stop();
  }

  close(): Promise<void> {
    return this.#tool.close();
  }

  /** Ends every login before its time, as a change of the password does. */
  endLogins(): void {
    this.#tokens.clear();
  }

  #answer(request: ToolRequest): ToolAnswer {
    const { method, url, headers } = request;
    if (url.pathname === '/api/token') return this.#login(request);
    const [, kind = '', id = ''] = /^\/api\/(candidates|tests)\/([^/]+)$/.exec(url.pathname) ?? [];
    if (kind === '') return { status: 404, body: { error: 'no such resource' } };
    const token = /^Bearer (.+)$/.exec(String(headers.authorization))?.[1] ?? '';
    if ((this.#tokens.get(token) ?? 0) <= this.#clock())
      return {
        status: 401,
        headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
        body: { error: 'invalid_token', error_description: `The token ${token} has expired.` },
      };
    const waitMs = this.#takeCall();
    if (waitMs > 0) return tooMany(tooManyBody, Math.ceil(waitMs / 1000));
    if (method !== 'GET') return { status: 405, headers: { allow: 'GET' }, body: { error: 'GET only' } };
    const found = kind === 'tests' ? testOf(decodeURIComponent(id)) : this.#candidate(decodeURIComponent(id));
    return found === null ? { status: 404, body: { error: 'not found' } } : { status: 200, body: found };
  }

  #login({ method, headers, body }: ToolRequest): ToolAnswer {
    const refused = (error: string) => ({ status: 400, body: { error } });
    // RFC 6749, 4.3.2: a form, by POST.
    const isForm = String(headers['content-type']).startsWith('application/x-www-form-urlencoded');
    if (method !== 'POST' || !isForm) return refused('invalid_request');
    const form = new URLSearchParams(body);
    if (form.get('grant_type') !== 'password') return refused('unsupported_grant_type');
    if (form.get('username') !== this.username || form.get('password') !== this.password)
      return refused('invalid_grant');
    const access_token = randomUUID();
    this.#tokens.set(access_token, this.#clock() + this.#tokenLifeMs);
    return {
      status: 200,
      body: { access_token, token_type: 'Bearer', expires_in: Math.floor(this.#tokenLifeMs / 1000) },
    };
  }

  /** Counts a call. Returns how long to wait (ms), 0 if the call is taken. Refused calls do not count. */
  #takeCall(): number {
    const now = this.#clock();
    this.#recent = this.#recent.filter((at) => at > now - 60_000);
    const [oldest = now] = this.#recent;
    if (this.#recent.length >= this.#callsPerMinute) return oldest + 60_000 - now;
    this.#recent.push(now);
    return 0;
  }

  #candidate(id: string): unknown {
    if (id.startsWith('missing') || used(this.missingFor, id)) return null;
    const seed = Array.from(id, (letter) => letter.charCodeAt(0)).reduce((sum, code) => sum + code, 0);
    const name = names[seed % names.length]!;
    return this.version({
      id,
      name,
      email: `${name.split(' ')[0]!.toLowerCase()}@example.com`,
      result: used(this.unscoredFor, id)
        ? null
        : { score: 40 + ((seed * 7) % 61), finishedAt: '2026-11-23T09:30:00+01:00' },
      reportUrl: `https://tests.example.com/reports/${encodeURIComponent(id)}`,
    });
  }
}

const testOf = (id: string) => (tests[id] === undefined ? null : { id: Number(id), title: tests[id] });

/** Takes one of the uses that are left for an id. Returns whether there was one. */
function used(left: Map<string, number>, id: string): boolean {
  const count = left.get(id) ?? 0;
  left.set(id, Math.max(0, count - 1));
  return count > 0;
}

const tooManyBody = { error: 'too many requests' };
