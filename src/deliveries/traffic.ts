import type { SinkConfig } from '../config/config.ts';
import type { Usage } from '../connector.ts';
import type { Failure, Outcome } from '../model/outcomes.ts';
import {
  Breaker,
  longestBetweenProbesMs,
  type Pause,
  type SinkChange,
  type SinkHealth,
} from './limits/breaker.ts';
import { burstMs, RateLimiter, type Spent } from './limits/rates.ts';
import { type LaneKey, type Limits, Slots } from './limits/slots.ts';

/** Permission to start calls. Each has to be started or given back. */
export interface Permit {
  /** How many calls may start now. */
  readonly calls: number;
  /** The call tests whether a paused sink works again. */
  readonly probe: boolean;
  /** The call should take a delivery never attempted before: one that has failed may itself be at fault. */
  readonly untriedFirst: boolean;
}

/** A call in flight. */
export interface Ticket {
  readonly key: LaneKey;
  readonly probe: boolean;
  /** Whose rate limit it took from, and what; null if there is none. */
  readonly bucket: string;
  readonly spent: Spent | null;
  /** When the rate lets it begin (ms). */
  readonly startAt: number;
}

/** The outcome of one delivery of a call. */
export interface DeliveryOutcome {
  readonly deliveryId: string;
  readonly outcome: Outcome;
  /** Of a look-up that works, but is asked again. */
  readonly again?: true;
}

/**
 * A claim takes as many as a rate lets begin within so long, and each waits for its turn: one claim for each call would
 * make the store's round trip the rate.
 */
const aheadMs = 250;
/** The tool may have asked for a long delay since the claim. What is claimed is sent, or it would be `sending` for as long. */
const longestWaitMs = 1000;

/**
 * Decides how many calls may start: within the concurrency of each sink and the rate of each lane, and only a probe
 * while a sink is paused. Kept in memory. Times are on the scale of Clock.elapsed.
 */
