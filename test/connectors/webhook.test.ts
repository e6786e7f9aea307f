import { createServer as createTlsServer } from 'node:https';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Call, CallFields } from '../../connectors/webhook/message.ts';
import { webhook } from '../../connectors/webhook/index.ts';
import { isPublic } from '../../connectors/webhook/public-addresses.ts';
import type { AttemptRequest, EventData, Sink, Subject } from '../../src/connector.ts';
import { attemptAt, eventDataWith } from '../fixtures/event.ts';
import { selfSigned } from '../../sandbox/certificate.ts';
import { HttpSandbox, type HttpSandboxOptions } from '../../sandbox/http.ts';
import { standStillUntilOver } from '../fixtures/stand-still.ts';
import { answerOk, serve } from './raw-server.ts';

let sandbox: HttpSandbox;

async function startSandbox(options?: HttpSandboxOptions): Promise<HttpSandbox> {
  const started = await new HttpSandbox(options).start();
  onTestFinished(() => started.close());
  return started;
}

async function connect(over: object = {}): Promise<Sink<Call>> {
  sandbox = await startSandbox();
  return connectTo({ url: sandbox.url, ...over });
}

async function connectTo(options: object): Promise<Sink<Call>> {
  const sink = await webhook.connect(webhook.options.parse({ allowPrivate: true, ...options }));
  onTestFinished(() => sink.close());
  return sink;
}

const event = eventDataWith({
  candidateId: '0123456789abcdef0123456789abcdef',
  correlationId: 'c-1',
  raw: { candidateId: 'x', extra: true },
});

function compose(fields: CallFields = {}, over: Partial<EventData> = {}) {
  return composeFor({ kind: 'event', event: { ...event, ...over } }, fields);
}

function composeFor(subject: Subject, fields: CallFields = {}) {
  const options = webhook.options.parse({ url: 'https://ats.example.com/hooks' });
  return webhook.compose(webhook.action.parse(fields), { deliveryId: 'd1', subject }, options);
}

function callOf(...given: Parameters<typeof compose>): Call {
  const composed = compose(...given);
  if ('rejected' in composed) throw new Error(composed.rejected.detail);
  return composed.message;
}

const request = (fields: CallFields = {}, over: Partial<AttemptRequest<Call>> = {}) =>
  attemptAt(compose(fields), over);

const secretOf = (text: string) => `whsec_${Buffer.from(text).toString('base64')}`;

