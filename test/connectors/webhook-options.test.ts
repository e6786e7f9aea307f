import { createHmac } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import { webhook } from '../../connectors/webhook/index.ts';
import type { Call, CallFields } from '../../connectors/webhook/message.ts';
import { parseConfig } from '../../src/config/load.ts';
import type { AttemptRequest, Sink } from '../../src/connector.ts';
import type { Json } from '../../src/model.ts';
import { attemptAt, eventDataWith } from '../fixtures/event.ts';
import { selfSigned } from '../../sandbox/certificate.ts';
import { HttpSandbox } from '../../sandbox/http.ts';
import { answerOk, endlessJson, serve, tunnels } from './raw-server.ts';

async function connected(options: object): Promise<Sink<Call>> {
  const sink = await webhook.connect(
    webhook.options.parse({ allowPrivate: true, proxy: 'none', ...options }),
  );
  onTestFinished(() => sink.close());
  return sink;
}

function request(fields: CallFields = {}, over: Partial<AttemptRequest<Call>> = {}): AttemptRequest<Call> {
  const composed = webhook.compose(
    webhook.action.parse(fields),
    { deliveryId: 'd1', subject: { kind: 'event', event: eventDataWith() } },
    webhook.options.parse({ url: 'https://ats.example.com/hooks' }),
  );
  return attemptAt(composed, over);
}

interface Taken {
  readonly headers: IncomingMessage['headers'];
  readonly path: string;
  readonly body: string;
}

/** Keeps what comes, and answers as told. */
async function receiver(
  answer: (taken: Taken) => { status: number; body?: Json | string; headers?: object },
  answersAfter?: Promise<void>,
) {
  const taken: Taken[] = [];
  const listener: RequestListener = async (incoming, response) => {
    const one = { headers: incoming.headers, path: incoming.url ?? '', body: await text(incoming) };
    taken.push(one);
    await answersAfter;
    const { status, body = '', headers = {} } = answer(one);
    response.writeHead(status, { ...headers }).end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  return { taken, ...(await serve(listener)) };
}

const ok = () => ({ status: 200, body: { success: true } });

describe('what counts as success', () => {
  const cases: readonly (readonly [object, { status: number; body?: Json | string }, string])[] = [
    [{ status: [200, 202] }, { status: 202 }, 'delivered'],
    [{ status: [200, 202] }, { status: 204 }, 'perhaps'],
    [{ status: [200, 409] }, { status: 409 }, 'delivered'],
    [{ body: { success: true } }, { status: 200, body: { success: true, id: 1 } }, 'delivered'],
    [{ body: { success: true } }, { status: 200, body: { success: false } }, 'retry'],
    [{ body: { success: true } }, { status: 200, body: '<html>' }, 'perhaps'],
    [{ body: { success: true } }, { status: 200 }, 'perhaps'],
    [{ body: { data: { ok: 1 } } }, { status: 200, body: { data: { ok: 1, more: 2 } } }, 'delivered'],
    [{ body: { data: { ok: 1 } } }, { status: 200, body: { data: [] } }, 'retry'],
  ];
  test.for(cases)('is what the sink says: %j, %j: %s', async ([success, answer, outcome]) => {
    const { url } = await receiver(() => answer);
    const result = await (await connected({ url, success })).deliver(request());
    expect('perhapsDone' in result ? 'perhaps' : result.outcome).toBe(outcome);
    // It concerns this message: others may succeed, so the sink is not paused.
    expect(result).not.toHaveProperty('sinkWide');
  });

  const success = { body: { success: true } };

  test.for<[string, RequestListener]>([
    ['long', (_, response) => response.end(JSON.stringify({ pad: 'x'.repeat(200_000), success: true }))],
    ['with a byte order mark', (_, response) => response.end('\uFEFF{"success":true}')],
    [
      'compressed for whoever does not refuse that',
      ({ headers }, response) => {
        if (headers['accept-encoding'] === 'identity') response.end('{"success":true}');
        else response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"success":true}'));
      },
    ],
  ])('is found in a body that is %s', async ([, listener]) => {
    const { url } = await serve(listener);
    expect(await (await connected({ url, success })).deliver(request())).toMatchObject({
      outcome: 'delivered',
    });
  });

  test.for<[string, RequestListener]>([
    ['breaks off', (_, response) => response.writeHead(200).write('{"success":', () => response.destroy())],
    ['has no end', endlessJson],
  ])('is left open by a body that %s', async ([, listener]) => {
    const { url } = await serve(listener);
    expect(await (await connected({ url, success })).deliver(request())).toMatchObject({
      outcome: 'unknown',
      detail: expect.stringContaining('did not come whole'),
    });
  });

  test('may be a value that is masked where people read', async () => {
    const { url } = await receiver(() => ({ status: 200, body: { account: 'acme-corp-123' } }));
    const sink = await connected({
      url: `${url}/acme-corp-123`,
      success: { body: { account: 'acme-corp-123' } },
    });
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'delivered' });
  });

  test('names what the body lacks', async () => {
    const fails = () => ({ success: false, error: 'no such job' });
    const sandbox = await new HttpSandbox({ fails }).start();
    onTestFinished(() => sandbox.close());
    const sink = await connected({ url: sandbox.url, success: { body: { success: true } } });
    expect(await sink.deliver(request())).toMatchObject({
      reason: 'invalid',
      detail: expect.stringMatching(/no such job.*its body has not \{"success":true\}/),
    });
    expect(sandbox.calls).toEqual([]);
  });
});

