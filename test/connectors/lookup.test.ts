import type { RequestListener } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { lookup } from '../../connectors/webhook/lookup/index.ts';
import { type AttemptRequest, masker, type Sink } from '../../src/connector.ts';
import { cached } from '../../src/lookups/cached.ts';
import type { LookupFacts } from '../../src/model.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import { TestingService, type TestingServiceOptions } from '../../sandbox/testing-service.ts';
import { attemptAt, eventDataWith } from '../fixtures/event.ts';
import { endlessJson, serve } from './raw-server.ts';

type Asked = AttemptRequest<{ path: string }>;

const subject = { kind: 'event', event: eventDataWith() } as const;

async function connected(given: object, connector = lookup): Promise<Sink<{ path: string }>> {
  const options = lookup.options.parse({ allowPrivate: true, proxy: 'none', ...given });
  const sink = await connector.connect(options);
  onTestFinished(() => sink.close());
  return sink;
}

const asking = (path: string, over: Partial<Asked> = {}): Asked => attemptAt({ message: { path } }, over);

const fields = {
  name: { at: '/name', personal: true },
  score: { at: '/result/score', type: 'number' },
  passed: { at: '/passed', type: 'boolean' },
  finished: { at: '/result/finishedAt', type: 'time' },
  report: { at: '/reportUrl', type: 'url' },
  a: { at: '/a~1b/~0/1' },
};

/** What a look-up makes of this answer. */
async function outcomeOf(listener: RequestListener, over: object = {}): Promise<Outcome> {
  const { url } = await serve(listener);
  const sink = await connected({ url: `${url}/{{ event.candidateId }}`, fields, until: ['score'], ...over });
  return sink.deliver(asking('/c1'));
}

const answering =
  (body: unknown, status = 200, headers: Record<string, string> = {}): RequestListener =>
  (_, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body));

const factsOf = (outcome: Outcome): LookupFacts =>
  (outcome.outcome === 'delivered'
    ? outcome.receipt['facts']
    : 'progress' in outcome && outcome.progress) as never;

