import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { ReceiverConfig } from '../../src/config/config.ts';
import { CallerTokens } from '../../src/config/live/caller-tokens.ts';
import { createReceiver, type ReceiverOptions } from '../../src/receiver/server.ts';
import type { Inbox, ReceivedEvent } from '../../src/receiver/receive.ts';
import type { Acceptance, RejectedRequest } from '../../src/store/store.ts';

export const path = '/webhooks/candidates';

/** The specification's sample, in both variants. */
export const sample = {
  candidateId: '0f8fad5bd9cb469fa16570867728950e',
  candidateNumericalId: 4521876,
  testId: 1234567,
  status: 'Completed',
};
const { candidateNumericalId: _, ...short } = sample;
export const shortSample = short;

const defaults: ReceiverConfig = {
  host: '127.0.0.1',
  port: 0,
  path,
  allowFrom: ['127.0.0.1'],
  trustProxy: 0,
  token: [],
  correlationHeader: 'auto',
  maxBodyBytes: 65_536,
  retryForMs: 0,
};

/** An inbox in memory, whose answer a test can set. */
class MemoryInbox implements Inbox {
  readonly received: ReceivedEvent[] = [];
  readonly rejected: RejectedRequest[] = [];
  readonly refused: Parameters<Inbox['keepRefused']>[] = [];
  readonly withoutRoom: string[] = [];
  answer: () => Acceptance | Promise<Acceptance> = () => ({
    eventId: `evt_${this.received.length}`,
    duplicate: false,
    correlationReused: false,
  });

  async accept(received: ReceivedEvent): Promise<Acceptance> {
    this.received.push(received);
    return this.answer();
  }

  /** Answers nothing until the returned function is called. */
  hold(): () => void {
    const { answer } = this;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.answer = async () => {
      await promise;
      return answer();
    };
    return resolve;
  }

  keepRejected(request: RejectedRequest): void {
    this.rejected.push(request);
  }

  noRoom(address: string): void {
    this.withoutRoom.push(address);
  }

  keepRefused(...refused: Parameters<Inbox['keepRefused']>): void {
    this.refused.push(refused);
  }
}

export type LogLine = { readonly level: string; readonly [key: string]: unknown };

/** A receiver on its own port, with what it accepted and logged. Closed at the end of the test. */
export async function startReceiver(
  config: Partial<ReceiverConfig> = {},
  options: Partial<ReceiverOptions> = {},
) {
  const current = { config: { ...defaults, ...config } };
  const tokens = new CallerTokens(current.config.token);
  const inbox = new MemoryInbox();
  const lines: LogLine[] = [];
  const counted: string[] = [];
  const formatters = { level: (level: string) => ({ level }) };
  const log = pino({ base: null, formatters }, { write: (line) => void lines.push(JSON.parse(line)) });
  const { receiver: server } = createReceiver({
    config: () => current.config,
    tokens,
    inbox,
    log,
    metrics: { requests: (result) => void counted.push(result) },
    readiness: async () => [],
    ...options,
  });
  await once(server.listen(0, current.config.host), 'listening');
  onTestFinished(() => server.stop(0));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}${path}`;
  return {
    server,
    port,
    url,
    inbox,
    lines,
    counted,
    reload(change: Partial<ReceiverConfig>) {
      current.config = { ...current.config, ...change };
      tokens.adopt(current.config.token, Date.now());
    },
    post: (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
      fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } }),
  };
}

/** How many connections a server has. */
export function connections(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
}
