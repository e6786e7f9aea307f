import { describe, expect, test } from 'vitest';
import { correlationOf } from '../../src/receiver/caller.ts';
import { CallerTokens } from '../../src/config/live/caller-tokens.ts';
import { Secret } from '../../src/support/secret.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { path, sample, startReceiver } from './receiver.ts';
import { head, Wire } from './wire.ts';

const json = JSON.stringify(sample);

describe('the allow-list', () => {
  test('allows listed addresses only', async () => {
    const receiver = await startReceiver({ allowFrom: ['192.0.2.0/24', '127.0.0.1'] });
    expect((await receiver.post(json)).status).toBe(202);
    receiver.reload({ allowFrom: ['192.0.2.0/24'] });
    const response = await receiver.post(json);
    expect(response.status).toBe(403);
    expect(await response.text()).not.toMatch(/127\.0\.0\.1|192\.0\.2/);
    receiver.reload({ allowFrom: 'any' });
    expect((await receiver.post(json)).status).toBe(202);
  });

  test('knows a caller on a dual-stack socket by its IPv4 address', async () => {
    const receiver = await startReceiver({ host: '::', allowFrom: ['127.0.0.0/8'] });
    expect((await receiver.post(json)).status).toBe(202);
    expect(receiver.lines[0]).toMatchObject({ address: '127.0.0.1' });
  });

  test('judges the address that a trusted proxy wrote, and no other', async () => {
    const receiver = await startReceiver({ allowFrom: ['4.175.48.171'], trustProxy: 1 });
    const from = async (chain: string) => (await receiver.post(json, { 'x-forwarded-for': chain })).status;
    expect(await from('4.175.48.171')).toBe(202);
    expect(await from('203.0.113.9, 4.175.48.171:50001')).toBe(202);
    expect(await from('4.175.48.171, 203.0.113.9')).toBe(403);
    expect(await from('4.175.48.171, unknown')).toBe(403);
    receiver.reload({ trustProxy: 0 });
    expect(await from('4.175.48.171')).toBe(403);
    receiver.reload({ trustProxy: ['127.0.0.1'] });
    expect(await from('4.175.48.171')).toBe(202);
    receiver.reload({ allowFrom: ['127.0.0.1'] });
    expect(await from('4.175.48.171')).toBe(403);
  });

  test('does not apply to health checks', async () => {
    const receiver = await startReceiver({ allowFrom: ['192.0.2.1'] });
    expect((await fetch(`http://127.0.0.1:${receiver.port}/healthz`)).status).toBe(200);
  });
});

describe('a refused address is explained in the log', () => {
  const here = { judged: '127.0.0.1', hops: ['127.0.0.1'], untrusted: [], trustProxy: 0 };
  const add = 'if 127.0.0.1 is the sender, add it to receiver.allowFrom';

  test.each([
    ['without a proxy: add it to the list', 0, '', { ...here, advice: add }],
    [
      'behind a proxy that is not configured: trust it',
      0,
      '4.175.48.171',
      {
        ...here,
        untrusted: ['4.175.48.171'],
        advice: `${add}; if it is a proxy of yours, set receiver.trustProxy to its address, or to 1`,
      },
    ],
    [
      'behind one proxy more than configured: trust that, too',
      1,
      '4.175.48.171, 10.0.0.2',
      {
        judged: '10.0.0.2',
        hops: ['127.0.0.1', '10.0.0.2'],
        advice: expect.stringContaining('receiver.trustProxy to its address, or to 2'),
      },
    ],
    [
      'behind a proxy that writes over what the one before it wrote: let it add',
      2,
      '192.0.2.7',
      {
        judged: '192.0.2.7',
        hops: ['127.0.0.1', '192.0.2.7'],
        advice:
          'if 192.0.2.7 is the sender, add it to receiver.allowFrom; if it is a proxy of yours, let each proxy add to X-Forwarded-For, and not write it anew: it does not say whom this came from',
      },
    ],
    [
      'where the one before it is not configured either: trust that, too',
      1,
      '192.0.2.7',
      {
        judged: '192.0.2.7',
        advice:
          'if 192.0.2.7 is the sender, add it to receiver.allowFrom; if it is a proxy of yours, set receiver.trustProxy to its address, or to 2, and let each proxy add to X-Forwarded-For, and not write it anew: it does not say whom this came from',
      },
    ],
    [
      'behind a proxy that is not among the listed ones: list it',
      ['192.0.2.1'],
      '4.175.48.171',
      { advice: expect.stringContaining('if it is a proxy of yours, add it to receiver.trustProxy') },
    ],
    [
      'a proxy that does not write an address: fix its configuration',
      1,
      'unknown',
      {
        judged: null,
        address: 'unknown',
        advice: expect.stringContaining('"unknown" in X-Forwarded-For is not an address'),
      },
    ],
  ])('%s', async (_, trustProxy, chain, line) => {
    const receiver = await startReceiver({ allowFrom: ['4.175.48.171'], trustProxy });
    await receiver.post(json, chain === '' ? {} : { 'x-forwarded-for': chain });
    expect(receiver.lines).toMatchObject([{ level: 'warn', outcome: 'refused', status: 403, ...line }]);
  });

  test('a scan does not flood it, and suppressed lines are counted', async () => {
    const clock = { now: 1_763_713_000_000 };
    const receiver = await startReceiver({ allowFrom: ['192.0.2.1'] }, { now: () => clock.now });
    for (let request = 0; request < 50; request += 1) await receiver.post(json);
    expect(receiver.lines).toHaveLength(20);
    expect(receiver.counted).toHaveLength(50);

    await fetch(`http://127.0.0.1:${receiver.port}/wp-login.php`);
    expect(receiver.lines.at(-1)).toMatchObject({ status: 404, path: '/wp-login.php' });

    clock.now += 60_000;
    await receiver.post(json);
    expect(receiver.lines.at(-1)).toMatchObject({ status: 403, suppressed: 30 });

    receiver.reload({ allowFrom: 'any' });
    for (let request = 0; request < 30; request += 1) await receiver.post(json);
    expect(receiver.lines.filter((line) => line['outcome'] === 'accepted')).toHaveLength(30);
  });
});

