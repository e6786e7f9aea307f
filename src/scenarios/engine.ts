import { pino } from 'pino';
import type { Config, SinkConfig, TimedScenario } from '../config/config.ts';
import type { LookupSink } from '../config/lookups/lookup-sinks.ts';
import {
  type AnyConnector,
  type AttemptRequest,
  type ComposeResult,
  defineConnector,
  type EventData,
  retry,
} from '../connector.ts';
import type { AttemptReport } from '../deliveries/call.ts';
import { ConnectedSinks } from '../deliveries/sinks/connected-sinks.ts';
import { Worker } from '../deliveries/worker.ts';
import { createIntake } from '../intake.ts';
import { Deciding, withLookupSinks } from '../deliveries/deciding.ts';
import { type ActionRef, type Json, type JsonMap, lookupConnector } from '../model.ts';
import type { Outcome } from '../model/outcomes.ts';
import { openSqlite } from '../store/sqlite.ts';
import type { Store } from '../store/store.ts';
import { eventIds } from '../support/ids.ts';
import { sampleEvent, type TemplateData } from '../templates/data.ts';
import { VirtualClock } from './virtual-clock.ts';

/** A message that a tool would have got. */
export interface SentMessage extends ActionRef {
  readonly sink: string;
  /** When it would go (ms). */
  readonly at: number;
  /** The ids of the candidates that it is about. */
  readonly candidates: readonly string[];
  /** The rendered keys of its action. */
  readonly fields: JsonMap;
}

export interface MissingMessage extends ActionRef {
  readonly sink: string;
  readonly detail: string;
}

export interface Playback {
  readonly sent: readonly SentMessage[];
  readonly unmade: readonly MissingMessage[];
}

const dayMs = 86_400_000;
/** Digests collect for a month at most, and hours open within a year. */
const patienceMs = 400 * dayMs;

/**
 * Plays a scenario through the real intake, store and worker, with digests, hours, rates and duplicates, but with a virtual
 * clock and without calling tools. Null if it takes longer than `until` (as performance.now()).
 */
export async function play(
  config: Config,
  { events }: TimedScenario,
  until: number,
): Promise<Playback | null> {
  const clock = new VirtualClock(events[0]?.at ?? 0);
  const memory = await openSqlite(':memory:', { serve: false });
  const { store, settled } = watched(memory);
  const sinks = new ConnectedSinks();
  const tools = new Tools({ ...config, lookups: answering(config.lookups, events) });
  const deciding: Deciding = new Deciding({
    store,
    clock,
    config: () => tools.config,
    plan: async () => config.plan,
    wake: (stored) => worker.wake(stored),
    failed: (error) => tools.failed(error),
  });
  const worker: Worker = new Worker({
    store,
    sinks,
    clock,
    random: () => 0.5,
    config: () => withLookupSinks(tools.config),
    plan: async () => config.plan,
    observe(report) {
      if (report.delivery.connector === lookupConnector) deciding.wake();
      else tools.observe(report);
      // It polls too seldom to find what is due next in the lane by itself.
      worker.wake();
    },
    sinkChanged: () => {},
    pulledIn: () => {},
    clockDoubted: () => false,
    storeFailed: (error) => tools.failed(error),
    callFailed: (error) => tools.failed(error),
    pollMs: dayMs,
  });
  const log = pino({ level: 'silent' });
  // The same ids in every run, as templates may print them.
  const nextId = eventIds({ random: () => 0 });
  const inbox = createIntake({
    store,
    config: () => tools.config,
    worker,
    undecided: () => deciding.wake(),
    log,
    nextId,
  });
  const hasOpen = async () =>
    (await memory.nextGiveUp()) !== null ||
    (await memory.counts()).some(({ states }) => states.pending + states.sending > 0);
  try {
    await store.saveConfig({ id: config.plan.id, source: config.planSource, savedAt: clock.now() });
    await worker.start();
    for (const { at, facts: _, delays: _delays, ...event } of events)
      clock.after(at - clock.now(), () => {
        const { raw, receivedAt } = sampleEvent(event, at);
        inbox.accept({ event, raw, correlationId: null, traceparent: null, receivedAt }).then(
          () => (tools.accepted += 1),
          (error: unknown) => tools.failed(error),
        );
      });
    await settled();
    while (tools.accepted < events.length || (await hasOpen())) {
      if (tools.bug) throw tools.bug;
      if (performance.now() > until) return null;
      if (clock.elapsed() > patienceMs + events.at(-1)!.at - events[0]!.at || !clock.ring()) break;
      await settled();
    }
    return tools;
  } finally {
    await deciding.stop();
    await worker.stop(0);
    await sinks.close();
    await memory.close();
  }
}

