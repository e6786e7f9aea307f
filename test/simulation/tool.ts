import { z } from 'zod';
import {
  defineConnector,
  plain,
  type AnyConnector,
  type AttemptRequest,
  type Finding,
} from '../../src/connector.ts';
import type { Outcome } from '../../src/model/outcomes.ts';
import type { Clock } from '../../src/support/clock.ts';

interface Message {
  readonly text: string;
  readonly place: string;
}
type Request = AttemptRequest<Message>;

/** A message that the tool keeps. */
export interface Kept extends Message {
  readonly deliveryId: string;
  /** What the clock showed (ms). */
  readonly at: number;
}

export interface ToolOptions {
  readonly name: string;
  readonly canBeAsked: boolean;
  /** Whether the connector asks it. */
  readonly asked: boolean;
  /** Its sink says `onUnknown: hold`. */
  readonly holds: boolean;
  readonly batched: boolean;
  /** Calls beyond it are refused, as a tool does; for each place. */
  readonly limit: { readonly perMs: number; readonly burst: number } | null;
  /** How likely a call goes wrong, in all the ways together. */
  readonly faults: number;
  /** Fails three times of ten, for no message in particular. */
  readonly flaky: boolean;
}

/** What the store has of a pause. */
interface KeptPause {
  /** In which life of the process it was put there. */
  readonly life: number;
  /** As Clock.elapsed's. */
  readonly probeAt: number;
}

interface World {
  readonly clock: Clock;
  readonly random: () => number;
  readonly note: (step: string) => void;
}

/** The model of a tool: it keeps messages, answers late, loses answers, limits rates, and is down now and then. */
export class ModelTool {
  readonly kept: Kept[] = [];
  calls = 0;
  /** Calls that were refused for their rate. */
  tooMany = 0;
  /** Calls while it was down. */
  callsWhileDown = 0;
  down = false;
  keptPause: KeptPause | null = null;
  /** Calls before a probe was due, by another life of the process than the one that paused it. */
  callsInPause = 0;
  /** Pauses of a sink that had only just worked. */
  needlessPauses = 0;
  /** How often each delivery's call ended with nobody knowing. */
  readonly unclear = new Map<string, number>();
  readonly options: ToolOptions;
  readonly #world: World;
  readonly #wholeAt = new Map<string, number>();
  #workedAt = -Infinity;
  #resumedAt = -Infinity;

  constructor(options: ToolOptions, world: World) {
    this.options = options;
    this.#world = world;
  }

