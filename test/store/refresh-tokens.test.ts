import { randomBytes } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { webhook } from '../../connectors/webhook/index.ts';
import type { RefreshTokens } from '../../src/connector.ts';
import { keptRefreshTokens } from '../../src/store/refresh-tokens.ts';
import { openPostgres } from '../../src/store/postgres.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { systemClock } from '../../src/support/clock.ts';
import { Secret } from '../../src/support/secret.ts';
import { serve } from '../connectors/raw-server.ts';
import { attemptAt } from '../fixtures/event.ts';
import { freshSchema } from '../fixtures/postgres.ts';
import { HttpSandbox } from '../../sandbox/http.ts';
import { eventually } from '../fixtures/eventually.ts';

const secretKey = () => new Secret(randomBytes(32).toString('base64'));

/** A server that takes each refresh token once, and a tool behind it. */
async function rotating() {
  let valid = 'given-refresh-token';
  let count = 0;
  let refused = 0;
  const server = await serve(async (request, response) => {
    const form = new URLSearchParams(await text(request));
    if (form.get('refresh_token') !== valid) {
      refused += 1;
      response.writeHead(400).end('{"error":"invalid_grant"}');
      return;
    }
    valid = `rotated-refresh-token-${(count += 1)}`;
    response.end(JSON.stringify({ access_token: `access-${count}`, refresh_token: valid, expires_in: 1 }));
  });
  const tool = new HttpSandbox();
  await tool.start();
  onTestFinished(() => tool.close());
  const auth = { tokenUrl: server.url, clientId: 'app', refreshToken: 'given-refresh-token' };
  return { given: () => count, refused: () => refused, url: tool.url, auth };
}

