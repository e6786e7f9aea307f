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
import { burstMs, type Lookahead, noLookahead, RateLimiter, type Spent } from './limits/rates.ts';
import { type LaneKey, type Limits, Slots } from './limits/slots.ts';

/** Permission to start calls. Each has to be started or given back. */
export interface Permit {
  /** How many calls may start now. */
  readonly calls: number;
  /** Whether the call tests if a paused sink works again. */
  readonly probe: boolean;
  /** Whether to take a delivery that was never attempted: one that has failed may itself be at fault. */
  readonly untriedFirst: boolean;
}

/** A call under way. */
export interface Ticket {
  readonly key: LaneKey;
  readonly probe: boolean;
  /** The bucket of its rate limit, and what it took from it; null if there is no limit. */
  readonly bucket: string;
  readonly spent: Spent | null;
  /** When the rate lets it begin (ms). */
  readonly startAt: number;
}

/** The outcome of one delivery of a call. */
export interface DeliveryOutcome {
  readonly deliveryId: string;
  readonly outcome: Outcome;
  /** A look-up that was answered, and is asked again. */
  readonly again?: true;
}

/**
 * A claim takes as many deliveries as may begin within this time, and each waits for its turn. With one claim for each call,
 * the store's round trips would limit the rate.
 */
const aheadMs = 500;
/** How long before the next turn to claim again, as that takes its time. */
const leadMs = 250;
/** The longest wait for a turn. A claimed delivery must not stay `sending` for as long as the tool asks for since. */
const longestWaitMs = 1000;

/**
 * Decides how many calls may start, within the concurrency of each sink and the rate of each lane; only a probe while a sink
 * is paused. Kept in memory. Times are on the scale of Clock.elapsed.
 */
