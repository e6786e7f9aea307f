import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/support/secret.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { path, sample, shortSample, startReceiver } from './receiver.ts';

const json = JSON.stringify(sample);

async function problemOf(response: Response) {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const problem = (await response.json()) as Record<string, unknown>;
  expect(problem).toMatchObject({
    type: 'about:blank',
    title: expect.any(String),
    status: response.status,
    detail: expect.any(String),
  });
  return problem;
}

describe('an event', () => {
  test('is answered 202 with its id once the inbox has it', async () => {
    const receiver = await startReceiver({}, { now: () => 1_763_713_000_000 });
    const response = await receiver.post(json, { 'x-service-correlationid': 'c-1' });
    expect(response.status).toBe(202);
    expect(await response.text()).toBe('{"eventId":"evt_1","duplicate":false}');
    expect(receiver.inbox.received).toEqual([
      { event: sample, raw: sample, correlationId: 'c-1', traceparent: null, receivedAt: 1_763_713_000_000 },
    ]);
  });

  test('is not answered before the inbox has it', async () => {
    const receiver = await startReceiver();
    const commit = receiver.inbox.hold();
    const order: string[] = [];
    const answered = receiver.post(json).then(() => order.push('answered'));
    await expect.poll(() => receiver.inbox.received.length).toBe(1);
    order.push('committed');
    commit();
    await answered;
    expect(order).toEqual(['committed', 'answered']);
  });

  test('that is a duplicate is answered 200 with the id of the first', async () => {
    const receiver = await startReceiver();
    receiver.inbox.answer = () => ({ eventId: 'evt_first', duplicate: true, correlationReused: false });
    const response = await receiver.post(json);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ eventId: 'evt_first', duplicate: true });
  });

  test('may lack the numerical id, and have a byte order mark, other fields and a charset', async () => {
    const receiver = await startReceiver();
    const response = await receiver.post(`\uFEFF${JSON.stringify({ ...shortSample, score: 92 })}`, {
      'content-type': 'Application/JSON; charset=iso-8859-1',
    });
    expect(response.status).toBe(202);
    expect(receiver.inbox.received[0]).toMatchObject({
      event: { ...shortSample, candidateNumericalId: null },
      raw: { score: 92 },
    });
  });

  test('with repeated keys, or keys named like a prototype, is harmless', async () => {
    const receiver = await startReceiver();
    const body = `{"testId":1,"__proto__":{"polluted":true},"constructor":{},${json.slice(1)}`;
    expect((await receiver.post(body)).status).toBe(202);
    expect(receiver.inbox.received[0]?.event).toEqual(sample);
    expect({}).not.toHaveProperty('polluted');
  });
});