describe('an answer', () => {
  const whole = {
    name: 'Ana Kovač\0',
    result: { score: 87.5, finishedAt: '2026-11-23T09:30:00+01:00' },
    passed: true,
    reportUrl: 'https://tests.example.com/r/1?a=b',
    'a/b': { '~': ['zero', 'one'] },
    __proto__: 'x',
    secret: 'kept by nobody',
  };

  test('gives the facts that are named, of their types, and nothing else of it', async () => {
    const outcome = await outcomeOf(answering(whole));
    expect(outcome).toMatchObject({ outcome: 'delivered', receipt: { status: 200 } });
    expect(factsOf(outcome)).toEqual({
      state: 'answered',
      at: expect.any(Number),
      reason: null,
      fields: {
        name: 'Ana Kovač\uFFFD',
        score: 87.5,
        passed: true,
        finished: '2026-11-23T08:30:00.000Z',
        report: 'https://tests.example.com/r/1?a=b',
        a: 'one',
      },
    });
    expect(JSON.stringify(outcome)).not.toContain('kept by nobody');
  });

  test('with other types leaves these unknown, says which, and shows no value', async () => {
    const outcome = await outcomeOf(
      answering({
        name: ['Ana'],
        result: { score: '87 %', finishedAt: '2026-11-23 09:30' },
        passed: 'yes',
        reportUrl: 'javascript:alert(1)',
      }),
    );
    expect(outcome.outcome).toBe('delivered');
    expect(factsOf(outcome)).toMatchObject({ state: 'answered', fields: { a: null } });
    // So that somebody is told where it goes on.
    expect(outcome).toHaveProperty('note', factsOf(outcome).reason);
    expect(factsOf(outcome).reason).toBe(
      [
        'name: expected text of at most 10000 characters, got a list',
        'score: expected a number, got text',
        'passed: expected true or false, got text',
        'finished: expected a time with its zone, as in 2026-11-23T10:00:00Z, got text',
        'report: expected an address that begins with https:// or http://, got text.',
      ].join('; '),
    );
  });

  test.for<[unknown, string | null]>([
    [{ first: 'Ana', last: 'Kovač' }, 'Ana Kovač'],
    [{ first: '', last: 'Kovač' }, 'Kovač'],
    [{ first: 'Ana ', last: ' Kovač' }, 'Ana Kovač'],
    [{ first: ' ', last: 'Kovač' }, 'Kovač'],
    [{ first: 'Ana', last: null }, 'Ana'],
    [{ first: '', last: '' }, ''],
    // As an API gives a whole name of two that are empty: no `default` would take the place of a space.
    [{ first: ' ' }, ''],
    [{ email: 'ana@example.com' }, null],
  ])('has a text that stands at several places, as that of %j', async ([body, name]) => {
    const names = { name: { at: ['/first', '/last'] } };
    expect(factsOf(await outcomeOf(answering(body), { fields: names, until: [] })).fields).toEqual({ name });
  });

  test.for<[unknown, string]>([
    [7, 'a number'],
    ['x'.repeat(9_997), 'a longer text'],
  ])('that is no text with one of several places leaves it unknown', async ([last, got]) => {
    const names = { name: { at: ['/first', '/last'] } };
    const facts = factsOf(await outcomeOf(answering({ first: 'Ana', last }), { fields: names, until: [] }));
    expect(facts.reason).toBe(`name: expected text of at most 10000 characters, got ${got}.`);
    expect(facts.fields).toEqual({});
  });

  // Old servers in Java send JSON so. Others only say so, and send UTF-8.
  test.for<[string, BufferEncoding]>([
    ['iso-8859-1', 'latin1'],
    ['ISO-8859-1', 'utf8'],
    ['utf-16le', 'utf16le'],
    ['none', 'utf8'],
  ])('of the charset %s in %s is read', async ([charset, encoding]) => {
    const outcome = await outcomeOf((_, response) =>
      response
        .writeHead(200, { 'content-type': `application/json; charset=${charset}` })
        .end(Buffer.from('{"name":"Jürgen","result":{"score":87}}', encoding)),
    );
    expect(factsOf(outcome).fields).toMatchObject({ name: 'Jürgen', score: 87 });
  });

  // As frameworks write decimals that must not be rounded.
  test.each([
    ['87.50', 87.5],
    ['-3', -3],
    ['0', 0],
    ['007', undefined],
    ['87,5', undefined],
    ['1e3', undefined],
    ['12345678901234567', undefined],
  ])('with the number %j as text', async (score, read) => {
    const outcome = await outcomeOf(answering({ ...whole, result: { score } }));
    expect(factsOf(outcome).fields['score']).toBe(read);
  });

  test.each([
    ['number', ''],
    ['time', ' '],
    ['url', ''],
  ])('with a %s that is the text %j has nothing there yet', async (type, score) => {
    const over = { fields: { score: { at: '/score', type } } };
    const asked = await outcomeOf(answering({ score }), over);
    expect(asked).toMatchObject({ outcome: 'retry', detail: expect.stringContaining('score') });
    const facts = factsOf(await outcomeOf(answering({ score }), { ...over, until: [] }));
    expect(facts).toMatchObject({ reason: null, fields: { score: null } });
  });

  test('with a number that is too large says so', async () => {
    const outcome = await outcomeOf(answering('{"result":{"score":1e999}}'));
    expect(factsOf(outcome).reason).toBe('score: expected a number, got a number that is too large.');
  });

  test('without a field of `until` is asked again, and keeps what there is', async () => {
    const outcome = await outcomeOf(answering({ name: 'Ana', result: null }));
    expect(outcome).toMatchObject({
      outcome: 'retry',
      reason: 'not_found',
      detail: expect.stringContaining('no score yet'),
    });
    expect(outcome).not.toHaveProperty('sinkWide');
    expect(factsOf(outcome)).toMatchObject({ state: 'answered', fields: { name: 'Ana', score: null } });
  });

  test.for<[string, RequestListener]>([
    ['404', answering({}, 404)],
    ['204', answering('', 204)],
    ['200 with nothing', answering('')],
  ])('%s is asked again, and says that there is none', async ([, listener]) => {
    const missing = await outcomeOf(listener);
    expect(missing).toMatchObject({ outcome: 'retry', reason: 'not_found' });
    expect(missing).not.toHaveProperty('sinkWide');
    expect(factsOf(missing)).toMatchObject({ state: 'absent', fields: { name: null, score: null } });
  });

  const quoting: RequestListener = (request, response) => {
    const { url = '', headers } = request;
    const body = { name: `called as ${headers.authorization}`, reportUrl: `https://api.example.com${url}` };
    answering(body)(request, response);
  };

  test.each([
    { from: 'all of it', until: [] },
    { from: 'what there is of it so far', until: ['score'] },
  ])('that quotes the credentials of its call gives none of them, from $from', async ({ until }) => {
    const { url } = await serve(quoting);
    const login = { user: 'connector', password: 'api password 0123' };
    const sink = await connected({ url: `${url}/`, fields, until, auth: { basic: login } });
    const outcome = await sink.deliver(asking('/c1?key=9f8e7d6c', { mask: masker(['9f8e7d6c']) }));
    expect(factsOf(outcome).fields).toMatchObject({
      name: 'called as Basic ***',
      report: 'https://api.example.com/c1?key=***',
    });
  });

  test('202 is asked again where nothing of it is there yet', async () => {
    const over = { until: [] };
    const accepted = await outcomeOf(answering({ state: 'processing' }, 202), over);
    const detail = expect.stringMatching(/^The API answered 202\. It has no name .*yet\.$/);
    expect(accepted).toMatchObject({ outcome: 'retry', reason: 'not_found', detail });
    expect(accepted).not.toHaveProperty('sinkWide');
    expect(factsOf(accepted)).toMatchObject({ state: 'answered', fields: { name: null } });
    expect(await outcomeOf(answering({ name: 'Ana' }, 202), over)).toMatchObject({ outcome: 'delivered' });
  });

  test('410 says for ever that there is none', async () => {
    const gone = await outcomeOf(answering({}, 410));
    expect(factsOf(gone)).toMatchObject({ state: 'absent' });
    // So `status` tells where that is said of all, as by an API that was shut down.
    expect(gone).toMatchObject({ receipt: { status: 410, lacks: Object.keys(fields) } });
  });

  const big = `"${'x'.repeat(256 * 1024)}"`;
  test.for<[string, RequestListener, object]>([
    ['400', answering({}, 400), { outcome: 'rejected', reason: 'invalid' }],
    ['422', answering({}, 422), { outcome: 'rejected', reason: 'invalid' }],
    [
      'no JSON',
      answering('<html>'),
      { outcome: 'retry', sinkWide: 'perhaps', detail: expect.stringContaining('with no JSON') },
    ],
    [
      'too much',
      answering(big),
      { outcome: 'rejected', detail: expect.stringContaining('more than 256 kB') },
    ],
    [
      'an endless one',
      endlessJson,
      { outcome: 'rejected', detail: expect.stringContaining('more than 256 kB') },
    ],
    [
      'as much as may be',
      answering(`"${'x'.repeat(256 * 1024 - 2)}"`),
      { outcome: 'retry', reason: 'not_found' },
    ],
    ['401', answering({}, 401), { outcome: 'retry', reason: 'auth', sinkWide: true }],
    ['403', answering({}, 403), { outcome: 'retry', reason: 'auth', sinkWide: true }],
    [
      '429',
      answering({}, 429, { 'retry-after': '7' }),
      { outcome: 'retry', sinkWide: true, retryAfterMs: 7000 },
    ],
    ['500', answering({}, 500), { outcome: 'retry', reason: 'server', sinkWide: 'perhaps' }],
    ['503', answering({}, 503), { outcome: 'retry', reason: 'server', sinkWide: true }],
    ['502', answering({}, 502), { outcome: 'retry', reason: 'server', sinkWide: true }],
    [
      '302',
      answering({}, 302, { location: 'https://x.example.com' }),
      { outcome: 'retry', sinkWide: 'perhaps' },
    ],
    [
      '302 to a login',
      answering({}, 302, { location: '/login?next=there' }),
      { outcome: 'retry', reason: 'auth', sinkWide: true, detail: expect.stringContaining('a login') },
    ],
    [
      'one that breaks off',
      (_, response) =>
        response.writeHead(200, { 'content-length': '9' }).write('{', () => response.destroy()),
      { outcome: 'retry', reason: 'network', sinkWide: true },
    ],
    [
      'none',
      (_, response) => void response.destroy(),
      { outcome: 'retry', reason: 'network', sinkWide: true },
    ],
  ])('%s', async ([, listener, expected]) => {
    expect(await outcomeOf(listener)).toMatchObject(expected);
  });

  test('that comes too late is a time-out, and so is one that stops half-way', async () => {
    const silent: RequestListener = () => {};
    const halting: RequestListener = (_, response) => void response.writeHead(200).write('{');
    for (const listener of [silent, halting]) {
      const { url } = await serve(listener);
      const sink = await connected({ url: `${url}/x`, fields });
      const outcome = await sink.deliver(asking('/x', { signal: AbortSignal.timeout(100) }));
      expect(outcome).toMatchObject({ outcome: 'retry', reason: 'timeout', sinkWide: true });
    }
  });

  test('quotes nothing of a body', async () => {
    for (const status of [400, 401, 404, 500]) {
      const outcome = await outcomeOf(answering({ error: 'Ana Kovač is unknown' }, status));
      expect(JSON.stringify(outcome)).not.toContain('Ana');
    }
  });
});