describe('the call', () => {
  test('is a POST of type, time and the event, and gives its status and request id as receipt', async () => {
    const sink = await connect();
    expect(await sink.deliver(request())).toEqual({
      outcome: 'delivered',
      receipt: { status: 200, requestId: 'req-1' },
    });
    const [call] = sandbox.calls;
    expect(call).toMatchObject({ method: 'POST', path: '/hooks', deliveryId: 'd1' });
    expect(call?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'candidate-connector',
    });
    expect(JSON.parse(call?.body ?? '')).toEqual({
      type: 'candidate.completed',
      timestamp: '2026-03-01T09:30:00.000Z',
      data: {
        id: 'ev-1',
        candidateId: '0123456789abcdef0123456789abcdef',
        candidateNumericalId: null,
        testId: 1234567,
        status: 'Completed',
        receivedAt: '2026-03-01T09:30:00.000Z',
        correlationId: 'c-1',
      },
    });
  });

  test.for([
    ['DidNotTake', 'candidate.did_not_take'],
    ['Canceled', 'candidate.canceled'],
  ] as const)('names the type of %s %s', ([status, type]) => {
    expect(callOf({}, { status }).body).toMatchObject({ type });
  });

  test('takes method, path, headers and body from the action, whose headers win over the sink’s', async () => {
    const headers = { Authorization: 'Bearer sink', 'X-Team': 'sink', Traceparent: 'its own' };
    const sink = await connect({ headers });
    const fields: CallFields = {
      method: 'PUT',
      path: 'candidates/1?full=yes',
      headers: { 'x-team': 'žćš 日本' },
      body: { a: [1, null, 'ž'] },
    };
    await sink.deliver(request(fields));
    const [call] = sandbox.calls;
    expect(call).toMatchObject({
      method: 'PUT',
      path: '/hooks/candidates/1?full=yes',
      body: '{"a":[1,null,"ž"]}',
    });
    expect(call?.headers).toMatchObject({ authorization: 'Bearer sink', traceparent: 'its own' });
    expect(Buffer.from(String(call?.headers['x-team']), 'latin1').toString()).toBe('žćš 日本');
  });

  test('sends the login of the url as Basic authorization and keeps its query', async () => {
    const sink = await connect();
    const other = await connectTo({ url: `http://us%40er:pass@${sandbox.authority}/hooks/?key=1` });
    await other.deliver(request({ path: '/sub?x=2' }));
    await sink.deliver(request({ body: 'text', headers: { 'Content-Type': 'text/plain' } }));
    expect(sandbox.calls[0]).toMatchObject({
      path: '/hooks/sub?key=1&x=2',
      headers: { authorization: `Basic ${Buffer.from('us@er:pass').toString('base64')}` },
    });
    expect(sandbox.calls[1]).toMatchObject({
      path: '/hooks',
      body: 'text',
      headers: { 'content-type': 'text/plain' },
    });
  });

  test.for(['application/vnd.api+json', 'application/json; charset=utf-8'])(
    'is of the type of JSON that the sink says, unless the action says another: %s',
    async (type) => {
      const sink = await connect({ headers: { 'Content-Type': type } });
      await sink.deliver(request());
      await sink.deliver(request({ body: 'text', headers: { 'Content-Type': 'text/plain' } }));
      expect(sandbox.calls.map(({ headers }) => headers['content-type'])).toEqual([type, 'text/plain']);
    },
  );

  test('sends a login without a name', async () => {
    const sink = await connect();
    const other = await connectTo({ url: `http://:pass@${sandbox.authority}/hooks` });
    await other.deliver(request());
    await sink.close();
    expect(sandbox.calls[0]?.headers.authorization).toBe(`Basic ${Buffer.from(':pass').toString('base64')}`);
  });

  test('keeps connections open for the next ones', async () => {
    const server = await serve(answerOk);
    const sink = await connectTo({ url: server.url });
    for (let count = 0; count < 10; count++) await sink.deliver(request());
    // Two, as the first may not yet be free again in the very moment of its answer.
    expect(server.connections()).toBeLessThanOrEqual(2);
  });
});