describe('what is refused for its content', () => {
  test('every fault of a body that is no CandidateEvent is named by field: 422', async () => {
    const receiver = await startReceiver();
    const response = await receiver.post('{"candidateId":"","testId":"x"}');
    expect(response.status).toBe(422);
    const { errors } = await problemOf(response);
    expect(errors).toEqual([
      { field: 'candidateId', pointer: '#/candidateId', detail: expect.stringContaining('got ""') },
      { field: 'testId', pointer: '#/testId', detail: expect.stringContaining('got "x"') },
      { field: 'status', pointer: '#/status', detail: expect.stringContaining('got nothing') },
    ]);
  });

  test('a body that is no object is pointed at as a whole', async () => {
    const receiver = await startReceiver();
    const { errors } = await problemOf(await receiver.post('[]'));
    expect(errors).toEqual([{ field: 'body', pointer: '#', detail: 'Expected a JSON object, got [].' }]);
  });

  test.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/jsonp', 415],
    ['multipart/form-data; boundary=json', 415],
    ['', 415],
    ['application/json', 202],
    ['application/cloudevents+json;charset=utf-8', 202],
    ['text/json', 202],
  ])('Content-Type %j: %i', async (type, status) => {
    const receiver = await startReceiver();
    const response = await receiver.post(json, { 'content-type': type });
    expect(response.status).toBe(status);
  });

  test('a compressed body: 415, saying which encoding is taken', async () => {
    const receiver = await startReceiver();
    const response = await receiver.post(json, { 'content-encoding': 'gzip' });
    expect(response.status).toBe(415);
    expect(response.headers.get('accept-encoding')).toBe('identity');
    expect(await problemOf(response)).toMatchObject({ detail: expect.stringContaining('Content-Encoding') });
    expect((await receiver.post(json, { 'content-encoding': 'Identity' })).status).toBe(202);
  });

  test('a body of exactly maxBody is taken, one byte more is not: 413', async () => {
    const receiver = await startReceiver({ maxBodyBytes: json.length });
    expect((await receiver.post(json)).status).toBe(202);
    const response = await receiver.post(`${json} `);
    expect(response.status).toBe(413);
    expect(await problemOf(response)).toMatchObject({ detail: expect.stringContaining(String(json.length)) });
  });

  test('it is stored with the reason and the start of its body', async () => {
    const receiver = await startReceiver({}, { now: () => 42 });
    const ids = { 'x-service-correlationid': 'c-9' };
    await receiver.post('{"testId":1}', ids);
    await receiver.post('{', ids);
    await receiver.post('a=b', { ...ids, 'content-type': 'text/plain' });
    await receiver.post('x'.repeat(70_000), ids);
    await receiver.post('ä'.repeat(3_000), ids);
    const common = { receivedAt: 42, address: '127.0.0.1', correlationId: 'c-9' };
    expect(receiver.inbox.rejected).toEqual([
      {
        ...common,
        status: 422,
        faults: [
          'candidateId: Expected a string, got nothing.',
          'status: Expected one of Completed, DidNotTake, Canceled, got nothing.',
        ],
        body: '{"testId":1}',
      },
      { ...common, status: 400, faults: [expect.stringContaining('not JSON')], body: '{' },
      { ...common, status: 415, faults: [expect.stringContaining('Content-Type')], body: 'a=b' },
      { ...common, status: 413, faults: [expect.stringContaining('65536')], body: expect.any(String) },
      { ...common, status: 400, faults: [expect.stringContaining('not JSON')], body: 'ä'.repeat(2_048) },
    ]);
  });

  test('a failure to store it does not reach the sender', async () => {
    const receiver = await startReceiver();
    receiver.inbox.keepRejected = () => {
      throw new Error('disk full');
    };
    expect((await receiver.post('{')).status).toBe(400);
  });
});