describe('the token', () => {
  test('is accepted in the query or in the Authorization header', async () => {
    const receiver = await startReceiver({ token: [new Secret('s3cret+/=')] });
    const query = (text: string) =>
      fetch(`${receiver.url}?${text}`, {
        method: 'POST',
        body: json,
        headers: { 'content-type': 'application/json' },
      });
    const bearer = (text: string) => receiver.post(json, { authorization: text });
    const answers = await Promise.all([
      query(`token=${encodeURIComponent('s3cret+/=')}`),
      query(`a=b&token=wrong&token=s3cret%2B%2F%3D`),
      // As people copy it from the config into the address.
      query('token=s3cret+/='),
      bearer('Bearer s3cret+/='),
      bearer('bearer   s3cret+/='),
    ]);
    expect(answers.map((response) => response.status)).toEqual([202, 202, 202, 202, 202]);
  });

  test.each([
    ['', {}],
    ['token=', {}],
    ['token=s3cre', {}],
    ['token=s3crett', {}],
    ['Token=s3cret', {}],
    ['', { authorization: 'Bearer wrong' }],
    ['', { authorization: 'Basic czNjcmV0' }],
    ['', { authorization: 's3cret' }],
  ])('is wrong or missing in %j %j', async (query, headers) => {
    const receiver = await startReceiver({ token: [new Secret('s3cret')] });
    const response = await fetch(`${receiver.url}?${query}`, {
      method: 'POST',
      body: json,
      headers: { 'content-type': 'application/json', ...headers },
    });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(receiver.inbox.received).toEqual([]);
  });

  test('never reaches the log, be it right or wrong', async () => {
    const receiver = await startReceiver({ token: [new Secret('s3cret')] });
    const headers = { 'content-type': 'application/json' };
    await fetch(`${receiver.url}?token=s3cret`, { method: 'POST', body: json, headers });
    await fetch(`${receiver.url}?token=s3crett`, { method: 'POST', body: json, headers });
    await fetch(`http://127.0.0.1:${receiver.port}/other?token=s3cret`, {
      method: 'POST',
      body: json,
      headers,
    });
    expect(receiver.lines.map((line) => line['status'])).toEqual([202, 401, 404]);
    expect(JSON.stringify(receiver.lines)).not.toContain('s3cret');
  });

  const secrets = (...texts: string[]) => texts.map((text) => new Secret(text));

  test('may be any of a list; one that a reload took out is valid until a new one was used, and is told', async () => {
    const receiver = await startReceiver({ token: secrets('one', 'two') });
    const sentWith = async (token: string) =>
      (await receiver.post(json, { authorization: `Bearer ${token}` })).status;
    expect([await sentWith('two'), await sentWith('one'), await sentWith('three')]).toEqual([202, 202, 401]);
    // What stays was used: nobody needs the other one any more.
    receiver.reload({ token: secrets('one') });
    expect([await sentWith('two'), await sentWith('one')]).toEqual([401, 202]);

    receiver.reload({ token: secrets('new') });
    expect([await sentWith('one'), await sentWith('two')]).toEqual([202, 401]);
    expect(receiver.lines.at(-2)).toMatchObject({
      level: 'warn',
      outcome: 'accepted',
      warning: expect.stringMatching(
        /from before receiver\.token was changed; it is valid until 20.*Z at most/,
      ),
    });
    receiver.reload({ token: secrets('newer', 'newest') });
    expect([await sentWith('one'), await sentWith('new')]).toEqual([202, 202]);
    expect([await sentWith('newest'), await sentWith('newer')]).toEqual([202, 202]);
    expect([await sentWith('one'), await sentWith('new')]).toEqual([401, 401]);
  });

  test('from before a reload is valid for a day at most, however often the config is loaded', () => {
    const tokens = new CallerTokens(secrets('old'));
    const day = 86_400_000;
    const judge = (token: string, at: number) => tokens.judge(() => [token], at);
    expect(tokens.adopt(secrets('old'), 0)).toBeNull();
    expect(tokens.adopt(secrets('new'), 0)).toBe(day);
    expect(tokens.adopt(secrets('new'), day / 2)).toBe(day);
    expect(tokens.adopt(secrets('newer'), day / 2)).toBe(1.5 * day);
    expect(judge('old', day - 1)).toEqual({ formerUntil: day });
    expect([judge('old', day), judge('new', day)]).toEqual(['wrong', { formerUntil: 1.5 * day }]);
    expect(tokens.former.map((one) => one.reveal())).toEqual(['new', 'old']);
    expect(tokens.adopt([], day)).toBeNull();
    expect(judge('anything', day)).toBe('valid');
  });
});