describe('templates of the action', () => {
  const { path, headers, body } = webhook.templates;

  test('print into a path as one segment', () => {
    expect(path?.escape('a/../b?c#d é', [], {})).toBe('a%2F..%2Fb%3Fc%23d%20%C3%A9');
  });

  test.for([
    '..',
    '/../admin',
    '/a/%2e%2E/b',
    '/.',
    '/a/..?x',
    '\\..\\x',
    '/a#/../..',
    '/a/..%2Fb',
    '/%2e%2e%5cb',
  ])('cannot climb out of the url with %j', (climbing) => {
    expect(compose({ path: climbing })).toMatchObject({ rejected: { reason: 'invalid' } });
  });

  test('cannot leave the host', async () => {
    const sink = await connect();
    for (const leaving of ['//evil.example/x', '/@evil.example', 'http://evil.example/']) {
      await sink.deliver(request({ path: leaving }));
    }
    expect(sandbox.calls.map((call) => call.path)).toEqual([
      '/hooks//evil.example/x',
      '/hooks/@evil.example',
      '/hooks/http://evil.example/',
    ]);
  });

  test.for([
    ['/x?y=1?z=2', '/hooks/x?y=1?z=2'],
    ['?y=1?z=2', '/hooks?y=1?z=2'],
    ['/x#5?y=1', '/hooks/x%235?y=1'],
    ['/x?y=#5', '/hooks/x?y=%235'],
  ] as const)('lose nothing of the path %j', async ([written, expected]) => {
    const sink = await connect();
    await sink.deliver(request({ path: written }));
    expect(sandbox.calls.map((call) => call.path)).toEqual([expected]);
  });

  // Zapier's addresses end like this, and Django answers 301 to a path without it.
  test.for([
    ['', '/hooks/?key=1'],
    ['?y=1', '/hooks/?key=1&y=1'],
    ['/x', '/hooks/x?key=1'],
    ['/', '/hooks/?key=1'],
  ] as const)('follow a url that ends with a slash: %j', async ([written, expected]) => {
    await connect();
    const sink = await connectTo({ url: `http://${sandbox.authority}/hooks/?key=1` });
    await sink.deliver(request({ path: written }));
    expect(sandbox.calls.map((call) => call.path)).toEqual([expected]);
  });

  test('print into JSON text as parts of its strings, and into a tree as they are', () => {
    const hostile = 'a"b\\c\nd\u2028';
    expect(JSON.parse(`{"x":"${body?.escape(hostile, [], {})}"}`)).toEqual({ x: hostile });
    expect(body?.escape(hostile, ['x'], {})).toBe(hostile);
    expect(body?.data).toBe(true);
  });

  test('put no line break into a header', async () => {
    const sink = await connect();
    await sink.deliver(
      request({ headers: { 'X-Name': `${headers?.escape('a\r\nX-Evil: 1', [], {})}\r\nX-Evil: 2` } }),
    );
    expect(sandbox.calls[0]?.headers).toMatchObject({ 'x-name': 'a X-Evil: 1 X-Evil: 2' });
    expect(sandbox.calls[0]?.headers).not.toHaveProperty('x-evil');
  });

  test('have to yield JSON where the body is sent as JSON', () => {
    expect(compose({ body: '{"a":1}' })).toMatchObject({ message: { body: '{"a":1}' } });
    expect(compose({ body: '{"a":}' })).toMatchObject({
      rejected: { reason: 'invalid', advice: expect.stringContaining('YAML') },
    });
    expect(
      compose({ body: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
    ).toMatchObject({
      message: { body: 'a=1' },
    });
  });

  test.each(['{ "token": Hidden-1Pass, "a": 1 }', 'Hidden-1Pass', '{ "a": 1, "token": "x" Hidden-1Pass }'])(
    'what is wrong with a body is said without a part of it, which could not be masked: %s',
    (text) => {
      const composed = compose({ body: text });
      expect(composed).toMatchObject({ rejected: { detail: expect.stringMatching(/JSON.*quotes/) } });
      expect(JSON.stringify(composed)).not.toContain('Hidden');
    },
  );
});

describe('the signature', () => {
  test('is one that Standard Webhooks’ own package verifies, for each secret', async () => {
    const secrets = [secretOf('the new secret, 24 bytes'), secretOf('the old secret, 24 bytes').slice(6)];
    const sink = await connect({ secret: secrets });
    await sink.deliver(request({ body: { text: 'žćš "日本" 👩‍💻' } }));
    const [call] = sandbox.calls;
    const headers = call?.headers as Record<string, string>;
    for (const secret of secrets) {
      expect(new Webhook(secret).verify(call?.body ?? '', headers)).toEqual({ text: 'žćš "日本" 👩‍💻' });
    }
    expect(() => new Webhook(secretOf('somebody else’s secret')).verify(call?.body ?? '', headers)).toThrow(
      'No matching',
    );
    expect(() => new Webhook(secrets[0]!).verify(`${call?.body} `, headers)).toThrow('No matching');
  });

  test('is of the delivery id and the time of the attempt', async () => {
    const sink = await connect({ secret: secretOf('the new secret, 24 bytes') });
    await sink.deliver(request({}, { deliveryId: 'd7', now: 1_800_000_000_999 }));
    expect(sandbox.calls[0]?.headers).toMatchObject({
      'webhook-id': 'd7',
      'webhook-timestamp': '1800000000',
    });
  });

  test('is left out without a secret', async () => {
    await (await connect()).deliver(request());
    expect(sandbox.calls[0]?.headers).not.toHaveProperty('webhook-signature');
  });

  test.for([
    [-600_000, 401, /This machine's clock is 10 minutes behind/],
    [600_000, 400, /This machine's clock is 10 minutes ahead/],
    [0, 401, /^(?!.*clock)/],
  ] as const)(
    'made by a clock that is %i ms off is not blamed on the secret where %i answers it',
    async ([offMs, status, words]) => {
      const sink = await connect({ secret: secretOf('a secret') });
      sandbox.faults.once({ kind: 'status', status, headers: { date: new Date().toUTCString() } });
      const outcome = await sink.deliver(request({}, { now: Date.now() + offMs }));
      expect(outcome).toMatchObject({ outcome: 'retry', detail: expect.stringMatching(words) });
    },
  );
});

async function answering(
  status: number,
  headers: Record<string, string> = {},
  body?: unknown,
  now = Date.now(),
) {
  const sink = await connect({ headers: { 'X-Api-Key': 'key-0123456789' }, secret: secretOf('a secret') });
  sandbox.faults.once({ kind: 'status', status, headers, body });
  return sink.deliver(request({}, { now }));
}

describe('answers', () => {
  test.for([301, 302, 303, 307, 308])('of %i are not followed', async (status) => {
    const elsewhere = await startSandbox();
    const outcome = await answering(status, { location: `${elsewhere.url}/other?token=secret` });
    expect(outcome).toMatchObject({
      outcome: 'retry',
      sinkWide: 'perhaps',
      detail: expect.stringContaining(`to ${elsewhere.authority};`),
    });
    expect(JSON.stringify(outcome)).not.toContain('token');
    expect(elsewhere.calls).toEqual([]);
  });

  test.for([302, 303])('of %i say how to take them for success, which works', async (status) => {
    const location = 'https://script.googleusercontent.com/echo';
    const success = { status: [status] };
    expect(await answering(status, { location })).toMatchObject({
      detail: expect.stringContaining(`say success: { status: [${status}] } in the sink`),
    });
    const sink = await connect({ success });
    sandbox.faults.once({ kind: 'status', status, headers: { location } });
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'delivered', receipt: { status } });
  });

  test.for([
    ['https://accounts.google.com/ServiceLogin?continue=there', 'accounts.google.com'],
    ['https://login.microsoftonline.com/tenant/oauth2/authorize', 'login.microsoftonline.com'],
    ['https://team.cloudflareaccess.com/cdn-cgi/access/login/there', 'team.cloudflareaccess.com'],
    ['/users/sign_in', 'a login'],
    [
      'https://id.example.com/realms/a/protocol/openid-connect/auth?client_id=b&response_type=code',
      'id.example.com',
    ],
    ['https://idp.example.com/profile/SAML2/Redirect/SSO?SAMLRequest=a', 'idp.example.com'],
    ['https://n8n.example.com/oauth2/start?rd=%2Fwebhook%2Fa', 'n8n.example.com'],
    [
      'https://n8n.example.com/outpost.goauthentik.io/start?rd=https%3A%2F%2Fn8n.example.com%2F',
      'n8n.example.com',
    ],
  ] as const)('of 302 to a login are no success, and nothing was done: %s', async ([location, words]) => {
    const sink = await connect({ success: { status: [302] } });
    sandbox.faults.once({ kind: 'status', status: 302, headers: { location } });
    const outcome = await sink.deliver(request());
    const detail = expect.stringContaining(words);
    expect(outcome).toMatchObject({ outcome: 'retry', reason: 'auth', sinkWide: true, detail });
    expect(outcome).not.toHaveProperty('perhapsDone');
  });

  test.for(['/signing/42', 'https://blogin.example/done', '/done?next=/login', '/quiz/start?rd=1'])(
    'of 302 that only look like one to a login are a success: %s',
    async (location) => {
      const sink = await connect({ success: { status: [302] } });
      sandbox.faults.once({ kind: 'status', status: 302, headers: { location } });
      expect(await sink.deliver(request())).toMatchObject({ outcome: 'delivered' });
    },
  );

  test.for([
    ['120', 120_000],
    ['Sun, 01 Mar 2026 09:31:30 GMT', 90_000],
    ['Sun, 01 Mar 2026 09:00:00 GMT', 0],
    ['9999999999', 24 * 60 * 60 * 1000],
  ] as const)('of 503 with Retry-After %j say when to try again', async ([text, retryAfterMs]) => {
    const now = Date.parse('2026-03-01T09:30:00Z');
    expect(await answering(503, { 'retry-after': text }, '', now)).toMatchObject({
      outcome: 'retry',
      retryAfterMs,
    });
  });

  test.for([400, 413, 414, 422, 431])(
    'of %i are about this message: it is tried again, and the sink is not blamed',
    async (status) => {
      const outcome = await answering(status);
      expect(outcome).toMatchObject({ outcome: 'retry', detail: expect.stringContaining('Check') });
      expect(outcome).not.toHaveProperty('sinkWide');
    },
  );

  test.for([402, 404, 405, 406, 409, 415, 421, 451])(
    'of %i may be a deploy over there: it is tried again, and counts towards a pause',
    async (status) => {
      expect(await answering(status)).toMatchObject({ outcome: 'retry', sinkWide: 'perhaps' });
    },
  );

  test('may come after the work was done, but for those that say that it was not', async () => {
    const perhaps = [];
    for (const status of [
      301, 302, 303, 307, 308, 400, 401, 404, 408, 409, 425, 429, 500, 501, 503, 507, 520, 521, 524, 530,
    ])
      if ('perhapsDone' in (await answering(status))) perhaps.push(status);
    expect(perhaps).toEqual([302, 303, 408, 500, 503, 520, 524]);
    expect(await answering(503, { 'retry-after': '7' })).not.toHaveProperty('perhapsDone');
  });

  test('of 410 alone are the end', async () => {
    const ends = [];
    for (let status = 300; status < 600; status += 1) {
      if ((await answering(status)).outcome === 'rejected') ends.push(status);
    }
    expect(ends).toEqual([410]);
  });

  test('with a Retry-After that says nothing leave the delay open', async () => {
    expect(await answering(429, { 'retry-after': 'soon' })).not.toHaveProperty('retryAfterMs');
  });

  test('are quoted, on one line, shortened, and without what the receiver must not repeat', async () => {
    const body = `no such\n field "x"; you sent key-0123456789 and ${secretOf('a secret')} ${'y'.repeat(100)} key-0123456789 ${'z'.repeat(300)}`;
    const outcome = await answering(422, { 'content-type': 'text/plain' }, body);
    expect(outcome).toMatchObject({
      detail: expect.stringMatching(
        /^The other system answered 422: no such field "x"; you sent \*\*\* and \*\*\* y+ \*\*\* z+…\. Check/,
      ),
    });
    expect(await answering(422, { 'content-type': 'text/html' }, '<html>')).toMatchObject({
      detail: expect.stringMatching(/^The other system answered 422\. Check/),
    });
    // So Slack's incoming webhooks answer.
    expect(await answering(403, { 'content-type': 'text/html' }, 'action_prohibited')).toMatchObject({
      detail: expect.stringMatching(/^The other system answered 403: action_prohibited\. Check/),
    });
  });

  test('are quoted without a key, however the receiver writes it', async () => {
    const key = 'key/0123+456&789';
    const written = [
      String.raw`key\/0123+456&789`,
      encodeURIComponent(key).toLowerCase(),
      'key&#x2F;0123+456&amp;789',
      key.toUpperCase(),
      Buffer.from(key).toString('base64'),
    ];
    const tool = await startSandbox();
    const sink = await connectTo({ url: tool.url, headers: { 'x-api-key': key } });
    const headers = { 'content-type': 'text/plain' };
    tool.faults.once({ kind: 'status', status: 422, headers, body: written.join(' ') });
    expect(await sink.deliver(request())).toMatchObject({
      detail: expect.stringContaining('answered 422: *** *** *** *** ***.'),
    });
  });

  test('are quoted without the address that was called: who has it may call, too', async () => {
    const tool = await startSandbox({ base: '' });
    tool.faults.once({
      kind: 'status',
      status: 404,
      headers: { 'content-type': 'application/json' },
      body: {
        path: '/services/T0/B0/path-secret/new',
        query: 'key=a%20keysecret',
        key: 'a keysecret',
        hook: 'path-secret',
      },
    });
    const sink = await connectTo({ url: `${tool.url}/services/T0/B0/path-secret?key=a%20keysecret` });
    expect(await sink.deliver(request({ path: '/new' }))).toMatchObject({
      detail: expect.stringContaining(
        'answered 404: {"path":"***/new","query":"key=***","key":"***","hook":"***"}.',
      ),
    });
  });

  test('without end are cut off, and their status counts', async () => {
    const endless = await serve((_, response) => {
      response.writeHead(400);
      const more = () => response.write('x'.repeat(32 * 1024)) && setImmediate(more);
      response.on('drain', more);
      more();
    });
    const sink = await connectTo({ url: endless.url });
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'retry', reason: 'invalid' });
  });

  test.for(['drops', 'stalls'])('of success count even where their body %s', async (how) => {
    const controller = new AbortController();
    const broken = await serve((incoming, response) => {
      response.writeHead(202, { 'content-length': '10' }).write('x', () => {
        if (how === 'drops') incoming.socket.destroy();
        else setTimeout(() => controller.abort(), 20);
      });
    });
    const sink = await connectTo({ url: broken.url });
    const outcome = await sink.deliver(request({}, { signal: controller.signal }));
    expect(outcome).toMatchObject({ outcome: 'delivered', receipt: { status: 202 } });
  });

  test('of success count even where their headers are many', async () => {
    const cookies = Array.from({ length: 10 }, (_, index) => `part${index}=${'x'.repeat(4000)}`);
    const talkative = await serve((_, response) => void response.setHeader('set-cookie', cookies).end());
    const sink = await connectTo({ url: talkative.url });
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'delivered' });
  });

  test('that are no HTTP leave it unknown', async () => {
    const garbled = await serve((incoming) => incoming.socket.end('220 mail.example ESMTP\r\n'));
    const sink = await connectTo({ url: garbled.url });
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'unknown', reason: 'network' });
  });
});