describe('what is refused for its sender, method or path', () => {
  test('another method: 405, with the one that is allowed', async () => {
    const receiver = await startReceiver();
    const answers = await Promise.all(
      ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'].map((method) => fetch(receiver.url, { method })),
    );
    for (const response of answers) {
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('POST');
    }
    await problemOf(await fetch(receiver.url));
    expect((await fetch(receiver.url, { method: 'HEAD' })).status).toBe(405);
  });

  test('a GET with a correlation id is told: it was an event, which a redirect took out of it', async () => {
    const receiver = await startReceiver();
    const get = (headers: Record<string, string> = {}) => fetch(receiver.url, { headers });
    await get();
    expect(receiver.inbox.rejected).toEqual([]);
    expect((await get({ 'x-service-correlationid': 'lost' })).status).toBe(405);
    expect(receiver.inbox.rejected).toEqual([
      expect.objectContaining({
        status: 405,
        correlationId: 'lost',
        faults: [expect.stringContaining('redirect')],
        body: '',
      }),
    ]);
    // A redirect may lead anywhere: to the root, or to the path with a slash, as nginx does for a location that has one.
    for (const to of ['/', `${path}/`])
      await fetch(`http://127.0.0.1:${receiver.port}${to}`, { headers: { 'x-service-correlationid': to } });
    const ids = ['lost', '/', `${path}/`];
    expect(receiver.inbox.rejected.map(({ correlationId }) => correlationId)).toEqual(ids);
    // Where anyone may call, it may be a scan, as many gateways give each request an id.
    receiver.reload({ allowFrom: 'any' });
    for (const to of ['/', '/wp-login.php', `${path}/`])
      await fetch(`http://127.0.0.1:${receiver.port}${to}`, { headers: { 'x-correlation-id': `any ${to}` } });
    ids.push(`any ${path}/`);
    expect(receiver.inbox.rejected.map(({ correlationId }) => correlationId)).toEqual(ids);
    // From elsewhere it is one.
    receiver.reload({ allowFrom: ['192.0.2.1'] });
    await get({ 'x-service-correlationid': 'scan' });
    expect(receiver.inbox.rejected).toHaveLength(ids.length);
  });

  test.each(['/', '/webhooks', `${path}/`, `${path}/x`, path.toUpperCase(), `/${path}`, '/..%2f', '/%ff'])(
    'another path, %s: 404',
    async (other) => {
      const receiver = await startReceiver();
      const response = await fetch(`http://127.0.0.1:${receiver.port}${other}`, {
        method: 'POST',
        body: json,
      });
      expect(response.status).toBe(404);
      await problemOf(response);
    },
  );

  test('it is counted, and not stored', async () => {
    const receiver = await startReceiver({ token: [new Secret('s3cret')] });
    await receiver.post(json);
    receiver.reload({ allowFrom: ['192.0.2.1'] });
    await receiver.post(json);
    expect(receiver.inbox.rejected).toEqual([]);
    expect(receiver.counted).toEqual(['refused', 'refused']);
  });
});

describe('the first check that fails is the one that answers', () => {
  test('path, method, address, token, type, size, JSON, shape', async () => {
    const receiver = await startReceiver({
      path: '/there',
      allowFrom: ['192.0.2.1'],
      token: [new Secret('s3cret')],
    });
    const large = 'x'.repeat(70_000);
    const text = { 'content-type': 'text/plain' };
    const answers = [(await receiver.post(large, text)).status];
    receiver.reload({ path });
    answers.push((await fetch(receiver.url, { method: 'PUT', body: large, headers: text })).status);
    answers.push((await receiver.post(large, text)).status);
    receiver.reload({ allowFrom: 'any' });
    answers.push((await receiver.post(large, text)).status);
    receiver.reload({ token: [] });
    answers.push((await receiver.post(large, text)).status);
    answers.push((await receiver.post(large)).status);
    answers.push((await receiver.post('x')).status);
    answers.push((await receiver.post('{}')).status);
    answers.push((await receiver.post(json)).status);
    expect(answers).toEqual([404, 405, 403, 401, 415, 413, 400, 422, 202]);
  });
});

describe('what cannot be stored', () => {
  test('is answered 503 with Retry-After, and without the reason', async () => {
    const receiver = await startReceiver({}, { retryAfterS: 7 });
    receiver.inbox.answer = () => {
      throw new StoreUnavailable('the disk of /var/lib/connector is full');
    };
    const response = await receiver.post(json);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(JSON.stringify(await problemOf(response))).not.toContain('disk');
    expect(receiver.lines).toMatchObject([
      { level: 'warn', outcome: 'failed', warning: 'the disk of /var/lib/connector is full' },
    ]);
    expect(receiver.lines[0]).not.toHaveProperty('err');
    expect(receiver.counted).toEqual(['failed']);
  });

  test('after a bug too, and the log has its stack', async () => {
    const receiver = await startReceiver();
    receiver.inbox.answer = () => Promise.reject(new TypeError('x is not a function'));
    const response = await receiver.post(json);
    expect(response.status).toBe(503);
    expect(await response.text()).not.toMatch(/function|at /);
    expect(receiver.lines[0]).toMatchObject({
      outcome: 'failed',
      err: { stack: expect.stringContaining('TypeError') },
    });
  });
});