export class Traffic {
  readonly #slots = new Slots();
  readonly #rates = new RateLimiter();
  readonly #breakers = new Map<string, Breaker>();
  /** The accounts that tools count calls for, by the name of the sink; known once it was used. */
  readonly #accounts = new Map<string, string>();
  /** When a sink's buckets were empty, by sink. */
  readonly #emptyAt = new Map<string, number>();
  /** By lane, what was permitted and has neither started nor been given back: the rate has to have room for it. */
  readonly #permitted = new Map<string, { readonly bucket: string; readonly calls: number }>();
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /**
   * Takes slots for calls in a lane that may start now, or in a moment (see Ticket). `sparing`: leaves as many to `reserve`
   * where it might use them.
   */
  permit(key: LaneKey, sink: SinkConfig | undefined, now: number, sparing = false): Permit {
    const breaker = this.#breaker(key.sink);
    const wanted = Math.min(breaker.allowance(now), this.#inRate(key, sink, now, aheadMs));
    const limits = limitsOf(sink);
    const most = sparing && !isOrdered(sink) ? Math.ceil(this.#slots.left(key, limits) / 2) : Infinity;
    const calls = this.#slots.take(key, limits, Math.min(wanted, most));
    this.#permit(key, calls, this.#bucketOf(key, sink));
    const probe = calls > 0 && breaker.take();
    return { calls, probe, untriedFirst: probe && !isOrdered(sink) };
  }

  /**
   * Takes a slot for a call that may start at once; null where it has to wait, or would be a probe. To be ended by `ended`.
   * Only where the order of calls does not matter: in an ordered lane something may wait that nobody has looked for yet.
   */
  reserve(key: LaneKey, sink: SinkConfig, now: number): Ticket | null {
    if (isOrdered(sink) || this.#breaker(key.sink).pause !== null) return null;
    if (this.#inRate(key, sink, now) < 1 || this.#slots.take(key, limitsOf(sink), 1) === 0) return null;
    return this.#ticket(key, sink, now, false);
  }

  #inRate(key: LaneKey, sink: SinkConfig | undefined, now: number, withinMs = 0): number {
    const bucket = this.#bucketOf(key, sink);
    const emptyAt = this.#emptyAt.get(key.sink);
    if (emptyAt !== undefined && sink?.pace) this.#rates.wasEmpty(bucket, sink.pace, emptyAt);
    let taken = 0;
    for (const permitted of this.#permitted.values())
      if (permitted.bucket === bucket) taken += permitted.calls;
    return this.#rates.allowance(bucket, sink?.pace ?? null, now, withinMs) - taken;
  }

  /** So many more; or, where it is below 0, fewer. */
  #permit({ lane }: LaneKey, more: number, bucket?: string): void {
    const known = this.#permitted.get(lane);
    const calls = (known?.calls ?? 0) + more;
    const of = bucket ?? known?.bucket;
    if (of !== undefined && calls > 0) this.#permitted.set(lane, { bucket: of, calls });
    else this.#permitted.delete(lane);
  }

  /** Resolves when no slot is taken: of this sink, or of any. To be called when no more are asked for. */
  idle(sink: string | null = null): Promise<void> {
    return this.#slots.idle(sink);
  }

  /** When to ask for a permit again (ms); Infinity if a call has to end first. */
  askAgainAt(key: LaneKey, sink: SinkConfig | undefined, now: number): number {
    const breaker = this.#breaker(key.sink);
    if (this.#slots.isFull(key, limitsOf(sink))) return Infinity;
    const readyAt = this.#rates.readyAt(this.#bucketOf(key, sink), sink?.pace ?? null, now);
    return Math.max(breaker.allowsAt(now), readyAt);
  }

  /** Gives back permits that were not used. */
  giveBack(key: LaneKey, calls: number, probe: boolean): void {
    this.#slots.free(key, calls);
    this.#permit(key, -calls);
    if (probe && calls > 0) this.#breaker(key.sink).giveBackProbe();
  }

  started(key: LaneKey, sink: SinkConfig | undefined, now: number, probe: boolean): Ticket {
    this.#permit(key, -1);
    return this.#ticket(key, sink, now, probe);
  }

  #ticket(key: LaneKey, sink: SinkConfig | undefined, now: number, probe: boolean): Ticket {
    const bucket = this.#bucketOf(key, sink);
    const spent = sink?.pace ? this.#rates.spend(bucket, sink.pace, now, 1) : null;
    const turn = spent && sink?.pace ? spent.before - burstMs(sink.pace) : now;
    return { key, probe, bucket, spent, startAt: Math.min(Math.max(now, turn), now + longestWaitMs) };
  }

  /**
   * Frees the call's slot and learns from its outcomes. Returns whether they paused or resumed the sink. `ended` has the
   * deliveries for which the tool was called; it may be empty.
   */
  ended(
    { key, probe, bucket: taken, spent }: Ticket,
    ended: readonly DeliveryOutcome[],
    sink: SinkConfig | undefined,
    now: number,
    usage: Usage | null = null,
  ): SinkChange | null {
    this.#slots.free(key, 1);
    if (usage) this.#accounts.set(key.sink, usage.account);
    const bucket = this.#bucketOf(key, sink);
    if ((ended.length === 0 || usage?.calls === 0) && spent) this.#rates.refund(taken, spent, now);
    const owed = (usage?.calls ?? 0) - (bucket === taken ? 1 : 0);
    if (sink?.pace && owed > 0) this.#rates.spend(bucket, sink.pace, now, owed);
    for (const { outcome } of ended) this.#holdLane(outcome, bucket, sink, now);
    const { health, failure } = verdictOn(ended.map(({ outcome }) => outcome));
    return this.#breaker(key.sink).ended(health, {
      deliveryId: ended[0]?.deliveryId ?? '',
      probe,
      now,
      failure,
      policy: sink?.retry ?? { minDelayMs: 0, maxDelayMs: 0 },
      random: this.#random,
    });
  }

  /** A person asks for it: a paused sink may be probed at once, and no lane waits for as long as the tool wanted. */
  tryNow(sink: string, now: number): void {
    this.#breakers.get(sink)?.probeNow(now);
    const account = `account ${this.#accounts.get(sink)}`;
    const isMeant = (lane: string) => lane === sink || lane.startsWith(`${sink} `) || lane === account;
    this.#rates.release(isMeant, now);
  }

  /** Whether a paused sink may be asked now. `again`: also if it has answered since its last attempt. */
  mayAsk(sink: string, again: boolean, now: number): boolean {
    const breaker = this.#breaker(sink);
    return breaker.pause !== null && (again || !breaker.answered) && breaker.allowsAt(now) <= now;
  }

  /** A paused sink is asked in place of a probe. To be ended by `endAsking`, after `asked`. */
  beginAsking(sink: string): void {
    this.#breaker(sink).take();
    this.#slots.add({ sink, lane: sink }, 1);
  }

  endAsking(sink: string): void {
    this.#slots.free({ sink, lane: sink }, 1);
  }

  /** `fault`: what the tool said; null if it answered well. */
  asked({ name, retry }: SinkConfig, fault: string | null, now: number): void {
    const breaker = this.#breaker(name);
    // The cause of the pause is still the same one, as far as anybody knows.
    const reason = breaker.pause?.because?.reason ?? 'unexpected';
    const asked = { deliveryId: '', probe: true, now, policy: retry, random: this.#random };
    breaker.asked(fault === null ? null : { reason, detail: fault }, asked);
  }

  get isAnyPaused(): boolean {
    return this.#breakers.values().some(({ pause }) => pause !== null);
  }

  /** Paused sinks. */
  pauses(): Map<string, Pause> {
    return new Map([...this.#breakers].flatMap(([sink, { pause }]) => (pause ? [[sink, pause]] : [])));
  }

  /** Restores a pause from before a restart. */
  restore(sink: string, pause: Pause): void {
    this.#breakers.set(sink, new Breaker(pause));
  }

  /** Lets a sink's lanes begin with empty buckets. */
  withoutBurst(sink: string, now: number): void {
    this.#emptyAt.set(sink, now);
  }

  /** What is known of a sink, but for the calls in flight. */
  forget(sink: string): void {
    this.#breakers.delete(sink);
  }

  /** Forgets idle lanes, and sinks that left the config. */
  tidy(sinks: ReadonlyMap<string, SinkConfig>, now: number): void {
    this.#rates.forget(now);
    for (const bySink of [this.#breakers, this.#accounts]) {
      for (const sink of bySink.keys()) if (!sinks.has(sink)) bySink.delete(sink);
    }
  }

  /** What shares a rate limit: the sinks of an account, by default, and else a lane. */
  #bucketOf({ sink, lane }: LaneKey, config: SinkConfig | undefined): string {
    const isDefault = config?.pace === config?.connector.defaults.pace;
    const account = isDefault ? this.#accounts.get(sink) : undefined;
    return account === undefined ? lane : `account ${account}`;
  }

  /**
   * A tool that asks for a delay means the whole lane. The message itself waits for all of it. The lane waits no longer
   * than between two probes, so that one odd answer cannot silence it for a day.
   */
  #holdLane(outcome: Outcome, lane: string, sink: SinkConfig | undefined, now: number): void {
    if (outcome.outcome !== 'retry' || outcome.reason !== 'rate_limited' || !sink) return;
    const requestedMs = outcome.retryAfterMs ?? sink.pace?.perMs ?? sink.retry.minDelayMs;
    this.#rates.hold(lane, sink.pace, now + Math.min(requestedMs, longestBetweenProbesMs));
  }

  #breaker(sink: string): Breaker {
    return this.#breakers.getOrInsertComputed(sink, () => new Breaker());
  }
}

/**
 * Calls in one lane (a channel, say) go one after the other, so that people read messages in order. So do batches,
 * which would otherwise overtake each other.
 */
function limitsOf(sink: SinkConfig | undefined): Limits {
  const concurrency = sink?.concurrency ?? 1;
  return { sink: concurrency, lane: isOrdered(sink) ? 1 : concurrency };
}

function isOrdered(sink: SinkConfig | undefined): boolean {
  return sink?.connector.lane !== undefined || sink?.connector.batch !== undefined;
}

type FailedOutcome = Extract<Outcome, { readonly outcome: 'retry' | 'unknown' }>;

const isOfSink = (outcome: Outcome): outcome is FailedOutcome =>
  outcome.outcome === 'unknown' || (outcome.outcome === 'retry' && outcome.sinkWide === true);

const isPerhapsOfSink = (outcome: Outcome): outcome is FailedOutcome =>
  outcome.outcome === 'retry' && (outcome.sinkWide === 'perhaps' || outcome.reason === 'rate_limited');

/** What a call's outcomes say about its sink, and the last failure that may be the sink's. One success proves that it works. */
function verdictOn(outcomes: readonly Outcome[]): { health: SinkHealth; failure: Failure | null } {
  const certain = outcomes.findLast(isOfSink);
  const last = certain ?? outcomes.findLast(isPerhapsOfSink);
  const failure = last ? { reason: last.reason, detail: last.detail } : null;
  if (outcomes.some(({ outcome }) => outcome === 'delivered')) return { health: 'works', failure };
  return { health: certain ? 'fails' : last ? 'fails perhaps' : 'inconclusive', failure };
}