test('addresses that are not on the internet are not called', async () => {
  const { url, connections } = await serve(answering({}));
  const { port } = new URL(url);
  const sink = await connected({ url: `https://localhost:${port}/x`, fields, allowPrivate: false });
  expect(await sink.deliver(asking('/x'))).toMatchObject({
    outcome: 'retry',
    sinkWide: true,
    detail: expect.stringContaining('allowPrivate'),
  });
  expect(connections()).toBe(0);
});

test('it only ever sends GET, without a body, and asks for JSON', async () => {
  const seen: (string | undefined)[] = [];
  await outcomeOf(
    (incoming, response) => {
      const { method, url, headers } = incoming;
      seen.push(
        method,
        url,
        headers.accept,
        headers['content-length'],
        headers['content-type'],
        headers['x-key'] as string,
      );
      answering({})(incoming, response);
    },
    { headers: { 'X-Key': 'k-1' } },
  );
  expect(seen).toEqual(['GET', '/c1', 'application/json', undefined, undefined, 'k-1']);
});

describe('the API of a testing service', () => {
  async function service(options: TestingServiceOptions = {}, over: object = {}) {
    const api = await new TestingService(options).start();
    onTestFinished(() => api.close());
    const { username, password } = api;
    const given = {
      url: `${api.url}/candidates/{{ event.candidateId }}`,
      auth: { oauth2: { tokenUrl: `${api.url}/token`, grant: 'password', username, password } },
      fields: { name: { at: '/name' }, score: { at: '/result/score', type: 'number' } },
      until: ['score'],
      ...over,
    };
    const options2 = lookup.options.parse({ allowPrivate: true, proxy: 'none', ...given });
    const ask = async (sink: Sink<{ path: string }>, id: string, now = Date.now()) => {
      const composed = lookup.compose(
        { url: `${api.url}/candidates/${encodeURIComponent(id)}` },
        { deliveryId: '', subject },
        options2,
      );
      return sink.deliver(attemptAt(composed, { now }));
    };
    return { api, given, ask };
  }

  test('is logged in to once, and again at once where the login has ended', async () => {
    let now = 0;
    const { api, given, ask } = await service({ clock: () => now });
    const sink = await connected(given);
    const outcomes = await Promise.all(['a', 'b'].map((id) => ask(sink, id)));
    expect(outcomes.map(factsOf)).toMatchObject([
      { fields: { score: expect.any(Number) } },
      { fields: { name: expect.any(String) } },
    ]);
    expect(api.calls.filter((name) => name === 'token')).toHaveLength(1);
    now += 30 * 60_000;
    expect((await ask(sink, 'a')).outcome).toBe('delivered');
    expect(api.calls).toEqual(['token', 'candidate', 'candidate', 'candidate', 'token', 'candidate']);
  });

  test('with a wrong password says what to check, and not the password', async () => {
    const { api, given, ask } = await service();
    const auth = { oauth2: { ...given.auth.oauth2, password: 'wrong-password-1' } };
    const outcome = await ask(await connected({ ...given, auth }), 'a');
    expect(outcome).toMatchObject({ outcome: 'retry', reason: 'auth', sinkWide: true });
    expect(JSON.stringify(outcome)).toContain('Check username and password');
    expect(JSON.stringify(outcome)).not.toContain('wrong-password-1');
    expect(api.calls).toEqual(['token']);
  });

  test('refuses the 31st call of a minute until the first is a minute old', async () => {
    let now = 0;
    const { given, ask } = await service({ clock: () => now });
    const sink = await connected(given);
    for (let call = 0; call < 30; call += 1) expect((await ask(sink, `c${call}`)).outcome).toBe('delivered');
    now = 20_000;
    expect(await ask(sink, 'c30')).toMatchObject({ reason: 'rate_limited', retryAfterMs: 40_000 });
    now = 60_000;
    expect((await ask(sink, 'c30')).outcome).toBe('delivered');
  });

  test('is not ready for a while, changes its names, and answers late', async () => {
    const { api, given, ask } = await service();
    const sink = await connected(given);
    api.missingFor.set('a', 1);
    api.unscoredFor.set('a', 1);
    expect(
      [await ask(sink, 'a'), await ask(sink, 'a'), await ask(sink, 'a')].map((one) => one.outcome),
    ).toEqual(['retry', 'retry', 'delivered']);
    api.faults.once({ kind: 'slow', ms: 50 });
    expect((await ask(sink, 'b')).outcome).toBe('delivered');
    api.version = ({ name, result }) => ({ fullName: name, result: { score: `${result?.score} %` } });
    expect(factsOf(await ask(sink, 'c'))).toMatchObject({
      reason: 'score: expected a number, got text.',
      fields: { name: null },
    });
  });

  test('is asked once for the same while an answer counts, also by those who ask at the same time', async () => {
    const { api, given, ask } = await service();
    const sink = await connected(given, cached(lookup, 60_000) as typeof lookup);
    api.faults.once({ kind: 'slow', ms: 20 });
    const asked = await Promise.all(['a', 'a', 'a', 'b'].map((id) => ask(sink, id, 1000)));
    expect(asked.map(factsOf).map(({ fields: { name } }) => name)).toEqual([
      expect.any(String),
      ...Array(3).fill(expect.any(String)),
    ]);
    const calls = () => api.calls.filter((name) => name === 'candidate').length;
    expect(calls()).toBe(2);
    expect(sink.usage?.().calls).toBe(2);
    await ask(sink, 'a', 60_999);
    expect(calls()).toBe(2);
    // What is known takes nothing of the rate.
    expect(sink.usage?.().calls).toBe(0);
    await ask(sink, 'a', 61_000);
    expect(calls()).toBe(3);
    // What is not ready is not kept.
    api.missingFor.set('c', 1);
    expect([(await ask(sink, 'c')).outcome, (await ask(sink, 'c')).outcome]).toEqual(['retry', 'delivered']);
  });

  test('is checked for one candidate without showing who it is', async () => {
    const { api, given } = await service();
    const sink = await connected({ ...given, fields: { ...given.fields, mail: { at: '/mail' } } });
    const checks = await sink.check([{ path: '/api/candidates/a' }], AbortSignal.timeout(5000));
    expect(checks).toEqual([
      { ok: true, what: 'access token', detail: 'granted' },
      { ok: true, what: 'url answers', detail: 'name: text, score: number, mail: not there.' },
    ]);
    api.version = () => ({ name: 1 });
    const [, wrong] = await sink.check([{ path: '/api/candidates/a' }], AbortSignal.timeout(5000));
    expect(wrong).toMatchObject({
      ok: false,
      detail: expect.stringContaining('name: not of its type, score: not there'),
    });
    expect(await sink.check([{ path: '/api/candidates/missing1' }], AbortSignal.timeout(5000))).toMatchObject(
      [{ ok: true }, { ok: true, detail: expect.stringContaining('404') }],
    );
  });
});

