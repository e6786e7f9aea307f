import { randomBytes, randomUUID } from 'node:crypto';
import { http } from '../../http/problem.ts';
import { printable } from '../../support/text.ts';
import {
  command,
  flag,
  integer,
  positive,
  readOption,
  statusOption,
  textOption,
  type ValuesOf,
  withDefault,
} from '../command.ts';
import { CommandError, exit, type Io } from '../output.ts';

const declared = {
  url: textOption('--url <url>', "the webhook URL; on this machine, by the config's receiver, if not given"),
  status: withDefault(statusOption(), 'Completed'),
  test: withDefault(readOption('--test <id>', 'the test id', integer), 1234567),
  candidate: textOption('--candidate <id>', 'the candidate id; random if not given'),
  count: withDefault(readOption('--count <n>', 'how many events', positive), 1),
  duplicate: flag('--duplicate', 'send each event twice, under two correlation ids'),
};

export const send = command({
  name: 'send',
  description: 'play the testing service: post events and show the answers',
  examples: [
    'send   # to the connector that runs here with ./config.yaml',
    'send --status DidNotTake --test 7654321 --count 5 --duplicate',
    'send --url "https://hooks.example.com/webhooks/candidates?token=…"',
  ],
  options: declared,
  run: (given, io) => sendEvents(given, io, patienceMs),
});

/** How long the service waits for an answer. */
const patienceMs = 30_000;
const maxShownBody = 500;

/**
 * Plays the service as its specification's section 6 has it: each event posted, retried once under the same correlation
 * id, redirects followed. `duplicate`: each event again under another correlation id, as rarely happens.
 */
export async function sendEvents(
  { url: named, config, status, test, candidate, count, duplicate = false }: ValuesOf<typeof declared>,
  io: Pick<Io, 'out' | 'env'>,
  timeoutMs: number,
): Promise<number> {
  const url = named === undefined ? await configuredUrl(config, io) : checkedUrl(named);
  let failed = 0;
  for (let round = 1; round <= count; round += 1) {
    const candidateId = candidate ?? randomBytes(16).toString('hex');
    const body = JSON.stringify({ candidateId, testId: test, status });
    // One after the other, so that a duplicate comes second.
    for (const isRepeat of duplicate ? [false, true] : [false]) {
      const request = { url, body, correlationId: randomUUID(), timeoutMs };
      io.out(`${round}/${count} ${isRepeat ? 'again' : 'POST'} ${printable(body)}`);
      io.out(`    X-Service-CorrelationId: ${request.correlationId}`);
      if (await succeeds(request, io)) continue;
      io.out('    failed; retrying once under the same correlation id, then the service gives up');
      if (!(await succeeds(request, io))) failed += 1;
    }
  }
  return failed === 0 ? exit.ok : exit.problems;
}

/** What the config's owner can do about an answer. */
const advice: Partial<Record<number, string>> = {
  403: 'receiver.allowFrom has to allow this machine; the log of the connector says which address it saw',
  404: 'the path has to be receiver.path of the config',
};

async function succeeds(request: PostRequest, io: Pick<Io, 'out'>): Promise<boolean> {
  const posted = await postEvent(request);
  for (const { status, url, method } of posted.redirects) {
    // A query may hold the receiver's token.
    io.out(`    ${status} leads to ${method} ${printable(url.replace(/\?.*/s, '?…'))}`);
  }
  if (posted.redirects.at(-1)?.method === 'GET')
    io.out(
      '    the redirect turned the POST into a GET: the event was left behind, whatever the answer says',
    );
  if (posted.status === null) {
    io.out(`    no answer: ${printable(posted.failure)}`);
    return false;
  }
  const body = printable(posted.body.slice(0, maxShownBody));
  io.out(`    ${posted.status} ${http.STATUS_CODES[posted.status] ?? ''} ${body}`.trimEnd());
  const hint = advice[posted.status];
  if (hint !== undefined) io.out(`    ${hint}`);
  return posted.status >= 200 && posted.status < 300;
}