describe('the connection', () => {
  test('is refused where the certificate is not trusted', async () => {
    const untrusted = await serve(answerOk, (listener) => createTlsServer(selfSigned(), listener));
    const sink = await connectTo({ url: untrusted.url.replace('http:', 'https:') });
    expect(await sink.deliver(request())).toMatchObject({
      outcome: 'retry',
      reason: 'network',
      sinkWide: true,
      detail: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT'),
    });
  });

  test('ends by an abort while it is opened, and the request never leaves', async () => {
    const sink = await connect();
    const controller = new AbortController();
    const outcome = sink.deliver(request({}, { signal: controller.signal }));
    controller.abort();
    expect(await outcome).toMatchObject({ outcome: 'retry', reason: 'timeout' });
    expect(await sink.deliver(request({}, { deliveryId: 'd2' }))).toMatchObject({ outcome: 'delivered' });
    expect(sandbox.calls.map((call) => call.deliveryId)).toEqual(['d2']);
  });
});

test('an answer that came while the process stood still, until the time of the attempt was up, counts', async () => {
  const controller = new AbortController();
  const { url } = await serve((incoming, response) => {
    incoming.resume().once('end', () => {
      response.end();
      standStillUntilOver(controller);
    });
  });
  const sink = await connectTo({ url });
  const outcome = await sink.deliver(request({}, { signal: controller.signal }));
  expect(outcome).toMatchObject({ outcome: 'delivered', receipt: { status: 200 } });
});