export class Traffic {
  readonly #slots = new Slots();
  readonly #rates = new RateLimiter();
  readonly #breakers = new Map<string, Breaker>();
  /** The accounts that tools count calls for, by the name of the sink; known once the sink was used. */
  readonly #accounts = new Map<string, string>();
  /** When a sink's buckets were empty, by sink. */
  readonly #emptyAt = new Map<string, number>();
  /** By lane, the calls that were permitted and neither started nor given back: the rate has to have room for them. */
  readonly #permitted = new Map<string, { readonly bucket: string; readonly calls: number }>();
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /**
   * Takes slots for calls in a lane that may start now, or soon (see Ticket). `sparing`: leaves half of them to
   * `reserve`.
   */
  permit(key: LaneKey, sink: SinkConfig | undefined, now: number, sparing = false): Permit {
    const breaker = this.#breaker(key.sink);
    const wanted = Math.min(breaker.allowance(now), this.#inRate(key, sink, now, { aheadMs, leadMs }));
    const limits = limitsOf(sink);
    const most = sparing && !isOrdered(sink) ? Math.ceil(this.#slots.left(key, limits) / 2) : Infinity;
    const calls = this.#slots.take(key, limits, Math.min(wanted, most));
    this.#permit(key, calls, this.#bucketOf(key, sink));
    const probe = calls > 0 && breaker.take();
    return { calls, probe, untriedFirst: probe && !isOrdered(sink) };
  }

  /**
   * Takes a slot for a call that may start at once, to be ended by `ended`. Null if it has to wait, would be a probe, or if
   * the lane is ordered: an earlier delivery may wait there that the worker has not seen.
   */
  reserve(key: LaneKey, sink: SinkConfig, now: number): Ticket | null {
    if (isOrdered(sink) || this.#breaker(key.sink).pause !== null) return null;
    if (this.#inRate(key, sink, now) < 1 || this.#slots.take(key, limitsOf(sink), 1) === 0) return null;
    return this.#ticket(key, sink, now, false);
  }

  #inRate(key: LaneKey, sink: SinkConfig | undefined, now: number, ahead: Lookahead = noLookahead): number {
    const bucket = this.#bucketOf(key, sink);
    const emptyAt = this.#emptyAt.get(key.sink);
    if (emptyAt !== undefined && sink?.pace) this.#rates.wasEmpty(bucket, sink.pace, emptyAt);
    let taken = 0;
    for (const permitted of this.#permitted.values())
      if (permitted.bucket === bucket) taken += permitted.calls;
    return this.#rates.allowance(bucket, sink?.pace ?? null, now, ahead) - taken;
  }

  /** Adds to the permitted calls of a lane; takes off, where `more` is below 0. */
  #permit({ lane }: LaneKey, more: number, bucket?: string): void {
    const known = this.#permitted.get(lane);
    const calls = (known?.calls ?? 0) + more;
    const of = bucket ?? known?.bucket;
    if (of !== undefined && calls > 0) this.#permitted.set(lane, { bucket: of, calls });
    else this.#permitted.delete(lane);
  }

  /** Resolves when no slot of this sink, or of any, is taken. Call it when no more slots are asked for. */
  idle(sink: string | null = null): Promise<void> {
    return this.#slots.idle(sink);
  }

  /** When to ask for a permit again (ms); Infinity if a call has to end first. */
  askAgainAt(key: LaneKey, sink: SinkConfig | undefined, now: number): number {
    const breaker = this.#breaker(key.sink);
    if (this.#slots.left(key, limitsOf(sink)) <= 0) return Infinity;
    const readyAt = this.#rates.readyAt(this.#bucketOf(key, sink), sink?.pace ?? null, now, leadMs);
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
   * Frees a call's slot and learns from its outcomes: those of the deliveries for which the tool was called, perhaps none.
   * Returns whether they paused or resumed the sink.
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

  /** Lets a paused sink be probed at once, and ends the waits that the tool asked for, as a person wants to try it. */
  tryNow(sink: string, now: number): void {
    this.#breakers.get(sink)?.probeNow(now);
    const account = `account ${this.#accounts.get(sink)}`;
    const isMeant = (lane: string) => lane === sink || lane.startsWith(`${sink} `) || lane === account;
    this.#rates.release(isMeant, now);
  }

  /** Whether a paused sink may be asked now. `again`: even if it has answered well since its last attempt. */
  mayAsk(sink: string, again: boolean, now: number): boolean {
    const breaker = this.#breaker(sink);
    return breaker.pause !== null && (again || !breaker.answered) && breaker.allowsAt(now) <= now;
  }

  /** Begins asking a paused sink, in place of a probe. Ended by `endAsking`, after `asked`. */
  beginAsking(sink: string): void {
    this.#breaker(sink).take();
    this.#slots.add({ sink, lane: sink }, 1);
  }

  endAsking(sink: string): void {
    this.#slots.free({ sink, lane: sink }, 1);
  }

  /** Learns from the answer. `fault`: what is wrong; null if the tool answered well. */
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

  /** Lets all lanes of a sink begin with empty buckets. */
  withoutBurst(sink: string, now: number): void {
    this.#emptyAt.set(sink, now);
  }

  /** Forgets what is known of a sink, but for the calls under way. */
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

  /** The bucket of a call: the tool's account, if the sink has the default rate limit; else the lane. */
  #bucketOf({ sink, lane }: LaneKey, config: SinkConfig | undefined): string {
    const isDefault = config?.pace === config?.connector.defaults.pace;
    const account = isDefault ? this.#accounts.get(sink) : undefined;
    return account === undefined ? lane : `account ${account}`;
  }

  /**
   * Holds back a whole lane when the tool asks for a delay; no longer than between two probes, so that one odd answer cannot
   * silence it for a day. The message itself waits for all of the delay.
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
 * The most calls at the same time. In a lane, such as a channel, calls go one after the other, so that people read messages
 * in order. So do batches, which would otherwise overtake each other.
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

/**
 * What the outcomes of a call say about its sink, and the last failure that may be the sink's. One success proves that
 * it works.
 */
function verdictOn(outcomes: readonly Outcome[]): { health: SinkHealth; failure: Failure | null } {
  const certain = outcomes.findLast(isOfSink);
  const last = certain ?? outcomes.findLast(isPerhapsOfSink);
  const failure = last ? { reason: last.reason, detail: last.detail } : null;
  if (outcomes.some(({ outcome }) => outcome === 'delivered')) return { health: 'works', failure };
  return { health: certain ? 'fails' : last ? 'fails perhaps' : 'inconclusive', failure };
}