/** A store, and a way to wait until neither it nor its users do anything any more. */
function watched(real: Store): { readonly store: Store; readonly settled: () => Promise<void> } {
  let running = 0;
  const store = new Proxy(real, {
    get(target, name) {
      const operation: unknown = Reflect.get(target, name);
      if (typeof operation !== 'function') return operation;
      return async (...args: unknown[]): Promise<unknown> => {
        running += 1;
        try {
          return await Reflect.apply(operation, target, args);
        } finally {
          running -= 1;
        }
      };
    },
  });
  const settled = async () => {
    for (let quietTurns = 0; quietTurns < 2; quietTurns = running === 0 ? quietTurns + 1 : 0)
      await new Promise((resolve) => void setImmediate(resolve));
  };
  return { store, settled };
}

const keyOf = (event: Pick<EventData, 'candidateId' | 'testId' | 'status' | 'receivedAt'>): string =>
  JSON.stringify([event.candidateId, event.testId, event.status, event.receivedAt]);

/** Look-ups that answer what a scenario says, when it says so; else nothing in time. */
function answering(lookups: Config['lookups'], events: TimedScenario['events']): Config['lookups'] {
  const known = new Map(
    events.map((one) => [keyOf({ ...one, receivedAt: new Date(one.at).toISOString() }), one]),
  );
  const played = [...lookups.values()].map((sink): [string, LookupSink] => {
    const deliver = async ({ message: key, now }: AttemptRequest<string>): Promise<Outcome> => {
      const { at, facts, delays } = known.get(key)!;
      const { state, fields } = facts[sink.lookup]!;
      const comesAt = state === 'answered' ? at + delays.get(sink.lookup)! : Infinity;
      const found = { state: state === 'absent' ? state : 'answered', at: now, reason: null, fields };
      if (now >= comesAt) return { outcome: 'delivered', receipt: { facts: found } };
      const inTime = Math.min(comesAt - now, dayMs * 8);
      const progress = comesAt === Infinity ? found : { ...found, fields: {} };
      return { ...retry('not_found', 'It is not there yet.', inTime), progress };
    };
    const connect = async () => ({ deliver, check: async () => [], close: async () => {} });
    const connector = defineConnector({ ...sink.connector, connect });
    const compose = ({ event }: TemplateData) => ({ message: keyOf(event) });
    return [sink.name, { ...sink, connector, compose, retry: { ...sink.retry, minDelayMs: 0 } }];
  });
  return new Map(played);
}

type Message = { readonly fields: JsonMap; readonly message: Json };

/** A stand-in for the tools that keeps what they would get. */
class Tools implements Playback {
  readonly config: Config;
  readonly sent: SentMessage[] = [];
  readonly unmade: MissingMessage[] = [];
  /** How many events were accepted. */
  accepted = 0;
  /** An error is a bug: no config makes this fail. */
  bug: Error | null = null;
  /** Rendered fields by the id of the delivery. */
  readonly #arrived = new Map<string, JsonMap>();

  constructor(config: Config) {
    const sinks = [...config.sinks.values()].map((sink): [string, SinkConfig] => [
      sink.name,
      { ...sink, connector: this.#without(sink.connector) },
    ]);
    this.config = { ...config, sinks: new Map(sinks) };
  }

  failed(error: unknown): void {
    this.bug ??= error instanceof Error ? error : new Error(String(error));
  }

  observe({ delivery, events, outcome, endedAt: at }: AttemptReport): void {
    const { rule, action, sink, id } = delivery;
    const fields = this.#arrived.get(id);
    if (outcome.outcome !== 'delivered') this.unmade.push({ rule, action, sink, detail: outcome.detail });
    else if (fields)
      this.sent.push({ rule, action, sink, at, fields, candidates: events.map((one) => one.candidateId) });
  }

  /** A connector without its tool: it composes and batches as usual, and then only keeps the message. */
  #without(connector: AnyConnector): AnyConnector {
    const keep = async ({ deliveryId, message }: AttemptRequest<Message>) => {
      this.#arrived.set(deliveryId, message.fields);
      return { outcome: 'delivered', receipt: {} } as const;
    };
    return defineConnector({
      ...connector,
      compose(fields: JsonMap, context, options): ComposeResult<Message> {
        const composed = connector.compose(fields, context, options);
        return 'rejected' in composed
          ? composed
          : { ...composed, message: { fields, message: composed.message } };
      },
      thread: ({ message }: Message) => connector.thread?.(message) ?? null,
      replaces: ({ message }: Message) => connector.replaces?.(message) ?? false,
      connect: async () => ({
        deliver: keep,
        ...(connector.batch && {
          deliverMany: (requests) => Promise.all(requests.map(keep)),
          findMany: async (requests) => requests.map(() => ({ found: null })),
        }),
        check: async () => [],
        close: async () => {},
      }),
    });
  }
}
