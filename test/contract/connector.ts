import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { AnyConnector, AttemptRequest, DeliveryContext, Finding, Sink } from '../../src/connector.ts';
import { reasons } from '../../src/model.ts';
import type { Json, Outcome } from '../../src/model.ts';
import type { Fault, Faults } from '../sandbox/faults.ts';

/** A connector with a sandbox of its tool: what the shared suite has to know to try it. */
export interface ContractCase {
  readonly connector: AnyConnector;
  readonly sandbox: {
    readonly faults: Faults;
    stop(): Promise<void>;
    /** Listens again, on the same port. */
    start(): Promise<unknown>;
    close(): Promise<void>;
  };
  /** The sink's own keys as in the YAML. Without an argument the sandbox; otherwise `host:port`, with TLS where the protocol has it. */
  options(authority?: string): { readonly [key: string]: unknown };
  /** What must never show up in anything that the connector hands out. */
  readonly secrets: readonly string[];
  /** An action's keys, rendered. */
  readonly fields: { readonly [key: string]: Json };
  /** Where in `fields` text of a stranger may stand: the key, then the path inside of it. */
  readonly place: readonly [string, ...(string | number)[]];
  /** The names of the calls that one delivery makes, in order. The last one makes the tool commit. */
  readonly calls: readonly string[];
  /** What certain statuses of the last call have to mean; all others are only held to the general promises. */
  readonly meanings: { readonly [status: number]: Partial<Outcome> };
  /** False where the protocol has no way to state a delay. */
  readonly statesDelay: boolean;
  /** False where the tool cannot be asked. */
  readonly finds: boolean;
  /** The delivery ids that the tool holds, one for each message. */
  received(): Promise<string[]>;
  /** What a person sees of a delivery's message at `place`. */
  shown(deliveryId: string): Promise<unknown>;
  /** What the tool shows for a text where it cannot hold it as it is (line breaks in a header, say). */
  asShown?(text: string): string;
}

const allFailures = Array.from({ length: 200 }, (_, index) => 400 + index);
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

const timeIsUp = new DOMException('time is up', 'TimeoutError');