/** The webhook URL of the connector that runs on this machine with this config, with its token. */
async function configuredUrl(config: string, io: Pick<Io, 'out' | 'env'>): Promise<string> {
  const { sectionOf } = await import('../with-store.ts');
  const receiver = await sectionOf('receiver', { config }, io, `use --url, as in --url ${exampleUrl}`);
  const { port, path } = receiver;
  const [token] = receiver.token;
  if (port === 0) {
    const detail = 'the config says port 0, which is any free one: use --url with the one that the log shows';
    throw new CommandError(detail, exit.usage);
  }
  const host = everyAddress[receiver.host] ?? receiver.host;
  const url = new URL(`http://${host.includes(':') ? `[${host}]` : host}:${port}${path}`);
  io.out(`to ${url.href}${token === undefined ? '' : ' with the token'} (from ${printable(config)})`);
  if (token) url.searchParams.set('token', token.reveal());
  return url.href;
}

/** The address to call where a receiver listens on all addresses. */
const everyAddress: Partial<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

const exampleUrl = 'http://localhost:8080/webhooks/candidates';

function checkedUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new CommandError(`--url: expected an http:// or https:// URL such as ${exampleUrl}`, exit.usage);
  }
  if (url.username !== '' || url.password !== '') {
    throw new CommandError('--url: a user name or password cannot stand in it', exit.usage);
  }
  return url.href;
}

/** The result of one POST of an event, redirects followed. */
export type PostResult =
  | { readonly status: number; readonly body: string; readonly redirects: readonly Redirect[] }
  /** No answer; `failure` says why in plain words. */
  | { readonly status: null; readonly failure: string; readonly redirects: readonly Redirect[] };

export interface Redirect {
  readonly status: number;
  readonly url: string;
  /** The method of the next request. After a 301, 302 or 303 it is GET, without the event. */
  readonly method: 'POST' | 'GET';
}

interface PostRequest {
  readonly url: string;
  readonly body: string;
  readonly correlationId: string;
  readonly timeoutMs: number;
}

const maxRedirects = 10;

/** One POST with the headers that the service sends; `timeoutMs` holds for the whole way, as the service's does. */
export async function postEvent({ url, body, correlationId, timeoutMs }: PostRequest): Promise<PostResult> {
  const redirects: Redirect[] = [];
  const signal = AbortSignal.timeout(timeoutMs);
  const correlation = { 'x-service-correlationid': correlationId };
  const ofBody = { 'content-type': 'application/json; charset=utf-8' };
  try {
    for (;;) {
      const { url: next, method } = redirects.at(-1) ?? { url, method: 'POST' as const };
      const sent =
        method === 'POST' ? { headers: { ...correlation, ...ofBody }, body } : { headers: correlation };
      const response = await fetch(next, { method, ...sent, redirect: 'manual', signal });
      const { status } = response;
      const answer = await response.text();
      const location = response.headers.get('location');
      if (status < 300 || status > 399 || location === null) return { status, body: answer, redirects };
      if (redirects.length === maxRedirects)
        return { status: null, failure: `more than ${maxRedirects} redirects`, redirects };
      const staysPost = method === 'POST' && [307, 308].includes(status);
      redirects.push({ status, url: new URL(location, next).href, method: staysPost ? 'POST' : 'GET' });
    }
  } catch (error) {
    return { status: null, failure: plainWords(error, timeoutMs), redirects };
  }
}

const causes: Partial<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused; is it running, and is the port right?',
  ECONNRESET: 'the connection was closed before an answer came',
  UND_ERR_SOCKET: 'the connection was closed before an answer came',
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'the name of the host could not be looked up just now',
};

function plainWords(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1_000} s`;
  // fetch only says that it failed; the cause says why.
  const cause = error.cause instanceof Error ? error.cause : error;
  const code = 'code' in cause ? String(cause.code) : '';
  return causes[code] ?? (cause.message || code || error.message);
}
