import { randomBytes, randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { printable } from '../support/text.ts';
import { CommandError, exit, type Io } from './io.ts';
import { postEvent, type Posted } from './post-event.ts';

export interface SendOptions {
  readonly url: string;
  readonly status: string;
  readonly test: number;
  /** Random for each event if not given. */
  readonly candidate?: string;
  readonly count: number;
  readonly duplicate?: boolean;
}

/** The service waits this long for an answer. */
const patienceMs = 30_000;
const maxShownBody = 500;

/**
 * Plays the service as its specification's section 6 has it: each event posted, retried once under the same correlation
 * id, redirects followed. `duplicate`: each event again under another correlation id, as rarely happens.
 */
export async function send(
  options: SendOptions,
  io: Pick<Io, 'out'>,
  timeoutMs: number = patienceMs,
): Promise<number> {
  const url = checkedUrl(options.url);
  const rounds = Array.from({ length: options.count }, (_, index) => index + 1);
  let failed = 0;
  for (const round of rounds) {
    const body = JSON.stringify(newEvent(options));
    // One after the other, so that a duplicate comes second.
    for (const repeat of options.duplicate ? [false, true] : [false]) {
      io.out(`${round}/${options.count} ${repeat ? 'again' : 'POST'} ${printable(body)}`);
      if (!(await deliver({ url, body, correlationId: randomUUID(), timeoutMs }, io))) failed += 1;
    }
  }
  return failed === 0 ? exit.ok : exit.problems;
}

function newEvent({ candidate, test, status }: SendOptions) {
  return { candidateId: candidate ?? randomBytes(16).toString('hex'), testId: test, status };
}

async function deliver(request: Parameters<typeof postEvent>[0], io: Pick<Io, 'out'>): Promise<boolean> {
  io.out(`    X-Service-CorrelationId: ${request.correlationId}`);
  const first = await postEvent(request);
  show(first, io);
  if (succeeded(first)) return true;
  io.out('    failed; retrying once under the same correlation id, then the service gives up');
  const second = await postEvent(request);
  show(second, io);
  return succeeded(second);
}

function succeeded({ status }: Posted): boolean {
  return status !== null && status >= 200 && status < 300;
}

function show(posted: Posted, io: Pick<Io, 'out'>): void {
  for (const { status, url, method } of posted.redirects) {
    io.out(`    ${status} leads to ${method} ${printable(withoutQuery(url))}`);
  }
  if (posted.redirects.at(-1)?.method === 'GET') {
    io.out(
      '    the redirect turned the POST into a GET: the event was left behind, whatever the answer says',
    );
  }
  if (posted.status === null) {
    io.out(`    no answer: ${printable(posted.failure)}`);
  } else {
    const body = printable(posted.body.slice(0, maxShownBody));
    io.out(`    ${posted.status} ${STATUS_CODES[posted.status] ?? ''} ${body}`.trimEnd());
  }
}

/** A query may hold the receiver's token. */
function withoutQuery(url: string): string {
  const [start = '', ...query] = url.split('?', 2);
  return query.length > 0 ? `${start}?…` : start;
}

function checkedUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) {
    const example = 'http://localhost:8080/webhooks/candidates';
    throw new CommandError(`--url: expected an http:// or https:// URL such as ${example}`, exit.usage);
  }
  if (url.username !== '' || url.password !== '') {
    throw new CommandError('--url: a user name or password cannot stand in it', exit.usage);
  }
  return url.href;
}
