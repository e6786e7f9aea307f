import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sendEvents } from '../../src/commands/config/send.ts';
import { startReceiver } from '../receiver/receiver.ts';
import { base, run as runProgram, serving, workplace } from './tools.ts';

interface Call {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An endpoint that gives these answers, one a call; the last one stays. */
async function startEndpoint(...answers: ((res: ServerResponse) => void)[]) {
  const calls: Call[] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      calls.push({
        method: req.method,
        url: req.url,
        headers: req.headers,
        body: Buffer.concat(chunks).toString(),
      });
      answers[Math.min(calls.length, answers.length) - 1]?.(res);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => gone(server));
  return { calls, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

async function gone(server: Server): Promise<void> {
  const closed = new Promise((resolve) => {
    server.close(resolve);
  });
  server.closeAllConnections();
  await closed;
}

const status =
  (code: number, headers: Record<string, string> = {}, body = '') =>
  (res: ServerResponse) =>
    void res.writeHead(code, headers).end(body);

async function run(options: Partial<Parameters<typeof sendEvents>[0]> & { url: string }, timeoutMs = 30_000) {
  const lines: string[] = [];
  const defaults = {
    config: '',
    status: 'Completed',
    test: 1234567,
    count: 1,
    candidate: undefined,
    duplicate: undefined,
  } as const;
  const io = { out: (text: string) => void lines.push(text), env: {} };
  const code = await sendEvents({ ...defaults, ...options }, io, timeoutMs);
  return { code, text: lines.join('\n') };
}

const correlationOf = (call: Call | undefined) => call?.headers['x-service-correlationid'];

describe('an event', () => {
  test('is posted as the specification has it, and the answer shown', async () => {
    const { calls, url } = await startEndpoint(status(202, {}, '{"eventId":"evt_7","duplicate":false}'));
    const { code, text } = await run({ url, status: 'DidNotTake', test: 7, candidate: 'Jürgen' });
    expect(code).toBe(0);
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({
      method: 'POST',
      url: '/hook',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'content-length': String(Buffer.byteLength(calls[0]?.body ?? '')),
        'x-service-correlationid': expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      },
    });
    expect(JSON.parse(calls[0]?.body ?? '')).toEqual({
      candidateId: 'Jürgen',
      testId: 7,
      status: 'DidNotTake',
    });
    expect(text).toContain('202 Accepted {"eventId":"evt_7","duplicate":false}');
    expect(text).toContain(correlationOf(calls[0]));
  });

  test('is taken by our own receiver', async () => {
    const receiver = await startReceiver();
    expect(await run({ url: receiver.url })).toMatchObject({ code: 0 });
    expect(receiver.inbox.received).toMatchObject([
      { event: { testId: 1234567 }, correlationId: expect.any(String) },
    ]);
  });

  test('comes as often as told, each of another candidate and under another correlation id', async () => {
    const { calls, url } = await startEndpoint(status(202));
    expect((await run({ url, count: 3 })).code).toBe(0);
    const ids = calls.map(({ body }) => (JSON.parse(body) as { candidateId: string }).candidateId);
    expect(ids).toHaveLength(3);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(ids).size).toBe(3);
    expect(new Set(calls.map(correlationOf)).size).toBe(3);
  });

  test('comes again under another correlation id with --duplicate', async () => {
    const { calls, url } = await startEndpoint(status(202));
    await run({ url, count: 2, duplicate: true });
    const bodies = calls.map(({ body }) => body);
    expect(bodies).toHaveLength(4);
    expect(bodies[1]).toBe(bodies[0]);
    expect(bodies[3]).toBe(bodies[2]);
    expect(new Set(calls.map(correlationOf)).size).toBe(4);
  });
});

describe('without --url', () => {
  async function running() {
    const { folder, write } = await workplace();
    const config = base(folder).replace('allowFrom: any', "allowFrom: any, token: '${TOKEN}'");
    const rest = 'sinks: {}\nrules: []\n';
    const { receiverUrl } = await serving(await write('running.yaml', config + rest), { TOKEN: 'a-token' });
    const atPort = config.replace(
      'host: 127.0.0.1, port: 0',
      `host: 0.0.0.0, port: ${new URL(receiverUrl).port}`,
    );
    return { write, atPort, rest, receiverUrl };
  }

  test("the event goes to the config's receiver, with its token", async () => {
    const { write, atPort, rest, receiverUrl } = await running();
    const file = await write('config.yaml', atPort + rest);
    const { code, out } = await runProgram(['send', '--config', file], { TOKEN: 'a-token' });
    expect(out).toContain(`to ${receiverUrl} with the token (from ${file})`);
    expect(out).toContain('202 Accepted');
    expect(out).not.toContain('a-token');
    expect(code).toBe(0);
  });

  test('faults elsewhere in the config do not matter', async () => {
    const { write, atPort } = await running();
    const file = await write('config.yaml', `${atPort}sinks: { a: { connector: slak } }\nrules: []\n`);
    expect((await runProgram(['send', '--config', file], { TOKEN: 'a-token' })).code).toBe(0);
  });

  test('a config that is of no use is an error that names the other way', async () => {
    const { write, atPort, rest } = await running();
    const file = await write('config.yaml', atPort + rest);
    const missing = await runProgram(['send', '--config', `${file}.gone`]);
    const withoutToken = await runProgram(['send', '--config', file]);
    for (const { code, err } of [missing, withoutToken]) {
      expect(code).toBe(1);
      expect(err).toContain('To go on without this file, use --url, as in --url http://localhost:8080/');
    }
    expect(withoutToken.err).toContain('TOKEN');
    const { code, err } = await runProgram([
      'send',
      '--config',
      await write('zero.yaml', rest + 'receiver: { port: 0 }'),
    ]);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('use --url') });
  });
});