test('the sandbox takes no other login, method or old token', async () => {
  const api = await new TestingService({ tokenLifeMs: 1000, clock: () => 5000 }).start();
  onTestFinished(() => api.close());
  const login = async (form: Record<string, string>, type = 'application/x-www-form-urlencoded') => {
    const body = type.endsWith('json') ? JSON.stringify(form) : new URLSearchParams(form).toString();
    const answer = await fetch(`${api.url}/token`, {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    });
    return [
      answer.status,
      (await answer.json()) as { error?: string; access_token?: string; expires_in?: number },
    ] as const;
  };
  const right = { grant_type: 'password', username: api.username, password: api.password };
  expect((await login(right, 'application/json'))[1].error).toBe('invalid_request');
  expect((await login({ ...right, grant_type: 'client_credentials' }))[1].error).toBe(
    'unsupported_grant_type',
  );
  expect((await login({ ...right, password: 'x' }))[1].error).toBe('invalid_grant');
  const [status, { access_token: token, expires_in: lifeS }] = await login(right);
  expect([status, lifeS]).toEqual([200, 1]);
  const call = async (path: string, init: RequestInit = {}) =>
    (await fetch(api.url + path, { headers: { authorization: `Bearer ${token}` }, ...init })).status;
  expect(await call('/candidates/a')).toBe(200);
  expect(await call('/candidates/missing')).toBe(404);
  expect(await call('/candidates/a', { method: 'DELETE' })).toBe(405);
  expect(await call('/tests/1234567')).toBe(200);
  expect(await call('/candidates/a', { headers: {} })).toBe(401);
  api.endLogins();
  expect(await call('/candidates/a')).toBe(401);
});