test.for([
  [404, 'rejected'],
  [422, 'rejected'],
  [410, 'rejected'],
  [400, 'retry'],
] as const)('of %s, with dead: [404, 422], a delivery is %s', async ([status, outcome]) => {
  const { url } = await receiver(() => ({ status }));
  expect(await (await connected({ url, dead: [404, 422] })).deliver(request())).toMatchObject({ outcome });
});

test.for([410, 404, 422])('of %s, with dead: [], a delivery is tried again', async (status) => {
  const { url } = await receiver(() => ({ status }));
  expect(await (await connected({ url, dead: [] })).deliver(request())).toMatchObject({ outcome: 'retry' });
});

describe('a body', () => {
  const formType = { 'Content-Type': 'application/x-www-form-urlencoded' };

  test('that is a map becomes a form, in which no value adds a field', async () => {
    const { url, taken } = await receiver(ok);
    const body = { id: 'a&status=hired', score: 7, tags: ['x', 'ü'], none: null };
    await (await connected({ url })).deliver(request({ headers: formType, body }));
    expect(taken[0]?.body).toBe('id=a%26status%3Dhired&score=7&tags=x&tags=%C3%BC&none=');
  });

  test.for([
    [{ 'Content-Type': 'application/xml' }, { a: 1 }],
    [{ 'content-type': 'text/plain; charset=utf-8' }, { a: 1 }],
    [formType, [1]],
  ] as const)('that is a map or list is refused for %j', ([headers, body]) => {
    const { error } = webhook.action.safeParse({ headers, body });
    expect(error?.issues).toMatchObject([{ path: ['body'], message: expect.stringContaining('as text') }]);
  });

  test.for(['application/vnd.api+json', 'application/json; charset=utf-8'])('is JSON for %s', (type) => {
    expect(webhook.action.safeParse({ headers: { 'Content-Type': type }, body: [1] }).success).toBe(true);
  });
});

