import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createMetrics } from '../../src/admin/metrics.ts';
import { settingSchemas } from '../../src/config/settings.ts';
import { createAdmin, type AdminOptions } from '../../src/admin/server.ts';
import { measuredStore } from '../fixtures/event.ts';

const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
const failing = () => Promise.reject(new Error('at /srv/secret.ts:1'));

async function startAdmin(password: string | null, options: Partial<AdminOptions> = {}) {
  const current = { password };
  const lines: string[] = [];
  const server = createAdmin({
    config: () =>
      settingSchemas.admin.parse({ ...(current.password !== null && { password: current.password }) }),
    metrics: createMetrics(measuredStore()),
    site: () => Promise.reject(new Error('nobody looks at it here')),
    log: pino({}, { write: (line) => void lines.push(line) }),
    readiness: async () => [{ part: 'store', ok: false }],
    wrongPasswordDelayMs: 1,
    ...options,
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => server.stop(0));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    current,
    lines,
    get: (path: string, login?: string, headers: Readonly<Record<string, string>> = {}) =>
      fetch(url + path, { headers: { ...headers, ...(login !== undefined && basic(login)) } }),
  };
}

test('metrics come in the format of Prometheus', async () => {
  const { get } = await startAdmin(null);
  const response = await get('/metrics');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(await response.text()).toContain('\ncandidate_connector_requests_total{result="accepted"} 0\n');
});

describe('with a password', () => {
  test('only with it are the metrics shown, under any user name', async () => {
    const { get } = await startAdmin('pass:wörd');
    const logins = ['ops:pass:wörd', ':pass:wörd', 'ops:pass', 'ops:', 'pass:wörd', ''];
    const statuses = await Promise.all(logins.map(async (login) => (await get('/metrics', login)).status));
    expect(statuses).toEqual([200, 200, 401, 401, 401, 401]);
  });

  test('a request without it gets a challenge', async () => {
    const { get } = await startAdmin('pass');
    const response = await get('/metrics');
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(
      'Basic realm="candidate-connector", charset="UTF-8"',
    );
    expect((await get('/api/status')).status).toBe(401);
    expect((await get('/')).status).toBe(401);
    expect((await get('/nowhere')).status).toBe(401);
  });

  test('health checks need none', async () => {
    const { get } = await startAdmin('pass');
    expect((await get('/healthz')).status).toBe(200);
    expect((await get('/readyz')).status).toBe(503);
  });

  test('after ten wrong ones in a minute two a second are compared, and one that was right is not held up', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { current, get } = await startAdmin('pass');
    const statuses = async (...passwords: string[]) =>
      (await Promise.all(passwords.map((one) => get('/metrics', `x:${one}`)))).map(({ status }) => status);
    const wrong = Array.from({ length: 30 }, (_, index) => String(index));
    expect(await statuses('pass')).toEqual([200]);
    const answered = await statuses(...wrong);
    expect(answered.filter((status) => status === 401)).toHaveLength(11);
    expect(answered.filter((status) => status === 429)).toHaveLength(19);
    // It was right a moment ago; one that is only now right takes its turn with the guesses.
    expect(await statuses('pass')).toEqual([200]);
    current.password = 'another';
    expect(await statuses('another')).toEqual([429]);
    expect((await get('/metrics', 'x:another')).headers.get('retry-after')).toBe('1');
    vi.advanceTimersByTime(500);
    expect(await statuses('another')).toEqual([200]);
    expect(await statuses('wrong')).toEqual([429]);
    // Nobody who gives none has guessed.
    expect((await get('/metrics')).status).toBe(401);
    vi.advanceTimersByTime(60_000);
    expect(await statuses('one', 'two', 'another')).toEqual([401, 401, 200]);
    // A day later it is a guess as any other.
    vi.advanceTimersByTime(86_400_000);
    await statuses(...wrong);
    expect(await statuses('another')).toEqual([429]);
  });

  test('behind a proxy that says for whom it calls, only who gave the right one is not held up', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { get } = await startAdmin('pass');
    const tried = async (password: string, from: string) =>
      (await get('/metrics', `x:${password}`, { 'x-forwarded-for': from })).status;
    expect(await tried('pass', '203.0.113.5')).toBe(200);
    const wrong = Array.from({ length: 30 }, (_, index) => tried(String(index), '198.51.100.6'));
    expect(await Promise.all(wrong)).toContain(429);
    expect(await tried('pass', '198.51.100.6')).toBe(429);
    expect(await tried('pass', '203.0.113.5')).toBe(200);
    // As Azure's Application Gateway writes it.
    expect(await tried('pass', '203.0.113.5:40123')).toBe(200);
  });

  test('wrong ones are logged once a minute, with how many there were', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const { get, lines } = await startAdmin('pass');
    const failures = () => lines.map((line) => (JSON.parse(line) as { failures: number }).failures);
    const guess = async (times: number) => {
      const answers = Array.from({ length: times }, (_, index) => get('/metrics', `x:${index}`));
      const timer = setInterval(() => vi.advanceTimersByTime(1), 1);
      for (const answer of answers) expect((await answer).status).toBe(401);
      clearInterval(timer);
    };
    await guess(3);
    expect(failures()).toEqual([1]);
    vi.advanceTimersByTime(60_000);
    expect(failures()).toEqual([1, 2]);
    vi.advanceTimersByTime(60_000);
    await guess(1);
    expect(failures()).toEqual([1, 2, 1]);
  });

  test('one that is too short lets nobody in where other machines can reach the port', async () => {
    let config = settingSchemas.admin.parse({ host: '0.0.0.0', password: 'only-eleven' });
    const { get } = await startAdmin('', { config: () => config });
    for (const path of ['/', '/metrics', '/login', '/api/status']) {
      const answer = await get(path, 'x:only-eleven');
      expect([answer.status, await answer.text()]).toEqual([
        403,
        expect.stringContaining('admin.password needs 12 characters or more'),
      ]);
    }
    expect((await get('/healthz')).status).toBe(200);
    config = settingSchemas.admin.parse({ host: '0.0.0.0', password: 'twelve-chars', viewer: 'only-eleven' });
    expect(await (await get('/', 'x:twelve-chars')).text()).toContain('admin.viewer needs 12 characters');
    config = settingSchemas.admin.parse({ host: '0.0.0.0', password: 'twelve-chars' });
    expect((await get('/metrics', 'x:twelve-chars')).status).toBe(200);
  });
});

test('a fault shows no stack, and the log has it', async () => {
  const { get, lines } = await startAdmin(null, { metrics: { scrape: failing } });
  const response = await get('/metrics');
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain('secret');
  expect(lines.join('')).toContain('/srv/secret.ts:1');
});
