import type { SinkConfig } from '../config/config.ts';
import type { PaceLimit, Usage } from '../connector.ts';
import type { Failure, Outcome } from '../model.ts';
import { Breaker, longestBetweenProbesMs, type Pause, type SinkChange, type SinkHealth } from './breaker.ts';

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
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Takes slots for calls in a lane that may start now, or in a moment (see Ticket). */
  permit(key: LaneKey, sink: SinkConfig | undefined, now: number): Permit {
    const breaker = this.#breaker(key.sink);
    const bucket = this.#bucketOf(key, sink);
    const emptyAt = this.#emptyAt.get(key.sink);
    if (emptyAt !== undefined && sink?.pace) this.#rates.wasEmpty(bucket, sink.pace, emptyAt);
    const inRate = this.#rates.allowance(bucket, sink?.pace ?? null, now, aheadMs);
    const wanted = Math.min(breaker.allowance(now), inRate);
    const calls = this.#slots.take(key, limitsOf(sink), wanted);
    const probe = calls > 0 && breaker.take();
    return { calls, probe, untriedFirst: probe && !isOrdered(sink) };
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
    if (probe && calls > 0) this.#breaker(key.sink).giveBackProbe();
  }

  started(key: LaneKey, sink: SinkConfig | undefined, now: number, probe: boolean): Ticket {
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
    if (ended.length === 0 && spent) this.#rates.refund(taken, spent);
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

  /** A paused sink is asked in place of a probe. To be ended by `asked`. */
  beginAsking(sink: string): void {
    this.#breaker(sink).take();
  }

  /** `fault`: what the tool said; null if it answered well. */
  asked({ name, retry }: SinkConfig, fault: string | null, now: number): void {
    const breaker = this.#breaker(name);
    // The cause of the pause is still the same one, as far as anybody knows.
    const reason = breaker.pause?.because?.reason ?? 'unexpected';
    const asked = { deliveryId: '', probe: true, now, policy: retry, random: this.#random };
    breaker.asked(fault === null ? null : { reason, detail: fault }, asked);
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

/**
 * Counts the calls in flight, by sink and by lane. Slots are taken before a claim, and unused ones given back after it,
 * so that concurrent claims cannot exceed a limit.
 */
export class Slots {
  readonly #sinks = new Map<string, number>();
  readonly #lanes = new Map<string, number>();

  /** Takes up to `wanted` slots within both limits. Returns how many. */
  take(key: LaneKey, limits: Limits, wanted: number): number {
    const count = Math.min(wanted, this.#left(key, limits));
    if (count <= 0) return 0;
    add(this.#sinks, key.sink, count);
    add(this.#lanes, key.lane, count);
    return count;
  }

  isFull(key: LaneKey, limits: Limits): boolean {
    return this.#left(key, limits) <= 0;
  }

  free(key: LaneKey, count: number): void {
    if (count === 0) return;
    add(this.#sinks, key.sink, -count);
    add(this.#lanes, key.lane, -count);
  }

  #left({ sink, lane }: LaneKey, limits: Limits): number {
    return Math.min(limits.sink - (this.#sinks.get(sink) ?? 0), limits.lane - (this.#lanes.get(lane) ?? 0));
  }
}

export interface LaneKey {
  readonly sink: string;
  readonly lane: string;
}

/** The most calls in flight. */
export interface Limits {
  readonly sink: number;
  readonly lane: number;
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  // Channels come and go: an unused lane must not stay in memory.
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

/**
 * A token bucket for each lane, as the generic cell rate algorithm: one number per lane. It also holds a lane back when
 * the tool asks for it. After a restart each bucket is full again. Times are on the scale of Clock.elapsed.
 */
export class RateLimiter {
  /** When a lane's bucket would be full again (ms), at which interval. */
  readonly #full = new Map<string, { readonly at: number; readonly intervalMs: number }>();
  /** Until when the tool wants no calls in a lane (ms). */
  readonly #heldUntil = new Map<string, number>();

  /** How many calls may start within the next `withinMs`; 0 if none may now. */
  allowance(lane: string, limit: PaceLimit | null, now: number, withinMs = 0): number {
    if (this.#heldMs(lane, now) > 0) return 0;
    if (!limit) return Infinity;
    const owedMs = this.#owedMs(lane, limit, now);
    if (owedMs > burstMs(limit)) return 0;
    return Math.max(1, Math.floor(limit.burst - (owedMs - withinMs) / intervalMs(limit)));
  }

  /** When the next call may start (ms). */
  readyAt(lane: string, limit: PaceLimit | null, now: number): number {
    const heldUntil = now + this.#heldMs(lane, now);
    if (!limit) return heldUntil;
    return Math.max(heldUntil, Math.ceil(now + this.#owedMs(lane, limit, now) - burstMs(limit)));
  }

  /** Takes `count` tokens. */
  spend(lane: string, limit: PaceLimit, now: number, count: number): Spent {
    const before = now + this.#owedMs(lane, limit, now);
    const after = before + count * intervalMs(limit);
    this.#full.set(lane, { at: after, intervalMs: intervalMs(limit) });
    return { before, after };
  }

  /** Returns tokens, unless others were taken or the lane was held since. */
  refund(lane: string, { before, after }: Spent): void {
    const full = this.#full.get(lane);
    if (full?.at === after) this.#full.set(lane, { ...full, at: before });
  }

  /** Lets nothing start before `time`, and then no burst. */
  hold(lane: string, limit: PaceLimit | null, time: number): void {
    this.#heldUntil.set(lane, Math.max(this.#heldUntil.get(lane) ?? 0, time));
    if (!limit) return;
    const at = Math.max(this.#full.get(lane)?.at ?? 0, time + burstMs(limit));
    this.#full.set(lane, { at, intervalMs: intervalMs(limit) });
  }

  /** Ends what `hold` began: one call may start. */
  release(isMeant: (lane: string) => boolean, now: number): void {
    for (const lane of [...this.#heldUntil.keys()].filter(isMeant)) {
      const full = this.#full.get(lane);
      if (full) this.#full.set(lane, { ...full, at: full.at - this.#heldMs(lane, now) });
      this.#heldUntil.delete(lane);
    }
  }

  /** The bucket was empty at `time`. */
  wasEmpty(lane: string, limit: PaceLimit, time: number): void {
    const at = Math.max(this.#full.get(lane)?.at ?? 0, time + limit.burst * intervalMs(limit));
    this.#full.set(lane, { at, intervalMs: intervalMs(limit) });
  }

  /**
   * How long until the bucket is full. More than a bucketful may be owed, where a call counted for several. What was owed at
   * another rate, from before a reload, does not count.
   */
  #owedMs(lane: string, limit: PaceLimit, now: number): number {
    const full = this.#full.get(lane);
    return full?.intervalMs === intervalMs(limit) ? Math.max(0, full.at - now) : 0;
  }

  #heldMs(lane: string, now: number): number {
    return Math.max(0, (this.#heldUntil.get(lane) ?? 0) - now);
  }

  /** Forgets lanes whose bucket is full. */
  forget(now: number): void {
    for (const [lane, { at }] of this.#full) if (at <= now) this.#full.delete(lane);
    for (const [lane, time] of this.#heldUntil) if (time <= now) this.#heldUntil.delete(lane);
  }
}

/** When the bucket would be full (ms), before and after tokens were taken. */
export interface Spent {
  readonly before: number;
  readonly after: number;
}

const intervalMs = ({ count, perMs }: PaceLimit): number => perMs / count;

/** How far from full the bucket may be for a call to start. */
const burstMs = (limit: PaceLimit): number => (limit.burst - 1) * intervalMs(limit);