describe('the signature of a sink', () => {
  test.for([
    [{ header: 'X-Hub-Signature-256', prefix: 'sha256=' }, 'sha256', 'hex', 'sha256='],
    [{ header: 'X-Signature', algorithm: 'sha512', encoding: 'base64' }, 'sha512', 'base64', ''],
  ] as const)('is over the bytes of the body: %j', async ([signature, algorithm, encoding, prefix]) => {
    const { url, taken } = await receiver(ok);
    const sink = await connected({ url, secret: 'plain words', signature });
    await sink.deliver(request());
    const [call] = taken;
    const expected = createHmac(algorithm, 'plain words')
      .update(call?.body ?? '')
      .digest(encoding);
    expect(call?.headers[signature.header.toLowerCase()]).toBe(prefix + expected);
    expect(call?.headers['webhook-signature']).toBeUndefined();
  });

  test('stands beside that of Standard Webhooks where the secret is one of those', async () => {
    const { url, taken } = await receiver(ok);
    const secret = `whsec_${Buffer.from('key').toString('base64')}`;
    await (await connected({ url, secret, signature: { header: 'X-Signature' } })).deliver(request());
    expect(taken[0]?.headers).toMatchObject({
      'webhook-signature': expect.stringMatching(/^v1,/),
      'x-signature': expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test('needs a secret', () => {
    const { error } = webhook.options.safeParse({ url: 'https://a.example', signature: { header: 'X' } });
    expect(error?.issues[0]?.message).toContain('secret is missing');
  });
});

describe('authorization', () => {
  test.for([
    [{ basic: { user: 'ann', password: 's3cret' } }, `Basic ${Buffer.from('ann:s3cret').toString('base64')}`],
    // Greenhouse, Lever and Ashby want the key of their API so.
    [{ basic: { user: 'key-1' } }, `Basic ${Buffer.from('key-1:').toString('base64')}`],
    [{ basic: { user: 'key-1', password: '' } }, `Basic ${Buffer.from('key-1:').toString('base64')}`],
    [{ bearer: 'tok-1' }, 'Bearer tok-1'],
    [{ bearer: 'Bearer tok-1' }, 'Bearer tok-1'],
  ] as const)('by %j', async ([auth, expected]) => {
    const { url, taken } = await receiver(ok);
    await (await connected({ url, auth })).deliver(request());
    expect(taken[0]?.headers.authorization).toBe(expected);
  });

  test('that HTTP cannot carry is said to be at fault, and not the network', async () => {
    const { url, taken } = await receiver(ok);
    // A blank without width, as a token that is copied from a page may have.
    const sink = await connected({ url, auth: { bearer: 'tok-1\u200b' } });
    expect(await sink.check([], new AbortController().signal)).toMatchObject([
      { ok: false, detail: expect.stringContaining('cannot carry'), advice: expect.stringContaining('Copy') },
    ]);
    expect(await sink.deliver(request())).toMatchObject({
      outcome: 'retry',
      sinkWide: true,
      detail: expect.stringContaining('cannot carry'),
    });
    expect(taken).toEqual([]);
  });

  test('without a password is a key, which nobody is shown', async () => {
    const { url } = await receiver(({ headers }) => {
      const { authorization: header = '' } = headers;
      return { status: 401, body: { given: Buffer.from(header.slice(6), 'base64').toString(), header } };
    });
    const told = await (
      await connected({ url, auth: { basic: { user: 'key-12345678' } } })
    ).deliver(request());
    expect(told).toMatchObject({ detail: expect.stringContaining('{"given":"***:","header":"Basic ***"}') });
    const sinks =
      'sinks: { ats: { connector: webhook, url: "https://a.example", auth: { basic: { user: "${U}" } } } }';
    const { mask } = parseConfig(`${sinks}\nrules: []\n`, 'config.yaml', {
      env: { U: 'key-12345678' },
      connectors,
    });
    expect(mask('key-12345678')).toBe('***');
  });

  test.for([
    [{ auth: {} }, 'expected one of'],
    [{ auth: { bearer: 'a', basic: { user: 'a', password: 'b' } } }, 'expected one of'],
    [{ url: 'https://a:b@ats.example.com/', auth: { bearer: 'a' } }, 'a login already'],
    [{ headers: { Authorization: 'x' }, auth: { bearer: 'a' } }, 'a login already'],
  ] as const)('is refused where it is not clear: %j', ([options, message]) => {
    const { error } = webhook.options.safeParse({ url: 'https://ats.example.com', ...options });
    expect(error?.issues[0]?.message).toContain(message);
  });
});

describe('access tokens', () => {
  const oauth2 = (tokenUrl: string, over: object = {}) => ({
    auth: { oauth2: { tokenUrl, clientId: 'app', clientSecret: 'app-secret', ...over } },
  });

  async function both(over: object = {}, life = 3600) {
    let count = 0;
    const endpoint = await receiver(() => ({
      status: 200,
      body: { access_token: `token-${(count += 1)}`, token_type: 'Bearer', expires_in: life },
    }));
    const api = await receiver(ok);
    const sink = await connected({ url: api.url, ...oauth2(`${endpoint.url}/token`, over) });
    return { endpoint, api, sink };
  }

  test('are fetched once and used until they expire', async () => {
    const { endpoint, api, sink } = await both({ scope: 'hooks', audience: 'https://api.example' });
    await Promise.all([sink.deliver(request()), sink.deliver(request())]);
    await sink.deliver(request());
    expect(endpoint.taken.map(({ body }) => body)).toEqual([
      'grant_type=client_credentials&scope=hooks&audience=https%3A%2F%2Fapi.example&client_id=app&client_secret=app-secret',
    ]);
    expect(new Set(api.taken.map(({ headers }) => headers.authorization))).toEqual(
      new Set(['Bearer token-1']),
    );
  });

  test('that live a minute are fetched for each call', async () => {
    const { endpoint, sink } = await both({}, 60);
    await sink.deliver(request());
    await sink.deliver(request());
    expect(endpoint.taken).toHaveLength(2);
  });

  test('come by a refresh token where the sink has one', async () => {
    const { endpoint, sink } = await both({ refreshToken: 'r-1' });
    await sink.deliver(request());
    expect(endpoint.taken[0]?.body).toContain('grant_type=refresh_token&refresh_token=r-1');
  });

  test('come by the same refresh token again where an answer names an empty one, as some servers do that keep it', async () => {
    const endpoint = await receiver(() => ({
      status: 200,
      body: { access_token: 'token', refresh_token: '', expires_in: 1 },
    }));
    const api = await receiver(ok);
    const sink = await connected({
      url: api.url,
      ...oauth2(`${endpoint.url}/token`, { refreshToken: 'r-kept' }),
    });
    await sink.deliver(request());
    await sink.deliver(request());
    expect(endpoint.taken.map(({ body }) => new URLSearchParams(body).get('refresh_token'))).toEqual([
      'r-kept',
      'r-kept',
    ]);
  });

  test('are taken from any answer of success, as with it comes what takes the place of the refresh token', async () => {
    const endpoint = await receiver(() => ({ status: 201, body: { access_token: 'token' } }));
    const api = await receiver(ok);
    const sink = await connected({ url: api.url, ...oauth2(`${endpoint.url}/token`) });
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'delivered' });
  });

  test('are fetched again after the tool did not take one', async () => {
    const { endpoint, url, taken } = await (async () => {
      let count = 0;
      const given = await receiver(() => ({ status: 200, body: { access_token: `token-${(count += 1)}` } }));
      const api = await receiver(({ headers }) => ({
        status: headers.authorization === 'Bearer token-1' ? 401 : 200,
      }));
      return { endpoint: given, ...api };
    })();
    const sink = await connected({ url, ...oauth2(endpoint.url) });
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'retry', reason: 'auth', sinkWide: true });
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'delivered' });
    expect(taken).toHaveLength(2);
  });

  test('come from a server that takes the login in a header only', async () => {
    const endpoint = await receiver(({ headers }) =>
      headers.authorization === `Basic ${Buffer.from('app:app-secret').toString('base64')}`
        ? { status: 200, body: { access_token: 't' } }
        : { status: 401, body: { error: 'invalid_client' } },
    );
    const api = await receiver(ok);
    const sink = await connected({ url: api.url, ...oauth2(endpoint.url) });
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'delivered' });
  });

  // Microsoft's at an outage has a body like a refusal's. RFC 6749 knows these codes with a 302 only; servers use any status.
  test.for([
    [
      { status: 503, body: { error: 'temporarily_unavailable' }, headers: { 'retry-after': '7' } },
      'server',
      7000,
    ],
    [{ status: 500, body: { error: 'unknown_error' } }, 'server', undefined],
    [{ status: 400, body: { error: 'server_error' } }, 'server', undefined],
    [
      { status: 429, body: { error: 'too_many_requests' }, headers: { 'retry-after': '7' } },
      'rate_limited',
      7000,
    ],
  ] as const)(
    'that cannot be given just now are no refused login: %j',
    async ([answer, reason, retryAfterMs]) => {
      const endpoint = await receiver(() => answer);
      const sink = await connected({ url: (await receiver(ok)).url, ...oauth2(endpoint.url) });
      const detail = expect.stringContaining(answer.body.error);
      expect({ retryAfterMs: undefined, ...(await sink.deliver(request())) }).toMatchObject({
        outcome: 'retry',
        reason,
        sinkWide: true,
        retryAfterMs,
        detail,
      });
    },
  );

  test.for([
    [
      { status: 401, body: { error: 'invalid_client', error_description: 'expired' } },
      /invalid_client \(expired\).*a secret may have expired/,
    ],
    [{ status: 400, body: { error: 'invalid_grant' } }, /may not act for itself/],
    [
      { status: 400, body: { error: 'invalid_grant' } },
      /refresh token was revoked.*set store\.secretKey/,
      { refreshToken: 'of a user' },
    ],
    [{ status: 200, body: '<html>' }, /answered without a token/],
    [{ status: 200, body: { access_token: 'a\nb' } }, /answered without a token/],
    [{ status: 302, headers: { location: '/login' } }, /redirects are not followed/],
    [{ status: 404 }, /answered 404. Check tokenUrl/],
    [{ status: 503 }, /answered 503/],
  ] as const)('that are not given hold all messages back and say why: %j', async ([answer, words, over]) => {
    const endpoint = await receiver(() => answer);
    const api = await receiver(ok);
    const sink = await connected({ url: api.url, ...oauth2(endpoint.url, over) });
    expect(await sink.deliver(request())).toMatchObject({
      outcome: 'retry',
      sinkWide: true,
      detail: expect.stringMatching(words),
    });
    expect(api.taken).toEqual([]);
    const lines = await sink.check([], new AbortController().signal);
    expect(lines.find(({ what }) => what === 'access token')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(words),
    });
  });

  test('that are not given quote no credential, also where the words are cut', async () => {
    const clientSecret = 'cL1ent-seCret-that-is-longer-than-what-is-quoted-of-it';
    for (const quoted of [clientSecret, Buffer.from(`app:${clientSecret}`).toString('base64')]) {
      const words = `${'x'.repeat(180)} ${quoted}`;
      const endpoint = await receiver(() => ({
        status: 400,
        body: { error: 'x', error_description: words },
      }));
      const sink = await connected({ url: endpoint.url, ...oauth2(endpoint.url, { clientSecret }) });
      const { detail } = (await sink.deliver(request())) as { detail: string };
      expect(detail).toContain('xxx ***)');
    }
  });

  test('from a server that hangs end with the time of the attempt', async () => {
    const controller = new AbortController();
    const { url } = await serve(() => controller.abort());
    const sink = await connected({ url, ...oauth2(url) });
    expect(await sink.deliver(request({}, { signal: controller.signal }))).toMatchObject({
      outcome: 'retry',
      reason: 'timeout',
      sinkWide: true,
    });
  });

  test('are asked of no address that is not on the internet, by number or by name', async () => {
    const endpoint = await receiver(() => ({ status: 200, body: { access_token: 't' } }));
    const { port } = new URL(endpoint.url);
    const options = { url: 'https://ats.example.com', ...oauth2(`http://127.0.0.1:${port}/token`) };
    expect(webhook.options.safeParse(options).error?.issues).toMatchObject([
      { path: ['auth', 'oauth2', 'tokenUrl'], message: expect.stringContaining('allowPrivate') },
    ]);
    const named = { ...options, ...oauth2(`http://localhost:${port}/token`), allowPrivate: false };
    expect(await (await connected(named)).deliver(request())).toMatchObject({
      outcome: 'retry',
      sinkWide: true,
      detail: expect.stringContaining('allowPrivate'),
    });
    expect(endpoint.taken).toEqual([]);
  });

  test('are shown by no answer of the tool', async () => {
    const endpoint = await receiver(() => ({ status: 200, body: { access_token: 'very-secret-token' } }));
    const api = await receiver(({ headers }) => ({ status: 400, body: `bad: ${headers.authorization}` }));
    const sink = await connected({ url: api.url, ...oauth2(endpoint.url) });
    expect(JSON.stringify(await sink.deliver(request()))).not.toContain('very-secret-token');
  });
});