  /** The worker paused or resumed it. While it recovers from a pause, few failures pause it again. */
  changed(change: 'paused' | 'resumed'): void {
    const now = this.#world.clock.elapsed();
    if (change === 'resumed') this.#resumedAt = now;
    else if (this.options.flaky && now - this.#workedAt < 19_000 && now - this.#resumedAt > 60_000)
      this.needlessPauses += 1;
  }

  /** The connector to it, for one life of the process. `outside` keeps a dead process from acting. */
  connector(outside: <T>(run: () => Promise<T>) => Promise<T>, life: number): AnyConnector {
    const { name, asked, batched, limit } = this.options;
    // Another life knows only of the pauses that it finds in the store.
    this.#workedAt = -Infinity;
    const many = (requests: readonly Request[]) =>
      outside(() => {
        if (this.#pausedBefore(life)) this.callsInPause += 1;
        return this.#call(requests);
      });
    const findMany = (requests: readonly Request[]) => outside(() => this.#find(requests));
    return defineConnector({
      name,
      options: z.strictObject({}),
      action: z.strictObject({ text: z.string(), place: z.string() }),
      templates: { text: plain, place: plain },
      defaults: { concurrency: 4, timeoutMs: 5000, ...(limit && { pace: { count: 1, ...limit } }) },
      ...(batched ? { batch: { max: 10 } } : { laneKeys: ['place'] as const, lane: ({ place }) => place }),
      compose: ({ text, place }) => ({ message: { text, place } }),
      connect: async () => ({
        deliver: async (request) => (await many([request]))[0]!,
        ...(asked && { find: async (request: Request) => (await findMany([request]))[0]! }),
        ...(batched && { deliverMany: many, findMany }),
        check: async () => [],
        close: async () => {},
      }),
    });
  }

  #pausedBefore(life: number): boolean {
    const pause = this.keptPause;
    return pause !== null && pause.life !== life && this.#world.clock.elapsed() < pause.probeAt;
  }

  async #call(requests: readonly Request[]): Promise<Outcome[]> {
    this.calls += 1;
    const fate = this.#fate(requests);
    const ids = requests.map(({ deliveryId }) => deliveryId).join(' ');
    this.#world.note(`${this.options.name} ${fate}: ${ids}`);
    if (fate.startsWith('done')) {
      const at = this.#world.clock.now();
      for (const { deliveryId, message } of requests) this.kept.push({ deliveryId, at, ...message });
    }
    await this.#pause();
    if (fate === 'done') this.#workedAt = this.#world.clock.elapsed();
    if (fate === 'answer lost' || fate === 'done, answer lost') await this.#untilAbort(requests);
    return requests.map(({ deliveryId }) => this.#outcome(fate, deliveryId));
  }

  #fate(requests: readonly Request[]): Fate {
    if (this.down) {
      this.callsWhileDown += 1;
      return 'down';
    }
    if (this.#exceeds(requests[0]?.message.place ?? '')) {
      this.tooMany += 1;
      return 'too many';
    }
    if (requests.some(({ message }) => message.text.includes('unwanted'))) return 'rejected';
    if (this.options.flaky && this.#world.random() < 0.3) return 'flaky';
    const roll = this.#world.random() / this.options.faults;
    if (roll < 0.25) return 'done, answer lost';
    if (roll < 0.4) return 'done, then refused';
    if (roll < 0.7) return 'answer lost';
    return roll < 1 ? 'failed' : 'done';
  }

  #exceeds(place: string): boolean {
    const { limit } = this.options;
    if (!limit) return false;
    const now = this.#world.clock.elapsed();
    const wholeAt = Math.max(this.#wholeAt.get(place) ?? 0, now);
    // One more than the connector's own burst: calls that start in time arrive closer together where one asked first.
    if (wholeAt - now > limit.burst * limit.perMs) return true;
    this.#wholeAt.set(place, wholeAt + limit.perMs);
    return false;
  }

  #outcome(fate: Fate, deliveryId: string): Outcome {
    if (fate === 'done') return { outcome: 'delivered', receipt: { deliveryId } };
    if (fate === 'down' || fate === 'flaky')
      return { outcome: 'retry', reason: 'network', detail: 'Refused.', sinkWide: true };
    if (fate === 'failed') return { outcome: 'retry', reason: 'server', detail: 'Failed.' };
    if (fate === 'too many')
      return { outcome: 'retry', reason: 'rate_limited', detail: 'Slow down.', retryAfterMs: 3000 };
    if (fate === 'rejected')
      return { outcome: 'rejected', reason: 'invalid', detail: 'No.', advice: 'Do not.' };
    this.unclear.set(deliveryId, (this.unclear.get(deliveryId) ?? 0) + 1);
    // As Slack's connector takes a 503, and the webhook's.
    if (fate === 'done, then refused' && !this.options.canBeAsked)
      return { outcome: 'retry', reason: 'server', detail: 'Failed, perhaps.', perhapsDone: true };
    return { outcome: 'unknown', reason: 'timeout', detail: 'No answer.' };
  }

  async #find(requests: readonly Request[]): Promise<Finding[]> {
    await this.#pause();
    const failed = {
      found: 'failed',
      failure: { outcome: 'retry', reason: 'network', detail: 'Refused.', sinkWide: true },
    } as const;
    if (this.down || this.#world.random() < this.options.faults / 3) return requests.map(() => failed);
    return requests.map(({ deliveryId }) => {
      const kept = this.kept.some((message) => message.deliveryId === deliveryId);
      return { found: kept ? { deliveryId } : null };
    });
  }

  #pause(): Promise<void> {
    const { clock, random } = this.#world;
    return new Promise((resolve) => clock.after(1 + random() * 300, resolve));
  }

  /** Half of the lost answers are broken connections, which show at once; the others show by their time-out. */
  async #untilAbort([first]: readonly Request[]): Promise<void> {
    if (!first || first.signal.aborted || this.#world.random() < 0.5) return;
    await new Promise((resolve) => first.signal.addEventListener('abort', resolve, { once: true }));
  }
}

type Fate =
  | 'done'
  | 'done, answer lost'
  | 'done, then refused'
  | 'answer lost'
  | 'failed'
  | 'flaky'
  | 'down'
  | 'too many'
  | 'rejected';
