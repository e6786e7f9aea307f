import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { STATUS_CODES } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { connectors } from '../../connectors/index.ts';
import type { Sink } from '../../src/connector.ts';
import type { Json } from '../../src/model.ts';
import type { Delivered } from '../../src/model/outcomes.ts';
import { proxyThat, tunnels } from '../connectors/raw-server.ts';
import { batchContract } from './connector-batch.ts';
import { ConnectorBench, timeIsUp } from './connector-bench.ts';
import type { ContractCase } from './connector-bench.ts';

/** Those of HTTP with a name, some of SMTP and of gateways, and the ends of both classes. */
const failures = Object.keys(STATUS_CODES)
  .map(Number)
  .filter((status) => status >= 400)
  .concat(420, 450, 452, 454, 499, 520, 522, 535, 550, 552, 553, 554, 571, 599);
/** Enough to tell the classes apart, where every status would take long. */
const someFailures = [400, 401, 403, 404, 429, 450, 500, 503, 535, 550];

const hostileTexts = [
  '=HYPERLINK("http://evil.example","click")',
  '+1+1',
  '@SUM(1)',
  '<!channel> <@U123> *bold* `code` & &amp; <script>alert(1)</script>',
  '"quoted" \\back\\slash {{ event.id }} {% raw %} ${HOME}',
  'first\r\nBcc: eve@evil.example\r\n\r\nsecond',
  '\u202Eright to left\u202C',
  'bell\u0007 null\u0000 escape\u001B[31m tab\t end',
  'a.\n.\n..dots\n.',
  'žćš 日本 👩‍💻',
  'x'.repeat(2000),
];

const answer =
  (text: string, body = '') =>
  (socket: Socket) =>
    void socket.once('data', () =>
      socket.end(`HTTP/1.1 ${text}\r\ncontent-length: ${body.length}\r\n\r\n${body}`),
    );

const proxyFaults: readonly [string, ((socket: Socket) => void) | null, RegExp][] = [
  [
    'wants another login',
    answer('407 Proxy Authentication Required'),
    /refused it with status 407; check the login in its URL/,
  ],
  [
    'forbids it',
    answer('403 Forbidden'),
    /refused it with status 403; it has to allow CONNECT to this host and port/,
  ],
  ['cannot reach the tool', answer('502 Bad Gateway'), /refused it with status 502/],
  ['redirects', answer('302 Found\r\nlocation: http://login.example/'), /refused it with status 302/],
  [
    'answers with a page of its own, as in a guest network',
    answer('200 OK', '<html>Please log in</html>'),
    /opened no connection/,
  ],
  ['hangs up', (socket) => void socket.once('data', () => socket.end()), /opened no connection/],
  ['hangs up at once', (socket) => socket.destroy(), /opened no connection|through the proxy/],
  [
    'is none',
    (socket) => void socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9.6\r\n')),
    /opened no connection/,
  ],
  [
    'is none that speaks TLS',
    (socket) => void socket.once('data', () => socket.end('\x15\x03\x01\x00\x02\x02\x46')),
    /opened no connection/,
  ],
  ['is down', null, /nothing listens there \(ECONNREFUSED\), through the proxy 127\.0\.0\.1:1/],
];