describe('tokens that the config does not know', () => {
  const token = 'ab/cd+ef==very-secret';
  const client = { clientId: 'app', clientSecret: 'app-secret', refreshToken: 'first-refresh-token' };

  /** Gives out another refresh token each time, and takes each only once. */
  async function rotating(answersAfter?: Promise<void>) {
    let valid = 'first-refresh-token';
    let count = 0;
    return receiver(({ body }) => {
      if (new URLSearchParams(body).get('refresh_token') !== valid)
        return { status: 400, body: { error: 'invalid_grant', error_description: `not ${valid}` } };
      valid = `rotated-refresh-token-${(count += 1)}`;
      return { status: 200, body: { access_token: token, refresh_token: valid, expires_in: 1 } };
    }, answersAfter);
  }

  test('are used by whoever opens the sink next: the one in the config is used up', async () => {
    const endpoint = await rotating();
    const api = await receiver(ok);
    const options = { url: api.url, auth: { oauth2: { tokenUrl: endpoint.url, ...client } } };
    expect(await (await connected(options)).deliver(request())).toMatchObject({ outcome: 'delivered' });
    expect(await (await connected(options)).deliver(request())).toMatchObject({ outcome: 'delivered' });
  });

  test('are kept where they come after the attempt has ended: the one before is used up', async () => {
    const answer = Promise.withResolvers<void>();
    const endpoint = await rotating(answer.promise);
    const api = await receiver(ok);
    const sink = await connected({ url: api.url, auth: { oauth2: { tokenUrl: endpoint.url, ...client } } });
    const attempt = new AbortController();
    const ended = sink.deliver(request({}, { signal: attempt.signal }));
    await expect.poll(() => endpoint.taken).toHaveLength(1);
    attempt.abort();
    expect(await ended).toMatchObject({ outcome: 'retry', reason: 'timeout', sinkWide: true });
    answer.resolve();
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'delivered' });
    expect(endpoint.taken).toHaveLength(1);
  });

  test.for([
    ['as JSON of PHP', token.replaceAll('/', '\\/'), {}],
    ['percent-encoded', encodeURIComponent(token), {}],
    ['in base64', Buffer.from(token).toString('base64'), {}],
    ['a refresh token', 'rotated-refresh-token-1', {}],
    ['in a header', '', { 'x-request-id': `r-${token}` }],
  ] as const)('are masked wherever a tool quotes them: %s', async ([, quoted, headers]) => {
    for (const status of [200, 400]) {
      const endpoint = await rotating();
      const api = await receiver(() => ({ status, body: `see ${quoted}`, headers }));
      const sink = await connected({
        url: api.url,
        auth: { oauth2: { tokenUrl: endpoint.url, ...client } },
      });
      // The second one knows the token of the first only by what was kept.
      const outcomes = [await sink.deliver(request()), await sink.deliver(request())];
      const shown = JSON.stringify(outcomes);
      expect(shown).not.toContain('very-secret');
      expect(shown).not.toContain(quoted || token);
      expect(shown).not.toContain('rotated-refresh');
    }
  });
});