export function connectorContract(name: string, setup: () => Promise<ContractCase>): void {
  describe(`${name}: the connector contract`, () => {
    let subject: ContractCase;
    let sink: Sink<unknown>;

    beforeAll(async () => {
      subject = await setup();
      sink = await connect();
    });
    afterEach(() => subject.sandbox.faults.clear());
    afterAll(async () => {
      await sink.close();
      await subject.sandbox.close();
    });

    const connect = async (authority?: string): Promise<Sink<unknown>> =>
      subject.connector.connect(subject.connector.options.parse(subject.options(authority)));

    async function withSink<T>(authority: string | undefined, use: (other: Sink<unknown>) => Promise<T>) {
      const other = await connect(authority);
      try {
        return await use(other);
      } finally {
        await other.close();
      }
    }

    function compose(fields: unknown, deliveryId: string = randomUUID()) {
      const options = subject.connector.options.parse(subject.options());
      return subject.connector.compose(
        subject.connector.action.parse(fields),
        contextOf(deliveryId),
        options,
      );
    }

    function requestFor(
      deliveryId: string,
      over: Partial<AttemptRequest<unknown>> = {},
    ): AttemptRequest<unknown> {
      const composed = compose(over.message ?? subject.fields, deliveryId);
      if ('rejected' in composed) throw new Error(composed.rejected.detail);
      return {
        deliveryId,
        attempt: 1,
        firstAttemptAt: Date.now() - 1000,
        now: Date.now(),
        threadOf: null,
        progress: null,
        signal: new AbortController().signal,
        ...over,
        message: composed.message,
      };
    }

    /** Every outcome that the suite sees passes through here. */
    function hold(outcome: Outcome): Outcome {
      expect(['delivered', 'retry', 'rejected', 'unknown']).toContain(outcome.outcome);
      expectNoSecret(outcome);
      if (outcome.outcome === 'delivered') {
        expect(Object.keys(outcome.receipt)).not.toEqual([]);
        return outcome;
      }
      expect(reasons).toContain(outcome.reason);
      expect(outcome.detail.trim()).not.toBe('');
      expect(outcome.detail).not.toMatch(/\[object|undefined|\n|^\s*at /);
      if (outcome.outcome === 'rejected') expect(outcome.advice.trim()).not.toBe('');
      return outcome;
    }

    const deliver = async (
      over: Partial<AttemptRequest<unknown>> = {},
      id: string = randomUUID(),
      by = sink,
    ) => hold(await by.deliver(requestFor(id, over)));

    const find = async (id: string, by = sink): Promise<Finding> => {
      const finding = await by.find!(requestFor(id, { attempt: 2 }));
      expectNoSecret(finding);
      return finding;
    };

    function expectNoSecret(value: unknown): void {
      const printed = `${JSON.stringify(value)}\n${inspect(value, { depth: 20, showHidden: true })}`;
      for (const word of subject.secrets) expect(printed).not.toContain(word);
    }

    const committing = () => subject.calls.at(-1)!;

    function onceAt(call: string, ...faults: Fault[]): void {
      subject.sandbox.faults.only = [call];
      subject.sandbox.faults.once(...faults);
    }

    /** For statuses, as `fetch` by itself asks once more after a 421. */
    function alwaysAt(call: string, fault: Fault): void {
      subject.sandbox.faults.only = [call];
      subject.sandbox.faults.decide = () => fault;
    }

    test('delivers with a receipt, and the tool shows the delivery id', async () => {
      const id = randomUUID();
      expect(await deliver({}, id)).toMatchObject({ outcome: 'delivered' });
      expect(await subject.received()).toContain(id);
    });

    test('composes the same message twice, of what it cannot change', () => {
      const fields = deepFreeze(structuredClone(subject.fields));
      const id = randomUUID();
      const first = compose(fields, id);
      expect(compose(fields, id)).toEqual(first);
      expect(JSON.parse(JSON.stringify(first))).toEqual(first);
      expectNoSecret(first);
    });

    test('masks the secrets of its options', () => {
      const options = subject.connector.options.parse(subject.options());
      expect(JSON.stringify(options)).not.toBe('{}');
      expectNoSecret(options);
    });

    test.for(hostileTexts)('lets %j arrive as plain text', async (text) => {
      const id = randomUUID();
      const [key, ...path] = subject.place;
      const escaped = subject.connector.templates[key]!.escape(text, path);
      const fields = withValue(subject.fields, subject.place, escaped);
      expect(await deliver({ message: fields }, id)).toMatchObject({ outcome: 'delivered' });
      expect(await subject.shown(id)).toBe(subject.asShown?.(text) ?? text);
    });

    test('knows what every failing status means', async () => {
      for (const status of allFailures) {
        alwaysAt(committing(), { kind: 'status', status });
        const id = randomUUID();
        const outcome = await deliver({}, id);
        expect(outcome.outcome, `status ${status}`).toMatch(/^(retry|rejected|unknown)$/);
        expect(outcome, `status ${status}`).toMatchObject(subject.meanings[status] ?? {});
        subject.sandbox.faults.clear();
      }
    });

    test('knows a failing status of the calls before the last one', async () => {
      for (const call of subject.calls.slice(0, -1)) {
        for (const status of someFailures) {
          alwaysAt(call, { kind: 'status', status });
          const id = randomUUID();
          const outcome = await withSink(undefined, async (fresh) => deliver({}, id, fresh));
          // A tool that was asked for something optional may be answered without.
          expect(outcome.outcome, `${call} ${status}`).not.toBe('unknown');
          expect((await subject.received()).includes(id), `${call} ${status}`).toBe(
            outcome.outcome === 'delivered',
          );
          subject.sandbox.faults.clear();
        }
      }
    });

    test('takes the rate limit for a reason to wait, as long as the tool says', async () => {
      onceAt(committing(), { kind: 'rate-limit', retryAfterS: 7 }, { kind: 'rate-limit' });
      const stated = await deliver();
      expect(stated).toMatchObject({ outcome: 'retry', reason: 'rate_limited' });
      expect(stated).toMatchObject(subject.statesDelay ? { retryAfterMs: 7000 } : {});
      const unstated = await deliver();
      expect(unstated).toMatchObject({ outcome: 'retry', reason: 'rate_limited' });
      expect(unstated).not.toHaveProperty('retryAfterMs');
    });

    test.for([true, false])(
      'ends unknown when the connection drops after the request left (committed: %s)',
      async (commit) => {
        onceAt(committing(), { kind: 'drop', commit });
        const id = randomUUID();
        expect(await deliver({}, id)).toMatchObject({ outcome: 'unknown', reason: 'network' });
        expect((await subject.received()).includes(id)).toBe(commit);
      },
    );

    test.for([true, false])(
      'ends unknown when time runs out after the request left (committed: %s)',
      async (commit) => {
        const controller = new AbortController();
        subject.sandbox.faults.only = [committing()];
        subject.sandbox.faults.decide = () => {
          setImmediate(() => controller.abort(timeIsUp));
          return { kind: 'hang', commit };
        };
        const outcome = await deliver({ signal: controller.signal });
        expect(outcome).toMatchObject({ outcome: 'unknown', reason: 'timeout' });
      },
    );

    test('sends nothing when it is aborted before it starts', async () => {
      const id = randomUUID();
      expect(await deliver({ signal: AbortSignal.abort() }, id)).toMatchObject({ outcome: 'retry' });
      expect(await subject.received()).not.toContain(id);
    });

    test('knows that nothing left when time runs out while connecting, unless the tool can be asked', async () => {
      await withSilentServer(async (authority, accepted) => {
        await withSink(authority, async (other) => {
          const controller = new AbortController();
          const outcome = deliver({ signal: controller.signal }, randomUUID(), other);
          await accepted;
          controller.abort(timeIsUp);
          expect((await outcome).outcome).toMatch(subject.finds ? /^(retry|unknown)$/ : /^retry$/);
          expect(await outcome).toMatchObject({ reason: 'timeout' });
        });
      });
    });

    test.for(['hang', 'drop'] as const)(
      'knows that nothing was sent when a call before the last one ends in a %s',
      async (kind) => {
        for (const call of subject.calls.slice(0, -1)) {
          const controller = new AbortController();
          subject.sandbox.faults.only = [call];
          subject.sandbox.faults.decide = () => {
            if (kind === 'hang') setImmediate(() => controller.abort(timeIsUp));
            return { kind, commit: false };
          };
          const outcome = await withSink(undefined, async (fresh) =>
            deliver({ signal: controller.signal }, randomUUID(), fresh),
          );
          expect(outcome, `${kind} of ${call}`).toMatchObject({
            outcome: 'retry',
            reason: kind === 'hang' ? 'timeout' : 'network',
          });
          subject.sandbox.faults.clear();
        }
      },
    );

    test('retries when the tool refuses the connection, and delivers once it is back', async () => {
      await subject.sandbox.stop();
      try {
        const refused = { outcome: 'retry', reason: 'network', sinkWide: true };
        expect(await deliver()).toMatchObject(refused);
        await withSink(undefined, async (fresh) =>
          expect(await deliver({}, randomUUID(), fresh)).toMatchObject(refused),
        );
      } finally {
        await subject.sandbox.start();
      }
      expect(await deliver()).toMatchObject({ outcome: 'delivered' });
    });

    test('retries when the name of the tool does not resolve', async () => {
      await withSink('nowhere.invalid:4', async (other) => {
        const outcome = await deliver({}, randomUUID(), other);
        expect(outcome).toMatchObject({ outcome: 'retry', reason: 'network', sinkWide: true });
      });
    });

    test('finds exactly what is there, and says when it could not ask', async () => {
      expect('find' in sink).toBe(subject.finds);
      if (!subject.finds) return;
      onceAt(committing(), { kind: 'drop', commit: true });
      const [there, missing] = [randomUUID(), randomUUID()];
      await deliver({}, there);
      expect(await find(there)).toMatchObject({ found: expect.objectContaining({}) });
      expect(await find(missing)).toEqual({ found: null });
      await subject.sandbox.stop();
      try {
        expect(await find(there)).toMatchObject({ found: 'failed', failure: { outcome: 'retry' } });
      } finally {
        await subject.sandbox.start();
      }
    });

    test('checks live without sending anything', async () => {
      const before = await subject.received();
      const composed = compose(subject.fields);
      if ('rejected' in composed) throw new Error(composed.rejected.detail);
      const lines = await sink.check([composed.message], new AbortController().signal);
      expect(lines).not.toEqual([]);
      expect(lines.filter((line) => !line.ok)).toEqual([]);
      expectNoSecret(lines);
      expect(await subject.received()).toEqual(before);
    });

    test('says in a live check what is wrong and what to try', async () => {
      await withSink('nowhere.invalid:4', async (other) => {
        const lines = await other.check([], new AbortController().signal);
        expectNoSecret(lines);
        expect(lines).toContainEqual({
          ok: false,
          what: expect.any(String),
          detail: expect.any(String),
          advice: expect.any(String),
        });
      });
    });

    test('closes more than once', async () => {
      const other = await connect();
      await deliver({}, randomUUID(), other);
      await other.close();
      await expect(other.close()).resolves.toBeUndefined();
    });
  });
}

const contextOf = (deliveryId: string): DeliveryContext => ({
  deliveryId,
  event: {
    id: 'ev-1',
    candidateId: '0123456789abcdef0123456789abcdef',
    candidateNumericalId: 42,
    testId: 1234567,
    status: 'Completed',
    receivedAt: '2026-03-01T09:30:00.000Z',
    correlationId: null,
    raw: { candidateId: '0123456789abcdef0123456789abcdef', testId: 1234567, status: 'Completed' },
  },
});

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
