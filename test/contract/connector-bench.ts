import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { expect } from 'vitest';
import type {
  AnyConnector,
  AttemptRequest,
  ComposeResult,
  DeliveryContext,
  Finding,
  Sink,
} from '../../src/connector.ts';
import { reasons } from '../../src/model/outcomes.ts';
import type { Json } from '../../src/model.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import { attemptAt, eventDataWith } from '../fixtures/event.ts';
import type { Fault, Faults } from '../../sandbox/faults.ts';

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
  /** What `forget` says of a delivered message, and where its page leads. */
  readonly trace: RegExp;
  readonly link?: unknown;
  /** False where the protocol has no way to state a delay. */
  readonly statesDelay: boolean;
  /** False where the tool cannot be asked. */
  readonly finds: boolean;
  /** False where messages do not go through a proxy. */
  readonly proxied: boolean;
  /** The delivery ids that the tool holds, one for each message. */
  received(): Promise<string[]>;
  /** What a person sees of a delivery's message at `place`. */
  shown(deliveryId: string): Promise<unknown>;
  /** What the tool shows for a text where it cannot hold it as it is (line breaks in a header, say). */
  asShown?(text: string): string;
}

/** Why a signal aborts. */
export const timeIsUp = new DOMException('time is up', 'TimeoutError');

type Over = Partial<AttemptRequest<unknown>>;

/** A connector's case set up: what the tests of the suite do with it. */
export class ConnectorBench {
  readonly subject: ContractCase;
  readonly #sink: Sink<unknown>;

  private constructor(subject: ContractCase, sink: Sink<unknown>) {
    this.subject = subject;
    this.#sink = sink;
  }

  static async open(subject: ContractCase): Promise<ConnectorBench> {
    return new ConnectorBench(subject, await connect(subject));
  }

  async close(): Promise<void> {
    await this.#sink.close();
    await this.subject.sandbox.close();
  }

  /** The sink that most tests use. */
  get sink(): Sink<unknown> {
    return this.#sink;
  }

  /** A sink of its own, with nothing connected or kept from before. */
  async withSink<T>(
    authority: string | undefined,
    use: (other: Sink<unknown>) => Promise<T>,
    over: object = {},
  ): Promise<T> {
    const other = await connect(this.subject, authority, over);
    try {
      return await use(other);
    } finally {
      await other.close();
    }
  }

  compose(fields: unknown, deliveryId: string = randomUUID()) {
    const { connector } = this.subject;
    const options = connector.options.parse(this.subject.options());
    return connector.compose(connector.action.parse(fields), contextOf(deliveryId), options);
  }

  /** One attempt, of other fields where given. Whatever comes of it has to keep the general promises. */
  async deliver(over: Over & { readonly fields?: Json } = {}, id: string = randomUUID(), by = this.#sink) {
    const outcome = await by.deliver(this.#request(id, over));
    this.expectNoSecret(outcome);
    expectWellFormed(outcome);
    return outcome;
  }

  /** One attempt at each of these, in one call. */
  async deliverMany(
    ids: readonly string[],
    overFor: (index: number) => Over = () => ({}),
  ): Promise<Outcome[]> {
    const outcomes = await this.#sink.deliverMany!(ids.map((id, index) => this.#request(id, overFor(index))));
    this.expectNoSecret(outcomes);
    for (const outcome of outcomes) expectWellFormed(outcome);
    return inFull(outcomes, ids.length);
  }

  async findMany(ids: readonly string[]): Promise<Finding[]> {
    const findings = await this.#sink.findMany!(ids.map((id) => this.#request(id, { attempt: 2 })));
    this.expectNoSecret(findings);
    return inFull(findings, ids.length);
  }

  /** Which of these the tool holds, in its own order. */
  async receivedOf(ids: readonly string[]): Promise<string[]> {
    return (await this.subject.received()).filter((id) => ids.includes(id));
  }

  /** How many calls the tool gets meanwhile. */
  async callsDuring(use: () => Promise<unknown>): Promise<number> {
    let calls = 0;
    this.subject.sandbox.faults.decide = () => {
      calls += 1;
      return null;
    };
    await use();
    this.subject.sandbox.faults.clear();
    return calls;
  }

  async find(id: string): Promise<Finding> {
    const finding = await this.#sink.find!(this.#request(id, { attempt: 2 }));
    this.expectNoSecret(finding);
    return finding;
  }

  expectNoSecret(value: unknown): void {
    expectWithout(this.subject.secrets, value);
  }

  /** The call that makes the tool commit. */
  get committing(): string {
    return this.subject.calls.at(-1)!;
  }

  get callsBefore(): readonly string[] {
    return this.subject.calls.slice(0, -1);
  }

  onceAt(call: string, ...faults: Fault[]): void {
    this.subject.sandbox.faults.only = [call];
    this.subject.sandbox.faults.once(...faults);
  }

  /** For statuses: after a 421 `fetch` asks once more by itself. */
  alwaysAt(call: string, fault: Fault): void {
    this.subject.sandbox.faults.only = [call];
    this.subject.sandbox.faults.decide = () => fault;
  }

  /** A signal that aborts as soon as this call hangs in the tool. */
  timeOutAt(call: string, commit: boolean): AbortSignal {
    const controller = new AbortController();
    this.subject.sandbox.faults.only = [call];
    this.subject.sandbox.faults.decide = () => {
      setImmediate(() => controller.abort(timeIsUp));
      return { kind: 'hang', commit };
    };
    return controller.signal;
  }

  async whileStopped(use: () => Promise<void>): Promise<void> {
    await this.subject.sandbox.stop();
    try {
      await use();
    } finally {
      await this.subject.sandbox.start();
    }
  }

  #request(deliveryId: string, { fields, ...over }: Over & { readonly fields?: Json }) {
    const composed: ComposeResult<unknown> = this.compose(fields ?? this.subject.fields, deliveryId);
    return attemptAt(composed, { deliveryId, firstAttemptAt: Date.now() - 1000, ...over });
  }
}

const connect = async (subject: ContractCase, authority?: string, over?: object): Promise<Sink<unknown>> =>
  subject.connector.connect(subject.connector.options.parse({ ...subject.options(authority), ...over }));

function expectWithout(secrets: readonly string[], value: unknown): void {
  const printed = `${JSON.stringify(value)}\n${inspect(value, { depth: 20, showHidden: true })}`;
  for (const secret of secrets) expect(printed).not.toContain(secret);
}

function inFull<T>(answers: T[], count: number): T[] {
  expect(answers).toHaveLength(count);
  return answers;
}

function expectWellFormed(outcome: Outcome): void {
  if (outcome.outcome === 'delivered') return expect(Object.keys(outcome.receipt)).not.toEqual([]);
  expect(['retry', 'rejected', 'unknown']).toContain(outcome.outcome);
  expect(reasons).toContain(outcome.reason);
  expect(outcome.detail.trim()).not.toBe('');
  expect(outcome.detail).not.toMatch(/\[object|undefined|\n|^\s*at /);
  if (outcome.outcome === 'rejected') expect(outcome.advice.trim()).not.toBe('');
}

const contextOf = (deliveryId: string): DeliveryContext => ({
  deliveryId,
  subject: {
    kind: 'event',
    event: eventDataWith({ candidateId: '0123456789abcdef0123456789abcdef', candidateNumericalId: 42 }),
  },
});