describe('certificates', () => {
  test('of an authority of your own, and one that the sink shows', async () => {
    const here = selfSigned();
    const mine = selfSigned();
    const tls = { ...here, ca: mine.cert, requestCert: true, rejectUnauthorized: true };
    const { port } = await serve(answerOk, (listener) => createTlsServer(tls, listener));
    const url = `https://localhost:${port}`;
    expect(await (await connected({ url })).deliver(request())).toMatchObject({
      outcome: 'retry',
      detail: expect.stringContaining('no trusted TLS connection'),
    });
    const stranger = await connected({ url, ca: here.cert });
    expect(await stranger.check([], new AbortController().signal)).toMatchObject([
      { ok: false, advice: expect.stringContaining('cert and key') },
    ]);
    const sink = await connected({ url, ca: here.cert, cert: mine.cert, key: mine.key });
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'delivered' });
  });

  test.for([
    ['TLSv1.3', 'CERTIFICATE_REQUIRED', false],
    ['TLSv1.3', 'CERTIFICATE_REQUIRED', true],
    ['TLSv1.2', 'HANDSHAKE_FAILURE', false],
  ] as const)(
    'that the other side refuses leave nothing unknown: %s, %s',
    async ([version, alert, isFar]) => {
      const here = selfSigned();
      const tls = { ...here, ca: selfSigned().cert, requestCert: true, maxVersion: version };
      const { port } = await serve(answerOk, (listener) => createTlsServer(tls, listener));
      const proxy = isFar ? (await tunnels()).url : 'none';
      const sink = await connected({ url: `https://localhost:${port}`, ca: here.cert, proxy });
      // The first call opens the connection.
      expect(await sink.deliver(request())).toMatchObject({
        outcome: 'retry',
        sinkWide: true,
        detail: expect.stringContaining(alert),
      });
    },
  );

  test('that has ended is named, whatever the other side makes of it', async () => {
    const mine = selfSigned(new Date('2026-01-31T12:00:00Z'));
    const own = { cert: mine.cert, key: mine.key };
    // As nginx answers.
    const { url } = await receiver(() => ({ status: 400, body: 'The SSL certificate error' }));
    const sink = await connected({ url, ...own });
    const ended = 'The certificate in cert ended on 2026-01-31.';
    const at = (time: string) => sink.deliver(request({}, { now: Date.parse(time) }));
    expect(await at('2026-02-01T00:00:00Z')).toMatchObject({ detail: expect.stringContaining(ended) });
    expect(await at('2026-01-30T00:00:00Z')).toMatchObject({ detail: expect.not.stringContaining(ended) });
    expect((await sink.check([], new AbortController().signal)).at(-1)).toMatchObject({
      ok: false,
      what: 'certificate',
      detail: 'it ended on 2026-01-31.',
    });
    const valid = selfSigned();
    const other = await connected({ url, cert: valid.cert, key: valid.key });
    expect((await other.check([], new AbortController().signal)).at(-1)).toMatchObject({ ok: true });
  });

  const day = 86_400_000;
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;

  test.for([
    ['has expired (CERT_HAS_EXPIRED)', selfSigned(new Date(Date.now() - day)), true],
    ['is not valid yet; is the clock right?', selfSigned(new Date(Date.now() + 30 * day)), true],
    ['NODE_EXTRA_CA_CERTS, and restart (DEPTH_ZERO_SELF_SIGNED_CERT)', selfSigned(), false],
    ['neither TLS 1.2 nor 1.3', { ...selfSigned(), ...old }, true],
    ['speaks HTTP/2 only', { ...selfSigned(), ALPNProtocols: ['h2'] }, true],
    ['begins without TLS', null, false],
  ] as const)('of the other side are told in words: %s', async ([words, tls, isTrusted]) => {
    const create = (listener: RequestListener) => createTlsServer(tls ?? {}, listener);
    const { port } = await serve(answerOk, tls ? create : undefined);
    const ca = isTrusted ? tls.cert : undefined;
    const sink = await connected({ url: `https://localhost:${port}`, ca });
    expect(await sink.deliver(request())).toMatchObject({
      outcome: 'retry',
      detail: expect.stringContaining(words),
    });
  });

  test('of authorities that the process trusts are still trusted beside a `ca`', async () => {
    const pair = selfSigned();
    const { port } = await serve(answerOk, (listener) => createTlsServer(pair, listener));
    const known = getCACertificates('default');
    // As NODE_EXTRA_CA_CERTS does at the start.
    setDefaultCACertificates([...known, pair.cert]);
    onTestFinished(() => setDefaultCACertificates(known));
    const sink = await connected({ url: `https://localhost:${port}`, ca: selfSigned().cert });
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'delivered' });
  });

  test.for([
    [{ ca: '/etc/ssl/ca.pem' }, 'ca', 'not a path'],
    [{ ca: '-----BEGIN CERTIFICATE-----\nxx\n-----END CERTIFICATE-----' }, 'ca', 'PEM text of a certificate'],
    [{ cert: selfSigned().cert }, 'cert', 'go together'],
    [{ cert: selfSigned().cert, key: selfSigned().key }, 'key', 'belongs to cert'],
    [{ cert: selfSigned().cert, key: 'x' }, 'key', 'belongs to cert'],
  ] as const)('are refused where they are none: %#', ([options, key, message]) => {
    const { error } = webhook.options.safeParse({ url: 'https://a.example', ...options });
    expect(error?.issues[0]).toMatchObject({ path: [key], message: expect.stringContaining(message) });
  });
});