describe('addresses that are not on the internet', () => {
  test.for([
    '127.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '192.0.2.1',
    '198.18.0.1',
    '::1',
    '::',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd12::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '::127.0.0.1',
    '64:ff9b::10.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '2002:7f00:1::',
    '2001:0:7f00:1::',
    '2001:db8::1',
    'fec0::1',
  ])('are known: %s', (address) => {
    expect(isPublic(address)).toBe(false);
  });

  test.for([
    '1.1.1.1',
    '172.32.0.1',
    '100.128.0.1',
    '2606:4700::1111',
    '::ffff:1.1.1.1',
    '64:ff9b::1.1.1.1',
    '2a00:1450:4001::1',
  ])('are told from others: %s', (address) => {
    expect(isPublic(address)).toBe(true);
  });

  test.for([
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '10.0.0.8',
    '169.254.169.254',
  ])('are refused in the config: http://%s/', (host) => {
    const { error } = webhook.options.safeParse({ url: `http://${host}/hooks` });
    expect(error?.issues).toMatchObject([
      { path: ['url'], message: expect.stringContaining('allowPrivate') },
    ]);
    expect(webhook.options.safeParse({ url: `http://${host}/hooks`, allowPrivate: true }).success).toBe(true);
  });

  test('are refused behind a name, with nothing connected', async () => {
    const server = await serve(answerOk);
    const sink = await connectTo({ url: `http://localhost:${server.port}/`, allowPrivate: false });
    expect(await sink.deliver(request())).toMatchObject({
      outcome: 'retry',
      reason: 'invalid',
      sinkWide: true,
      detail: expect.stringContaining('allowPrivate'),
    });
    expect(await sink.check([], new AbortController().signal)).toMatchObject([
      { ok: false, advice: expect.stringContaining('allowPrivate') },
    ]);
    expect(server.connections()).toBe(0);
  });

  test('are allowed where the sink says so', async () => {
    const server = await serve(answerOk);
    const sink = await connectTo({ url: `http://localhost:${server.port}/` });
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'delivered' });
  });
});