describe('what cannot be stored at once', () => {
  const away = () => {
    throw new StoreUnavailable('PostgreSQL ended the connection');
  };

  test('is tried again while the sender waits', async () => {
    let at = 0;
    const receiver = await startReceiver({ retryForMs: 20_000 }, { now: () => (at += 1) });
    const { answer } = receiver.inbox;
    receiver.inbox.answer = away;
    const answered = receiver.post(json);
    await expect.poll(() => receiver.inbox.received.length).toBeGreaterThan(2);
    receiver.inbox.answer = answer;
    expect((await answered).status).toBe(202);
    // By the time of the first try, `waitFor` of its look-ups could be over before they are made, and its digest be gone.
    const times = receiver.inbox.received.map(({ receivedAt }) => receivedAt);
    expect(times).toEqual(times.map((_, index) => times[0]! + index));
    expect(receiver.lines).toMatchObject([{ outcome: 'accepted', status: 202 }]);
    expect(receiver.inbox.refused).toEqual([]);
  });

  test('is refused when that time is over, and counted once', async () => {
    const receiver = await startReceiver({ retryForMs: 1000 });
    receiver.inbox.answer = away;
    expect((await receiver.post(json)).status).toBe(503);
    expect(receiver.inbox.received.length).toBeGreaterThan(1);
    expect(receiver.counted).toEqual(['failed']);
    expect(receiver.inbox.refused).toMatchObject([['store', '127.0.0.1', { event: sample }]]);
  });

  test('because of a bug is not tried again', async () => {
    const receiver = await startReceiver({ retryForMs: 20_000 });
    receiver.inbox.answer = () => Promise.reject(new TypeError('x is not a function'));
    expect((await receiver.post(json)).status).toBe(503);
    expect(receiver.inbox.received).toHaveLength(1);
  });

  test('is refused at a stop, when events are no longer waited for', async () => {
    const stopping = new AbortController();
    const receiver = await startReceiver({ retryForMs: 20_000 }, { stopping: stopping.signal });
    receiver.inbox.answer = away;
    const answered = receiver.post(json);
    await expect.poll(() => receiver.inbox.received.length).toBeGreaterThan(1);
    stopping.abort();
    expect((await answered).status).toBe(503);
    expect(receiver.lines).toMatchObject([{ outcome: 'failed', warning: 'PostgreSQL ended the connection' }]);
  });

  test('leaves half of the connections free', async () => {
    const stopping = new AbortController();
    const options = { stopping: stopping.signal, mostConnections: 2 };
    const receiver = await startReceiver({ retryForMs: 20_000 }, options);
    receiver.inbox.answer = away;
    const held = receiver.post(json);
    await expect.poll(() => receiver.inbox.received.length).toBeGreaterThan(0);
    expect((await receiver.post(JSON.stringify({ ...sample, candidateId: 'Ben' }))).status).toBe(503);
    // It was not held beside the other one.
    expect(receiver.inbox.received.filter(({ event }) => event.candidateId === 'Ben')).toHaveLength(1);
    stopping.abort();
    expect((await held).status).toBe(503);
  });
});

test('no answer names the software', async () => {
  const receiver = await startReceiver();
  const answers = await Promise.all([
    receiver.post(json),
    receiver.post('{'),
    fetch(`http://127.0.0.1:${receiver.port}/nowhere/secret.txt`),
    fetch(`http://127.0.0.1:${receiver.port}/healthz`),
  ]);
  for (const response of answers) {
    expect([...response.headers.keys()]).not.toContain('x-powered-by');
    expect([...response.headers.keys()]).not.toContain('server');
    expect([...response.headers.keys()]).not.toContain('etag');
    expect(await response.text()).not.toMatch(/express|node|secret\.txt|\bat .*:\d+/i);
  }
});

test('a fault in the receiver itself shows no stack either', async () => {
  const receiver = await startReceiver();
  receiver.reload({ allowFrom: ['no address'] });
  const response = await receiver.post(json);
  expect(response.status).toBe(503);
  await problemOf(response);
  receiver.reload({ allowFrom: 'any' });
  expect((await receiver.post(json)).status).toBe(202);
});