/** The promises that every connector keeps, whatever its tool. */
export function connectorContract(name: string, setup: () => Promise<ContractCase>): void {
  describe(`${name}: the connector contract`, () => {
    let bench: ConnectorBench;

    beforeAll(async () => {
      bench = await ConnectorBench.open(await setup());
    });
    afterEach(() => bench.subject.sandbox.faults.clear());
    afterAll(() => bench.close());

    test('delivers with a receipt, and the tool shows the delivery id', async () => {
      const id = randomUUID();
      expect(await bench.deliver({}, id)).toMatchObject({ outcome: 'delivered' });
      expect(await bench.subject.received()).toContain(id);
    });

    test('composes the same message twice, of what it cannot change', () => {
      const fields = deepFreeze(structuredClone(bench.subject.fields));
      const id = randomUUID();
      const first = bench.compose(fields, id);
      expect(bench.compose(fields, id)).toEqual(first);
      expect(JSON.parse(JSON.stringify(first))).toEqual(first);
      bench.expectNoSecret(first);
    });

    test('presents itself to people, whatever stands in a message or a receipt', async () => {
      const { describe: about } = bench.subject.connector;
      const hostile = '<script>alert("1")</script>\u202E';
      const composed = bench.compose(withValue(bench.subject.fields, bench.subject.place, hostile));
      if (!about || 'rejected' in composed) throw new Error('there is nothing to show');
      const { body, where } = about.preview(JSON.parse(JSON.stringify(composed.message)), null);
      expect(body.text).toContain('alert(');
      expect(body.text).not.toMatch(/<script|\u202E/);
      expect(where).not.toBe('');
      const id = randomUUID();
      const outcome = await bench.deliver({}, id);
      const { receipt } = outcome as Delivered;
      expect(about.trace(receipt, id)).toMatch(bench.subject.trace);
      expect(about.link?.(receipt)?.url).toEqual(bench.subject.link);
      // What an older version stored may be anything.
      for (const old of [{}, { blocks: [null, { text: 1 }], to: [null, 1], row: 'x', channel: 7 }]) {
        expect(about.preview(old, null)).toBeDefined();
        expect(about.trace(old, id)).not.toContain('undefined');
        expect(about.link?.(old) ?? null).toBeNull();
      }
    });

    test('masks the secrets of its options', () => {
      const options = bench.subject.connector.options.parse(bench.subject.options());
      expect(JSON.stringify(options)).not.toBe('{}');
      bench.expectNoSecret(options);
    });

    test.for(hostileTexts)('lets %j arrive as plain text', async (text) => {
      const id = randomUUID();
      const [key, ...path] = bench.subject.place;
      const escaped = bench.subject.connector.templates[key]!.escape(text, path, {});
      const fields = withValue(bench.subject.fields, bench.subject.place, escaped);
      expect(await bench.deliver({ fields }, id)).toMatchObject({ outcome: 'delivered' });
      expect(await bench.subject.shown(id)).toBe(bench.subject.asShown?.(text) ?? text);
    });

    test('knows what every failing status means', async () => {
      for (const status of new Set([...failures, ...Object.keys(bench.subject.meanings).map(Number)])) {
        bench.alwaysAt(bench.committing, { kind: 'status', status });
        const id = randomUUID();
        const outcome = await bench.deliver({}, id);
        expect(outcome.outcome, `status ${status}`).toMatch(/^(retry|rejected|unknown)$/);
        expect(outcome, `status ${status}`).toMatchObject(bench.subject.meanings[status] ?? {});
        bench.subject.sandbox.faults.clear();
        // Where several messages are refused in a row, a tool may mean all of them.
        await bench.deliver();
      }
    });

    test('knows a failing status of the calls before the last one', async () => {
      for (const call of bench.callsBefore) {
        for (const status of someFailures) {
          bench.alwaysAt(call, { kind: 'status', status });
          const id = randomUUID();
          const outcome = await bench.withSink(undefined, (fresh) => bench.deliver({}, id, fresh));
          // A tool that was asked for something optional may be answered without.
          expect(outcome.outcome, `${call} ${status}`).not.toBe('unknown');
          expect((await bench.subject.received()).includes(id), `${call} ${status}`).toBe(
            outcome.outcome === 'delivered',
          );
          bench.subject.sandbox.faults.clear();
        }
      }
    });

    test('takes the rate limit for a reason to wait, as long as the tool says', async () => {
      bench.onceAt(bench.committing, { kind: 'rate-limit', retryAfterS: 7 }, { kind: 'rate-limit' });
      const stated = await bench.deliver();
      expect(stated).toMatchObject({ outcome: 'retry', reason: 'rate_limited' });
      expect(stated).toMatchObject(bench.subject.statesDelay ? { retryAfterMs: 7000 } : {});
      const unstated = await bench.deliver();
      expect(unstated).toMatchObject({ outcome: 'retry', reason: 'rate_limited' });
      expect(unstated).not.toHaveProperty('retryAfterMs');
    });

    test.for([true, false])(
      'ends unknown when the connection drops after the request left (committed: %s)',
      async (commit) => {
        bench.onceAt(bench.committing, { kind: 'drop', commit });
        const id = randomUUID();
        expect(await bench.deliver({}, id)).toMatchObject({ outcome: 'unknown', reason: 'network' });
        expect((await bench.subject.received()).includes(id)).toBe(commit);
      },
    );

    test.for([true, false])(
      'ends unknown when time runs out after the request left (committed: %s)',
      async (commit) => {
        const signal = bench.timeOutAt(bench.committing, commit);
        expect(await bench.deliver({ signal })).toMatchObject({ outcome: 'unknown', reason: 'timeout' });
      },
    );

    test('sends nothing when it is aborted before it starts', async () => {
      const id = randomUUID();
      expect(await bench.deliver({ signal: AbortSignal.abort() }, id)).toMatchObject({ outcome: 'retry' });
      expect(await bench.subject.received()).not.toContain(id);
    });

    test('knows that nothing left when time runs out while connecting, unless the tool can be asked', async () => {
      await withSilentServer(async (authority, accepted) => {
        await bench.withSink(authority, async (other) => {
          const controller = new AbortController();
          const outcome = bench.deliver({ signal: controller.signal }, randomUUID(), other);
          await accepted;
          controller.abort(timeIsUp);
          expect((await outcome).outcome).toMatch(bench.subject.finds ? /^(retry|unknown)$/ : /^retry$/);
          expect(await outcome).toMatchObject({ reason: 'timeout' });
        });
      });
    });

    test('knows that nothing was sent when a call before the last one gets no answer', async () => {
      for (const call of bench.callsBefore) {
        const signal = bench.timeOutAt(call, false);
        const late = await bench.withSink(undefined, (fresh) =>
          bench.deliver({ signal }, randomUUID(), fresh),
        );
        expect(late, `time-out of ${call}`).toMatchObject({ outcome: 'retry', reason: 'timeout' });
        bench.alwaysAt(call, { kind: 'drop', commit: false });
        const dropped = await bench.withSink(undefined, (fresh) => bench.deliver({}, randomUUID(), fresh));
        // What befalls every call is the sink's fault, also where nothing of the message had left.
        const outage = { outcome: 'retry', reason: 'network', sinkWide: true };
        expect(dropped, `drop of ${call}`).toMatchObject(outage);
      }
    });

    test('retries when the tool refuses the connection, and delivers once it is back', async () => {
      const refused = { outcome: 'retry', reason: 'network', sinkWide: true };
      await bench.whileStopped(async () => {
        expect(await bench.deliver()).toMatchObject(refused);
        const fresh = bench.withSink(undefined, (other) => bench.deliver({}, randomUUID(), other));
        expect(await fresh).toMatchObject(refused);
      });
      expect(await bench.deliver()).toMatchObject({ outcome: 'delivered' });
    });

    test('retries when the name of the tool does not resolve', async () => {
      await bench.withSink('nowhere.invalid:4', async (other) => {
        const outcome = await bench.deliver({}, randomUUID(), other);
        expect(outcome).toMatchObject({ outcome: 'retry', reason: 'network', sinkWide: true });
      });
    });

    test('goes through the proxy of the sink', async () => {
      if (!bench.subject.proxied) return;
      const proxy = await tunnels();
      const id = randomUUID();
      await bench.withSink(undefined, (other) => bench.deliver({}, id, other), { proxy: proxy.url });
      expect(await bench.receivedOf([id])).toEqual([id]);
      const { url, apiUrl = url } = bench.subject.options();
      const login = Buffer.from('ann:s3cret').toString('base64');
      expect(new Set(proxy.asked)).toEqual(new Set([`${new URL(String(apiUrl)).host} Basic ${login}`]));
      expect(proxy.asked.length).toBeLessThanOrEqual(bench.subject.calls.length);
    });

    test.for(proxyFaults)('names a proxy that %s, waits, and sends nothing', async ([, act, words]) => {
      if (!bench.subject.proxied) return;
      const host = act ? await proxyThat(act) : '127.0.0.1:1';
      const through = async (other: Sink<unknown>) => {
        const outcome = await bench.deliver({}, randomUUID(), other);
        const detail = expect.stringMatching(words);
        expect(outcome).toMatchObject({ outcome: 'retry', sinkWide: true, detail });
        const failed = (await other.check([], new AbortController().signal)).filter(({ ok }) => !ok);
        for (const shown of [outcome, failed].map((one) => JSON.stringify(one))) {
          expect(shown).toContain(host);
          expect(shown).not.toContain('s3cret');
        }
      };
      const proxy = `http://ann:s3cret@${host}`;
      const calls = await bench.callsDuring(() => bench.withSink(undefined, through, { proxy }));
      expect(calls).toBe(0);
    });

    test('ends in time where a proxy never answers, and sends nothing', async () => {
      if (!bench.subject.proxied) return;
      const controller = new AbortController();
      const host = await proxyThat((socket) => void socket.once('data', () => controller.abort(timeIsUp)));
      const through = async (other: Sink<unknown>) => {
        const outcome = await bench.deliver({ signal: controller.signal }, randomUUID(), other);
        expect(outcome).toMatchObject({ outcome: expect.stringMatching(/retry|unknown/), reason: 'timeout' });
      };
      const proxy = `http://${host}`;
      expect(await bench.callsDuring(() => bench.withSink(undefined, through, { proxy }))).toBe(0);
    });

    test('finds exactly what is there, and says when it could not ask', async () => {
      expect('find' in bench.sink).toBe(bench.subject.finds);
      if (!bench.subject.finds) return;
      bench.onceAt(bench.committing, { kind: 'drop', commit: true });
      const [there, missing] = [randomUUID(), randomUUID()];
      await bench.deliver({}, there);
      expect(await bench.find(there)).toMatchObject({ found: expect.objectContaining({}) });
      expect(await bench.find(missing)).toEqual({ found: null });
      await bench.whileStopped(async () => {
        const failure = { outcome: 'retry', sinkWide: true };
        expect(await bench.find(there)).toMatchObject({ found: 'failed', failure });
      });
    });

    if (connectors.get(name)?.batch) batchContract(() => bench);

    test('takes many deliveries in a call exactly where it says how many', () => {
      const { batch } = bench.subject.connector;
      expect('deliverMany' in bench.sink).toBe(batch !== undefined);
      expect('findMany' in bench.sink).toBe(batch !== undefined);
    });

    test('checks live without sending anything', async () => {
      const before = await bench.subject.received();
      const composed = bench.compose(bench.subject.fields);
      if ('rejected' in composed) throw new Error(composed.rejected.detail);
      // Without messages, as a paused sink is asked that nothing waits for.
      for (const messages of [[composed.message], []]) {
        const lines = await bench.sink.check(messages, new AbortController().signal);
        expect(lines).not.toEqual([]);
        expect(lines.filter((line) => !line.ok)).toEqual([]);
        bench.expectNoSecret(lines);
      }
      expect(await bench.subject.received()).toEqual(before);
    });

    test('says in a live check what is wrong', async () => {
      await bench.withSink('nowhere.invalid:4', async (other) => {
        const lines = await other.check([], new AbortController().signal);
        bench.expectNoSecret(lines);
        // With advice where there is any but to put that right.
        expect(lines).toContainEqual(
          expect.objectContaining({ ok: false, what: expect.any(String), detail: expect.any(String) }),
        );
      });
    });

    test('closes more than once', async () => {
      await bench.withSink(undefined, async (other) => {
        await bench.deliver({}, randomUUID(), other);
        await other.close();
        await expect(other.close()).resolves.toBeUndefined();
      });
    });
  });
}

/** Accepts connections and never says a word. */
async function withSilentServer(
  use: (authority: string, accepted: Promise<unknown>) => Promise<void>,
): Promise<void> {
  const open = new Set<Socket>();
  const server = createServer((socket) => void open.add(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await use(`127.0.0.1:${(server.address() as AddressInfo).port}`, once(server, 'connection'));
  } finally {
    for (const socket of open) socket.destroy();
    server.close();
  }
}

function withValue<T extends Json>(tree: T, [step, ...rest]: readonly (string | number)[], value: Json): T {
  if (step === undefined) return value as T;
  const copy = structuredClone(tree) as never as { [key: string | number]: Json };
  copy[step] = withValue(copy[step]!, rest, value);
  return copy as never;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