describe('a failed one', () => {
  test('is retried once under the same correlation id', async () => {
    const { calls, url } = await startEndpoint(status(503), status(200));
    const { code, text } = await run({ url });
    expect(code).toBe(0);
    expect(calls).toHaveLength(2);
    expect(calls[1]).toMatchObject({ body: calls[0]?.body });
    expect(correlationOf(calls[1])).toBe(correlationOf(calls[0]));
    expect(text).toMatch(/503 Service Unavailable\n.*retrying once.*\n.*200 OK/);
  });

  test('is given up after that, and the others are still sent', async () => {
    const { calls, url } = await startEndpoint(status(500), status(520), status(202));
    const { code, text } = await run({ url, count: 2 });
    expect(code).toBe(1);
    expect(calls).toHaveLength(3);
    // Some proxies answer with numbers that have no name.
    expect(text).toMatch(/^ {4}520$/m);
  });

  test('that the receiver refuses for its address or path says what to change', async () => {
    const receiver = await startReceiver({ allowFrom: ['192.0.2.1'] });
    expect((await run({ url: receiver.url })).text).toContain('receiver.allowFrom has to allow this machine');
    expect((await run({ url: new URL('/', receiver.url).href })).text).toContain(
      'the path has to be receiver.path',
    );
  });

  test('is one that gets no answer in time', async () => {
    const { calls, url } = await startEndpoint(() => {}, status(202));
    const { code, text } = await run({ url }, 100);
    expect(code).toBe(0);
    expect(calls).toHaveLength(2);
    expect(text).toContain('no answer within 0.1 s');
  });

  test('is one that nobody listens to, said in plain words', async () => {
    const { server, url } = await startEndpoint();
    await gone(server);
    const { code, text } = await run({ url });
    expect(code).toBe(1);
    expect(text).toContain('no answer: the connection was refused');
    expect(text).not.toMatch(/fetch failed|at .*\.ts|Error/);
  });

  test('is one whose connection breaks', async () => {
    const { url } = await startEndpoint((res) => void res.destroy());
    const { code, text } = await run({ url });
    expect(code).toBe(1);
    expect(text).toContain('the connection was closed before an answer came');
  });
});

describe('redirects', () => {
  test('are followed with the event where they say so', async () => {
    const { calls, url } = await startEndpoint(status(307, { location: '/other' }), status(202));
    const { code, text } = await run({ url });
    expect(code).toBe(0);
    expect(calls[1]).toMatchObject({ method: 'POST', url: '/other', body: calls[0]?.body });
    expect(correlationOf(calls[1])).toBe(correlationOf(calls[0]));
    expect(text).toContain('307 leads to POST ');
  });

  test.each([301, 302, 303])(
    '%i makes a GET of the POST, and the lost event is pointed out',
    async (code) => {
      const { calls, url } = await startEndpoint(status(code, { location: 'other?secret' }), status(200));
      const { text } = await run({ url });
      expect(calls[1]).toMatchObject({ method: 'GET', url: '/other?secret', body: '' });
      expect(text).toContain('the event was left behind');
      expect(text).not.toContain('secret');
    },
  );

  test('end somewhere', async () => {
    const { url } = await startEndpoint(status(308, { location: '/round' }));
    const { code, text } = await run({ url });
    expect(code).toBe(1);
    expect(text).toContain('more than 10 redirects');
  });
});

test.each(['localhost:8080/hook', 'ftp://localhost/', 'hook', '', 'http://'])(
  'what is no URL of a webhook is a usage error: %j',
  async (url) => {
    await expect(run({ url })).rejects.toMatchObject({
      name: 'CommandError',
      code: 2,
      message: expect.stringContaining('--url: expected an http:// or https:// URL'),
    });
  },
);

test('a password in the URL is a usage error that does not repeat it', async () => {
  const attempt = run({ url: 'http://ops:s3cret@localhost/' });
  await expect(attempt).rejects.toMatchObject({ code: 2, message: expect.not.stringContaining('s3cret') });
});

test('an answer from outside cannot repaint the terminal', async () => {
  const { url } = await startEndpoint(status(200, {}, 'fine\u001B[2J'));
  expect((await run({ url })).text).not.toContain('\u001B');
});
