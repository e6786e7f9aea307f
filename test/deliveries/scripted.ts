import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { pino } from 'pino';
import { z } from 'zod';
import { eventWith } from '../fixtures/event.ts';
import { systemClock } from '../../src/support/clock.ts';
import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import {
  defineConnector,
  plain,
  type AnyConnector,
  type AttemptRequest,
  type Finding,
  type LiveCheck,
  type PaceLimit,
} from '../../src/connector.ts';
import { ConnectedSinks } from '../../src/deliveries/sinks/connected-sinks.ts';
import type { AttemptReport } from '../../src/deliveries/call.ts';
import { Worker, type WorkerParts } from '../../src/deliveries/worker.ts';
import { createIntake } from '../../src/intake.ts';
import { eventIds } from '../../src/support/ids.ts';
import { noFacts } from '../../src/model.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import { decide } from '../../src/rules/decide.ts';
import { openStore } from '../../src/store/open.ts';
import type { DeliveryStory, Store } from '../../src/store/store.ts';

export interface Message {
  readonly text: string;
  readonly thread?: string;
}
type Request = AttemptRequest<Message>;

/** A tool whose answers a test decides, behind the contract of connectors. */
export class ScriptedTool {
  /** Every call of deliver, in order. */
  readonly sent: Request[] = [];
  readonly asked: Request[] = [];
  closed = 0;
  deliver: (request: Request) => Promise<Outcome> | Outcome = ({ deliveryId }) => ({
    outcome: 'delivered',
    receipt: { id: deliveryId },
  });
  find: ((request: Request) => Finding) | null = null;
  connect: () => void | Promise<void> = () => {};
  /** What it says when it is asked without sending. */
  check: () => LiveCheck[] = () => [];
  /** Whether each place is its own lane. */
  lanes = false;
  /** Whether a message takes the place of the one before it in its thread. */
  replaces = false;
  /** The most messages of one call, if it takes several. `batches` has the size of each call. */
  batch: number | null = null;
  readonly batches: number[] = [];
  pace: PaceLimit | null = null;
  /** What each call of deliver counts for, under a default pace. */
  counted: { readonly account: string; readonly calls: number; readonly pace: PaceLimit } | null = null;

  get connector(): AnyConnector {
    const pace = this.pace ?? this.counted?.pace;
    return defineConnector({
      name: 'scripted',
      options: z.strictObject({}),
      action: z.strictObject({
        text: z.string(),
        place: z.string().optional(),
        thread: z.string().optional(),
      }),
      templates: { text: plain, place: plain, thread: plain },
      defaults: { concurrency: 4, timeoutMs: 200, ...(pace && { pace }) },
      ...(this.lanes && { laneKeys: ['place'] as const, lane: ({ place = '' }) => place }),
      ...(this.batch !== null && { batch: { max: this.batch } }),
      thread: ({ thread = null }) => thread,
      ...(this.replaces && { replaces: () => true }),
      compose: ({ text, thread }) =>
        text === ''
          ? {
              rejected: {
                outcome: 'rejected',
                reason: 'invalid',
                detail: 'Nothing to say.',
                advice: 'Say something.',
              },
            }
          : { message: { text, ...(thread !== undefined && { thread }) } },
      connect: async () => {
        await this.connect();
        let calls = 0;
        return {
          ...(this.counted && {
            usage: () => {
              const used = { account: this.counted!.account, calls };
              calls = 0;
              return used;
            },
          }),
          deliver: async (request) => {
            this.sent.push(request);
            calls += this.counted?.calls ?? 0;
            return this.deliver(request);
          },
          ...(this.batch !== null && {
            deliverMany: async (requests) => {
              this.batches.push(requests.length);
              return Promise.all(requests.map(async (request) => this.deliver(request)));
            },
          }),
          ...(this.find && {
            find: async (request) => {
              this.asked.push(request);
              return this.find?.(request) ?? { found: null };
            },
          }),
          check: async () => this.check(),
          close: async () => {
            this.closed += 1;
          },
        };
      },
    });
  }
}

/** A clock that goes on by itself; `skip` moves it forward. */
export function skipping() {
  let skippedMs = 0;
  const clock = {
    ...systemClock,
    now: () => systemClock.now() + skippedMs,
    elapsed: () => systemClock.elapsed() + skippedMs,
  };
  return { clock, skip: (ms: number) => void (skippedMs += ms) };
}