describe('the options', () => {
  test.for(['ats.example.com/hooks', 'ftp://ats.example.com', '/hooks', ''])('refuse the url %j', (url) => {
    expect(webhook.options.safeParse({ url }).error?.issues).toMatchObject([{ path: ['url'] }]);
  });

  test.for(['plain words', 'whsec_', 'abc', 'whsec_a$b='])(
    'refuse the secret %j, saying how to make one, without repeating it',
    (secret) => {
      const { error } = webhook.options.safeParse({ url: 'https://ats.example.com', secret });
      expect(error?.message).toContain('openssl rand');
      expect(error?.message).not.toContain(`"${secret}"`);
    },
  );

  test.for([
    'Host',
    'content-length',
    'Transfer-Encoding',
    'Connection',
    'Webhook-Id',
    'webhook-signature',
    'a b',
    'a:',
  ])('and actions refuse the header %j', (name) => {
    const headers = { [name]: 'x' };
    expect(webhook.options.safeParse({ url: 'https://ats.example.com', headers }).success).toBe(false);
    expect(webhook.action.safeParse({ headers }).success).toBe(false);
  });

  test('tell of all faults at once', () => {
    const { error } = webhook.options.safeParse({
      url: 'http://127.0.0.1/',
      secret: 'x',
      headers: { Host: 'x' },
    });
    expect(error?.issues.map((issue) => issue.path[0]).toSorted()).toEqual(['headers', 'secret', 'url']);
  });

  test('refuse a header with a line break', () => {
    const headers = { 'X-Key': 'a\r\nb' };
    expect(webhook.options.safeParse({ url: 'https://ats.example.com', headers }).success).toBe(false);
  });

  test.for(['GET', 'HEAD', 'post'])('of an action refuse the method %s', (method) => {
    expect(webhook.action.safeParse({ method }).success).toBe(false);
  });
});

test('the live check asks without sending an event, and says what was answered', async () => {
  const sink = await connect();
  sandbox.faults.once({ kind: 'status', status: 405 });
  expect(await sink.check([], new AbortController().signal)).toEqual([
    {
      ok: true,
      what: 'url answers',
      detail: `${new URL(sandbox.url).origin} answers (405 to OPTIONS, any answer will do).`,
    },
  ]);
  sandbox.faults.once({ kind: 'status', status: 410 });
  const gone = { ok: false, detail: expect.stringContaining('answers 410: it is gone') };
  expect(await sink.check([], new AbortController().signal)).toMatchObject([gone]);
  expect(sandbox.calls).toEqual([]);
});