/** A file for the store, and what a process has of it that begins now. */
async function beginning() {
  const folder = await mkdtemp(join(tmpdir(), 'store-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const api = await rotating();
  const failures: string[] = [];
  const outcomeWith = async (tokens: RefreshTokens) => {
    const options = { url: api.url, allowPrivate: true, proxy: 'none', auth: { oauth2: api.auth } };
    const sink = await webhook.connect(webhook.options.parse(options), tokens);
    const message = { method: 'POST', path: '', headers: {}, body: {} } as const;
    const outcome = await sink.deliver(attemptAt({ message }));
    await sink.close();
    return outcome;
  };
  const deliverWith = async (tokens: RefreshTokens) => (await outcomeWith(tokens)).outcome;
  const begin = async (key: Secret) => {
    const store = await openSqlite(join(folder, 'connector.db'), { serve: false });
    onTestFinished(() => store.close());
    const tokens = keptRefreshTokens(store, key, (message) => failures.push(message))!;
    return { tokens, store, deliver: () => deliverWith(tokens) };
  };
  const bytes = async () => {
    const names = await readdir(folder);
    return (await Promise.all(names.map((name) => readFile(join(folder, name), 'latin1')))).join();
  };
  return { begin, bytes, failures, api, deliverWith, outcomeWith };
}

test('a refresh token that the server replaced is used after a restart, and is not to be read in the store', async () => {
  const { begin, bytes, failures } = await beginning();
  const key = secretKey();
  for (let start = 0; start < 3; start += 1) expect(await (await begin(key)).deliver()).toBe('delivered');
  expect(await bytes()).not.toMatch(/rotated-refresh|given-refresh/);
  expect(failures).toEqual([]);
});

test('a refresh token that another replica used up meanwhile is replaced by the one that it kept', async () => {
  const { begin, deliverWith } = await beginning();
  const key = secretKey();
  const { tokens } = await begin(key);
  const other = await begin(key);
  const outcomes: string[] = [];
  const newest = async (consent: string) => {
    const found = await tokens.newest(consent);
    // Between this look and the request.
    if (outcomes.length === 0) outcomes.push(await other.deliver());
    return found;
  };
  outcomes.push(await deliverWith({ ...tokens, newest }));
  expect(outcomes).toEqual(['delivered', 'delivered']);
});

test('who keeps refresh tokens is not told to, where one is refused', async () => {
  const { begin, outcomeWith } = await beginning();
  const { tokens } = await begin(secretKey());
  const outcome = await outcomeWith({ ...tokens, newest: async () => 'one-that-was-used-up' });
  expect(outcome).toMatchObject({ detail: expect.stringMatching(/has expired: get a new one\.$/) });
});

test('two sinks with one consent do not use the same refresh token at once', async () => {
  const { begin, api } = await beginning();
  const { deliver } = await begin(secretKey());
  expect(await Promise.all([deliver(), deliver(), deliver()])).toEqual(Array(3).fill('delivered'));
  expect(api.refused()).toBe(0);
});

test('two replicas do not use the same refresh token at once', async () => {
  const { api, deliverWith } = await beginning();
  const key = secretKey();
  const url = await freshSchema();
  const replicas = await Promise.all(
    [url, url].map(async (one) => {
      const store = await openPostgres(one);
      onTestFinished(() => store.close());
      return keptRefreshTokens(store, key, () => {})!;
    }),
  );
  for (let times = 0; times < 3; times += 1)
    expect(await Promise.all(replicas.map(deliverWith))).toEqual(['delivered', 'delivered']);
  expect(api.refused()).toBe(0);
});

test('a refresh token that this process replaced is not used again where a promoted standby still has it', async () => {
  const { begin, deliverWith, api } = await beginning();
  const key = secretKey();
  const { store } = await begin(key);
  const kept: Parameters<typeof store.keepToken>[0][] = [];
  const keepToken = async (token: (typeof kept)[number]) => {
    kept.push(token);
    await store.keepToken(token);
  };
  const tokens = keptRefreshTokens(
    { leases: null, token: (id) => store.token(id), keepToken },
    key,
    () => {},
  )!;
  for (let times = 0; times < 2; times += 1) expect(await deliverWith(tokens)).toBe('delivered');
  await store.keepToken(kept[0]!);
  expect(await deliverWith(tokens)).toBe('delivered');
  expect(api.refused()).toBe(0);
  expect(await (await begin(key)).deliver()).toBe('delivered');
});

test('with another key no used-up token is sent, and the delivery says why; with the right one it goes on', async () => {
  const { begin, api, outcomeWith } = await beginning();
  const key = secretKey();
  await (await begin(key)).deliver();
  const { tokens } = await begin(secretKey());
  expect(await outcomeWith(tokens)).toMatchObject({
    outcome: 'retry',
    reason: 'auth',
    detail: expect.stringContaining('another store.secretKey'),
  });
  expect(await (await begin(key)).deliver()).toBe('delivered');
  expect(api.refused()).toBe(0);
});

test('where the store cannot be read, nothing was sent that may have arrived', async () => {
  const { begin, outcomeWith } = await beginning();
  const { tokens } = await begin(secretKey());
  const newest = () => Promise.reject(new Error('no PostgreSQL listens'));
  expect(await outcomeWith({ ...tokens, newest })).toMatchObject({ outcome: 'retry' });
});

test('a token that could not be stored is used all the same, and stored as soon as the store takes it', async () => {
  const { begin, failures } = await beginning();
  const key = secretKey();
  const { store } = await begin(key);
  let isFull = true;
  const failing = {
    leases: null,
    token: (id: string) => store.token(id),
    keepToken: async (token: Parameters<typeof store.keepToken>[0]) => {
      if (isFull) throw new Error('full');
      return store.keepToken(token);
    },
  };
  const tokens = keptRefreshTokens(failing, key, (message) => failures.push(message))!;
  await tokens.keep('consent', 'newer');
  expect(await tokens.newest('consent')).toBe('newer');
  isFull = false;
  const stored = () => keptRefreshTokens(store, key, () => {})!.newest('consent');
  await eventually(async () => expect(await stored()).toBe('newer'));
  expect(failures).toHaveLength(1);
});

test.each([
  ['until its time is up', 'elapsed'],
  ['as its machine is suspended', 'now'],
] as const)(
  'a process that stands still before it sends a refresh token, %s, does not send it after that: another replica may have used it',
  async (_, known) => {
    const api = await rotating();
    let stoodMs = 0;
    // Its timers have not run yet.
    const time = systemClock[known];
    const told = vi.spyOn(systemClock, known).mockImplementation(() => time() + stoodMs);
    onTestFinished(() => told.mockRestore());
    const connecting = 'undici:client:beforeConnect';
    const stand = () => void (stoodMs = 600_000);
    subscribe(connecting, stand);
    onTestFinished(() => void unsubscribe(connecting, stand));
    const options = { url: api.url, allowPrivate: true, proxy: 'none', auth: { oauth2: api.auth } };
    const sink = await webhook.connect(webhook.options.parse(options));
    onTestFinished(() => sink.close());
    const message = { method: 'POST', path: '', headers: {}, body: {} } as const;
    const deliver = async () => (await sink.deliver(attemptAt({ message }))).outcome;
    expect(await deliver()).toBe('retry');
    expect(api.given()).toBe(0);
    expect(await deliver()).toBe('delivered');
  },
);
