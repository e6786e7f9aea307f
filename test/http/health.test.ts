import { expect, onTestFinished, test, vi } from 'vitest';
import type { Readiness } from '../../src/http/health.ts';
import { startReceiver } from '../receiver/receiver.ts';

async function ask(readiness: Readiness, what = 'readyz', init?: RequestInit) {
  const { port } = await startReceiver({}, { readiness });
  return fetch(`http://127.0.0.1:${port}/${what}`, init);
}

test.each([
  [200, 'ready', { part: 'store', ok: true }],
  [503, 'not ready', { part: 'store', ok: false, detail: 'the disk is full' }],
])('it says %i, %s, where a part is %j', async (code, status, part) => {
  const parts = [part, { part: 'config', ok: true, detail: 'the last reload failed' }];
  const response = await ask(async () => parts);
  expect([response.status, await response.json()]).toEqual([code, { status, parts }]);
});

test('it is not when that cannot be found out, whose reason is not for everyone', async () => {
  const response = await ask(() => Promise.reject(new Error('/var/lib/secret')));
  expect(response.status).toBe(503);
  expect(await response.text()).not.toContain('secret');
});

const down: Readiness = async () => [{ part: 'store', ok: false }];

test('it lives whatever is not ready', async () => {
  const response = await ask(down, 'healthz');
  expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
  expect((await ask(down, 'healthz', { method: 'HEAD' })).status).toBe(200);
  expect((await ask(down, 'readyz', { method: 'HEAD' })).status).toBe(503);
});

test('those who ask within a second share one answer, and later ones get a new one', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let asked = 0;
  const answer = Promise.withResolvers<void>();
  const readiness: Readiness = async () => {
    asked += 1;
    await answer.promise;
    return [];
  };
  const { port, server } = await startReceiver({}, { readiness });
  let arrived = 0;
  server.on('request', () => (arrived += 1));
  const url = `http://127.0.0.1:${port}/readyz`;
  const many = Array.from({ length: 10 }, () => fetch(url));
  await expect.poll(() => arrived).toBe(10);
  expect(asked).toBe(1);
  answer.resolve();
  await Promise.all(many);
  vi.advanceTimersByTime(999);
  await fetch(url);
  expect(asked).toBe(1);
  vi.advanceTimersByTime(1);
  await fetch(url);
  expect(asked).toBe(2);
});