describe('a proxy', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  test('carries calls with TLS', async () => {
    const proxy = await tunnels();
    const pair = selfSigned();
    const { port } = await serve(answerOk, (listener) => createTlsServer(pair, listener));
    const url = `https://localhost:${port}`;
    const sink = await connected({ url, proxy: proxy.url, ca: pair.cert });
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'delivered' });
    const wrong = await connected({ url, proxy: proxy.url });
    expect(await wrong.deliver(request())).toMatchObject({
      outcome: 'retry',
      detail: expect.stringContaining('no trusted TLS connection'),
    });
  });

  test('that is down is named', async () => {
    const { url } = await receiver(ok);
    const sink = await connected({ url, proxy: 'http://127.0.0.1:1' });
    expect(await sink.deliver(request())).toMatchObject({
      outcome: 'retry',
      detail: expect.stringContaining('through the proxy 127.0.0.1:1'),
    });
  });

  test('decides which addresses may be called, and the live check says so', async () => {
    const proxy = await tunnels();
    const { url } = await receiver(ok);
    const options = { url, allowPrivate: true, proxy: proxy.url };
    const [line] = await (await connected(options)).check([], new AbortController().signal);
    expect(line).toMatchObject({ ok: true, detail: expect.stringContaining('decides which addresses') });
  });

  test.for([
    ['', 1],
    ['127.0.0.1', 0],
    ['other.example,127.0.0.1', 0],
    ['*', 0],
    ['.0.0.1', 0],
    ['7.0.0.1', 1],
    ['127.0.0.1:1', 1],
  ] as const)('is taken from the environment, NO_PROXY %j aside', async ([noProxy, through]) => {
    const proxy = await tunnels();
    vi.stubEnv('HTTP_PROXY', proxy.url);
    vi.stubEnv('NO_PROXY', noProxy);
    const { url } = await receiver(ok);
    const sink = await connected({ url, proxy: undefined });
    expect(await sink.deliver(request())).toMatchObject({ outcome: 'delivered' });
    expect(proxy.asked).toHaveLength(through);
  });
});