export interface Bench {
  readonly store: Store;
  readonly worker: Worker;
  readonly reports: AttemptReport[];
  /** Sinks paused and resumed. */
  readonly changes: string[];
  /** Accepts an event and wakes the worker. Resolves to the event's id. */
  accept(candidateId?: string): Promise<string>;
  /** Has an event accepted as the receiver does, so that its deliveries may begin with it. Resolves to its id. */
  receive(candidateId?: string): Promise<string>;
  /** Another worker on the same store, as after a restart; not started. */
  restart(): Worker;
  adopt(config: Config): Promise<void>;
  delivery(eventId: string): Promise<DeliveryStory>;
}

export function configFor(
  tool: ScriptedTool,
  sink = '',
  action = 'text: "{{ event.candidateId }}"',
  more = '',
): Config {
  return parseConfig(
    `${more}
sinks: { tool: { connector: scripted, ${sink.includes('retry:') ? '' : 'retry: { minDelay: 10ms, maxDelay: 20ms, giveUpAfter: 1h }, '}${sink} } }
rules: [ { name: all, when: {}, then: [ { sink: tool, ${action} } ] } ]`,
    'config.yaml',
    { env: {}, connectors: new Map([['scripted', tool.connector]]) },
  );
}

/** A worker on a real store, by default in its own folder, with a scripted tool as its sink. */
export async function bench(first: Config, parts: Partial<WorkerParts> = {}): Promise<Bench> {
  const folder = await mkdtemp(join(tmpdir(), 'worker-'));
  const store = parts.store ?? (await openStore(`sqlite:${folder}/connector.db`, { serve: true }));
  const sinks = new ConnectedSinks();
  const reports: AttemptReport[] = [];
  const changes: string[] = [];
  const nextId = eventIds();
  let config = first;
  const plans = new Map([[config.plan.id, config.plan]]);
  const workers: Worker[] = [];

  const clock = parts.clock ?? systemClock;
  const start = () => {
    const worker = new Worker({
      store,
      sinks,
      clock,
      random: () => 0.5,
      config: () => config,
      // As the app does: that of an earlier config has to be waited for.
      plan: (id) =>
        id === config.plan.id
          ? config.plan
          : Promise.resolve(plans.get(id) ?? { fault: 'The config is lost.' }),
      observe: (report) => reports.push(report),
      sinkChanged: (sink, change) => changes.push(`${sink} ${change}`),
      pulledIn: (aheadMs, count) => changes.push(`${count} pulled in by ${aheadMs}`),
      clockDoubted: () => false,
      storeFailed: (error) => {
        throw error;
      },
      callFailed: (error) => {
        throw error;
      },
      ...parts,
    });
    workers.push(worker);
    return worker;
  };
  const adopt = async (next: Config) => {
    await store.saveConfig({ id: next.plan.id, source: next.planSource, savedAt: Date.now() });
    plans.set(next.plan.id, next.plan);
    config = next;
  };
  await adopt(first);
  onTestFinished(async () => {
    await Promise.all(workers.map((worker) => worker.stop(0)));
    await sinks.close();
    await store.close();
    await rm(folder, { recursive: true });
  });
  const worker = start();
  await worker.start();
  const log = pino({ level: 'silent' });
  const inbox = createIntake({ store, config: () => config, worker, log, nextId });
  return {
    store,
    worker,
    reports,
    changes,
    adopt,
    restart: start,
    async accept(candidateId = 'candidate-1') {
      const receivedAt = clock.now();
      const event = eventWith({ id: nextId(receivedAt), candidateId, testId: 1, receivedAt });
      const deliveries = decide(config.plan, event, noFacts, receivedAt);
      await store.accept({ event, configId: config.plan.id, deliveries, windowMs: 0 });
      worker.wake(deliveries);
      return event.id;
    },
    async receive(candidateId = 'candidate-1') {
      const event = { candidateId, candidateNumericalId: null, testId: 1, status: 'Completed' as const };
      const received = { event, raw: event, correlationId: null, traceparent: null, receivedAt: clock.now() };
      return (await inbox.accept(received)).eventId;
    },
    async delivery(eventId) {
      const story = await store.event(eventId);
      const delivery = story?.deliveries[0];
      if (!delivery) throw new Error(`no delivery of ${eventId}`);
      return delivery;
    },
  };
}