describe('an event that is refused', () => {
  test('is counted with why and where from, and nothing else of a refused caller is', async () => {
    const receiver = await startReceiver({
      allowFrom: ['192.0.2.1'],
      trustProxy: 1,
      token: [new Secret('s')],
    });
    const post = (from: string, body = json, type = 'application/json') =>
      receiver.post(body, { 'x-forwarded-for': from, 'content-type': type });
    const answers = await Promise.all([
      post('192.0.2.9'),
      post('192.0.2.1'),
      post('192.0.2.9', '{}'),
      post('192.0.2.9', json, 'text/plain'),
      post('192.0.2.9', `{"more": "${'x'.repeat(65_536)}"}`),
      fetch(receiver.url),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([403, 401, 403, 403, 403, 405]);
    receiver.inbox.answer = () => Promise.reject(new StoreUnavailable('full'));
    expect((await receiver.post(json, good)).status).toBe(503);
    const counted = receiver.inbox.refused.map(([reason, from]) => `${reason} ${from}`);
    expect(new Set(counted)).toEqual(new Set(['address 192.0.2.9', 'token 192.0.2.1', 'store 192.0.2.1']));
    expect(counted).toHaveLength(3);
  });

  test('and so is an event that was sent to another path', async () => {
    const receiver = await startReceiver({ token: [new Secret('s')] });
    const post = (body: string) =>
      fetch(`http://127.0.0.1:${receiver.port}/hok?token=s`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      });
    expect([(await post(json)).status, (await post('{}')).status]).toEqual([404, 404]);
    expect(receiver.inbox.refused).toMatchObject([['path', '127.0.0.1', { raw: JSON.parse(json) }]]);
    expect(receiver.lines).toMatchObject([
      { level: 'warn', path: '/hok', warning: 'an event came to another path than receiver.path' },
      { level: 'info', path: '/hok' },
    ]);
  });

  test('and was sent to another path has the reason that its sender gives, if any', async () => {
    const receiver = await startReceiver({
      allowFrom: ['192.0.2.1'],
      trustProxy: 1,
      token: [new Secret('s')],
    });
    const sent = async (headers: Record<string, string>) =>
      await fetch(`http://127.0.0.1:${receiver.port}/hok`, {
        method: 'POST',
        body: json,
        headers: { 'content-type': 'application/json', ...headers },
      });
    const stranger = { ...good, 'x-forwarded-for': '192.0.2.9' };
    for (const headers of [good, stranger, { ...good, authorization: 'Bearer no' }])
      expect((await sent(headers)).status).toBe(404);
    expect(receiver.inbox.refused.map(([reason]) => reason)).toEqual(['path', 'address', 'token']);
  });

  const good = { 'x-forwarded-for': '192.0.2.1', authorization: 'Bearer s' };

  test('keeps nobody else from sending: half of the places are for what refused callers send', async () => {
    const receiver = await startReceiver({ token: [new Secret('s')] }, { mostConnections: 4 });
    const request = head(path, { 'content-length': Buffer.byteLength(json) });
    const slow = [await Wire.open(receiver.port), await Wire.open(receiver.port)];
    for (const one of slow) await one.written(request);
    const third = (await Wire.open(receiver.port)).send(request);
    // Whoever is waited for in vain is hung up on.
    expect(await third.answer()).toMatchObject({ status: 401, headers: { connection: 'keep-alive' } });
    third.send(json);
    expect((await receiver.post(json, good)).status).toBe(202);
    for (const one of slow) expect(await one.send(json).answer()).toMatchObject({ status: 401 });
    expect(receiver.inbox.refused).toHaveLength(2);
  });
});

test('the line of a refused caller is bounded, however many trusted proxies a header names', async () => {
  const receiver = await startReceiver({ allowFrom: ['192.0.2.1'], trustProxy: ['127.0.0.1'] });
  await receiver.post(json, { 'x-forwarded-for': Array.from({ length: 1_000 }, () => '127.0.0.1').join() });
  await receiver.post(json, { 'x-forwarded-for': `${'x'.repeat(9_000)}, 127.0.0.1` });
  expect(receiver.lines).toMatchObject([{ status: 403 }, { status: 403 }]);
  for (const line of receiver.lines) expect(JSON.stringify(line).length).toBeLessThan(1_000);
});

test('a reload changes path, limits and the correlation header at once', async () => {
  const receiver = await startReceiver();
  receiver.reload({ path: '/moved', maxBodyBytes: 10, correlationHeader: 'x-trace' });
  expect((await receiver.post(json)).status).toBe(404);
  receiver.reload({ path: '/webhooks/candidates' });
  expect((await receiver.post(json)).status).toBe(413);
  receiver.reload({ maxBodyBytes: 65_536 });
  await receiver.post(json, { 'x-trace': 't-1', 'x-acme-correlationid': 'c-1' });
  expect(receiver.inbox.received[0]?.correlationId).toBe('t-1');
});

describe('the correlation id', () => {
  test.each<[string | null, Record<string, string>, string?]>([
    ['c-1', { host: 'localhost', 'x-service-correlationid': 'c-1' }],
    ['c-1', { 'x-acme-corp-correlationid': 'c-1' }],
    ['c-1', { 'x-acme-correlation-id': 'c-1' }],
    ['c-1', { 'x-correlation-id': 'c-1' }],
    ['c-1', { 'x-correlationid': 'c-1' }],
    ['x'.repeat(200), { 'x-a-correlationid': 'x'.repeat(200) }],
    ['{5F0C7A52-9A53} #1', { 'x-a-correlationid': '{5F0C7A52-9A53} #1' }],
    // One with a brand is taken before a general one, in whatever order they come.
    ['brand', { 'x-correlation-id': 'general', 'x-acme-correlationid': 'brand' }],
    ['brand', { 'x-acme-correlationid': 'brand', 'x-correlation-id': 'general' }],
    [null, { 'x-a-correlationid': '' }],
    [null, { correlationid: 'c-1' }],
    [null, { 'x-acme-correlationid-old': 'c-1' }],
    [null, { 'x-acme-id': 'c-1' }],
    [null, { 'acme-correlationid': 'c-1' }],
    [null, { 'x-request-id': 'c-1' }],
    // With a name, only that header is taken; a name that every object has is no header.
    ['c-2', { 'x-acme-correlationid': 'brand', 'x-trace': 'c-2' }, 'x-trace'],
    [null, { 'x-acme-correlationid': 'brand' }, 'x-trace'],
    [null, {}, 'constructor'],
  ])('is %j of %j', (id, headers, setting = 'auto') => {
    expect(correlationOf(headers, setting)).toEqual({ id, unusable: null });
  });

  test.each(['x'.repeat(201), 'tab\there', 'gr\u00FC\u00DFe', 'c1\u009B', 'nul\u0000'])(
    'is not used, with a reason, when it is %j',
    (value) => {
      expect(correlationOf({ 'x-a-correlationid': value }, 'auto')).toEqual({
        id: null,
        unusable: expect.stringContaining('x-a-correlationid'),
      });
    },
  );
});
