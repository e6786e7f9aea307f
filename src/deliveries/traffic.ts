import type { SinkConfig } from '../config/config.ts';
import type { PaceLimit } from '../connector.ts';
import type { Outcome } from '../model.ts';
import { Breaker, longestBetweenProbesMs, type Pause, type SinkChange, type SinkHealth } from './breaker.ts';

/** Permission to start calls, each of which has to be started or given back. */
export interface Permit {
  /** How many calls may start now; 0 if none. */
  readonly calls: number;
  /** The one call is there to find out whether a paused sink works again. */
  readonly probe: boolean;
  /** It had better try what was never attempted: what has failed before may itself be at fault. */
  readonly untriedFirst: boolean;
}

/** A call under way. */
export interface Ticket {
  readonly place: Place;
  readonly probe: boolean;
  /** What it took of its lane's allowance; null where there is no pace. */
  readonly spent: Spent | null;
}

/** What became of one delivery of a call. */
export interface Ended {
  readonly deliveryId: string;
  readonly outcome: Outcome;
}

/**
 * Decides how many calls may start: within each sink's places, each lane's pace, and nothing but a probe while a sink
 * is paused. In memory; time (Clock.elapsed's) and randomness are parameters.
 */
export class Traffic {
  readonly #occupancy = new Occupancy();
  readonly #pace = new Pace();
  readonly #breakers = new Map<string, Breaker>();
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Takes places for calls in a lane. */
  permit(place: Place, sink: SinkConfig | undefined, now: number): Permit {
    const breaker = this.#breaker(place.sink);
    const inPace = this.#pace.allowance(place.lane, sink?.pace ?? null, now);
    const wanted = Math.min(breaker.allowance(now), inPace);
    const calls = this.#occupancy.take(place, limitsOf(sink, breaker.width), wanted);
    const probe = calls > 0 && breaker.take();
    return { calls, probe, untriedFirst: probe && !isOrdered(sink) };
  }

  /** When it is worth asking again (ms), where time alone will help; Infinity where a call has to end first. */
  askAgainAt(place: Place, sink: SinkConfig | undefined, now: number): number {
    const breaker = this.#breaker(place.sink);
    if (this.#occupancy.isFull(place, limitsOf(sink, breaker.width))) return Infinity;
    const readyAt = this.#pace.readyAt(place.lane, sink?.pace ?? null, now);
    return Math.max(breaker.waitsUntil(now), readyAt);
  }

  /** Gives back permits that found nothing to do. */
  giveBack(place: Place, calls: number, probe: boolean): void {
    this.#occupancy.free(place, calls);
    if (probe && calls > 0) this.#breaker(place.sink).giveBackProbe();
  }

  started(place: Place, sink: SinkConfig | undefined, now: number, probe: boolean): Ticket {
    const spent = sink?.pace ? this.#pace.spend(place.lane, sink.pace, now, 1) : null;
    return { place, probe, spent };
  }

  /**
   * Frees the call's place and learns from its outcomes; tells if its sink was paused or resumed by them. `ended`: what
   * the tool was asked about; nothing of a call that came to nothing.
   */
  ended(
    { place, probe, spent }: Ticket,
    ended: readonly Ended[],
    sink: SinkConfig | undefined,
    now: number,
  ): SinkChange | null {
    this.#occupancy.free(place, 1);
    if (ended.length === 0 && spent) this.#pace.giveBack(place.lane, spent);
    for (const { outcome } of ended) this.#obey(outcome, place.lane, sink, now);
    return this.#breaker(place.sink).ended(healthOf(ended.map(({ outcome }) => outcome)), {
      deliveryId: ended[0]?.deliveryId ?? '',
      probe,
      now,
      policy: sink?.retry ?? { minDelayMs: 0, maxDelayMs: 0 },
      random: this.#random,
    });
  }

  /** The sinks that are paused. */
  pauses(): Map<string, Pause> {
    return new Map([...this.#breakers].flatMap(([sink, { pause }]) => (pause ? [[sink, pause]] : [])));
  }

  /** Goes on with a pause from an earlier life of the process. */
  restore(sink: string, pause: Pause): void {
    this.#breakers.set(sink, new Breaker(pause));
  }

  /** Drops what is not needed any more: channels come and go, and what waits for a sink that went has nothing to wait for. */
  tidy(sinks: ReadonlyMap<string, SinkConfig>, now: number): void {
    this.#pace.forget(now);
    for (const sink of this.#breakers.keys()) if (!sinks.has(sink)) this.#breakers.delete(sink);
  }

  /**
   * A tool that says "not before" means the lane and not only this message. The message obeys it to the letter; of the
   * lane another one asks again when a pause would have probed, so that one odd answer cannot silence it for a day.
   */
  #obey(outcome: Outcome, lane: string, sink: SinkConfig | undefined, now: number): void {
    if (outcome.outcome !== 'retry' || outcome.reason !== 'rate_limited' || !sink) return;
    const statedMs = outcome.retryAfterMs ?? sink.pace?.perMs ?? sink.retry.minDelayMs;
    this.#pace.hold(lane, sink.pace, now + Math.min(statedMs, longestBetweenProbesMs));
  }

  #breaker(sink: string): Breaker {
    let breaker = this.#breakers.get(sink);
    if (!breaker) {
      breaker = new Breaker();
      this.#breakers.set(sink, breaker);
    }
    return breaker;
  }
}

/**
 * Deliveries to one place (a Slack channel, say) go one after the other, so that people read them in order; so do
 * batches, which would otherwise overtake each other.
 */
function limitsOf(sink: SinkConfig | undefined, width: number): Limits {
  const concurrency = Math.min(sink?.concurrency ?? 1, width);
  return { sink: concurrency, lane: isOrdered(sink) ? 1 : concurrency };
}

function isOrdered(sink: SinkConfig | undefined): boolean {
  return sink?.connector.lane !== undefined || sink?.connector.batch !== undefined;
}

/** What a call's outcomes say of its sink. One success says that it works, whatever became of the others. */
function healthOf(outcomes: readonly Outcome[]): SinkHealth {
  if (outcomes.some(({ outcome }) => outcome === 'delivered')) return 'works';
  if (outcomes.some(concernsSink)) return 'fails';
  return outcomes.some(mayConcernSink) ? 'fails perhaps' : 'unsaid';
}

function concernsSink(outcome: Outcome): boolean {
  return outcome.outcome === 'unknown' || (outcome.outcome === 'retry' && outcome.sinkWide === true);
}

function mayConcernSink(outcome: Outcome): boolean {
  if (outcome.outcome !== 'retry') return false;
  return outcome.sinkWide === 'perhaps' || outcome.reason === 'rate_limited';
}

/**
 * Counts the attempts under way, in each sink and in each lane. Takes places before a claim and gives back what the
 * claim did not fill, so that two claims at once cannot overfill a sink.
 */
export class Occupancy {
  readonly #sinks = new Map<string, number>();
  readonly #lanes = new Map<string, number>();

  /** Takes up to `wanted` of the places that both limits leave; returns how many. */
  take(place: Place, limits: Limits, wanted: number): number {
    const room = Math.min(wanted, this.#room(place, limits));
    if (room <= 0) return 0;
    add(this.#sinks, place.sink, room);
    add(this.#lanes, place.lane, room);
    return room;
  }

  isFull(place: Place, limits: Limits): boolean {
    return this.#room(place, limits) <= 0;
  }

  free(place: Place, count: number): void {
    if (count === 0) return;
    add(this.#sinks, place.sink, -count);
    add(this.#lanes, place.lane, -count);
  }

  #room({ sink, lane }: Place, limits: Limits): number {
    return Math.min(limits.sink - (this.#sinks.get(sink) ?? 0), limits.lane - (this.#lanes.get(lane) ?? 0));
  }
}

export interface Place {
  readonly sink: string;
  readonly lane: string;
}

/** How many may be under way at once. */
export interface Limits {
  readonly sink: number;
  readonly lane: number;
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  // Lanes come and go with channels, so an empty one must not stay in memory.
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

/**
 * Keeps lanes to their rates, in memory (the generic cell rate algorithm: one number per lane), and holds them where the
 * tool asks for it. After a restart they begin anew: each may start with its burst, and the tool says again when it is
 * too fast. Times are Clock.elapsed's.
 */
export class Pace {
  /** When a lane's allowance would be whole again, by lane (ms). */
  readonly #wholeAt = new Map<string, number>();
  /** Until when the tool wants nothing, by lane (ms). */
  readonly #heldUntil = new Map<string, number>();

  /** How many may start now. */
  allowance(lane: string, limit: PaceLimit | null, now: number): number {
    if (this.#heldMs(lane, now) > 0) return 0;
    if (!limit) return Infinity;
    return Math.max(0, Math.floor(limit.burst - this.#owedMs(lane, limit, now) / intervalMs(limit)));
  }

  /** When the next one may start (ms). */
  readyAt(lane: string, limit: PaceLimit | null, now: number): number {
    const heldUntil = now + this.#heldMs(lane, now);
    if (!limit) return heldUntil;
    return Math.max(heldUntil, Math.ceil(now + this.#owedMs(lane, limit, now) - spareMs(limit)));
  }

  /** Counts `count` as started now. */
  spend(lane: string, limit: PaceLimit, now: number, count: number): Spent {
    const before = now + this.#owedMs(lane, limit, now);
    const after = before + count * intervalMs(limit);
    this.#wholeAt.set(lane, after);
    return { before, after };
  }

  /** Takes back what asked nothing of the tool, unless something else was counted or held in the lane since. */
  giveBack(lane: string, { before, after }: Spent): void {
    if (this.#wholeAt.get(lane) === after) this.#wholeAt.set(lane, before);
  }

  /** Lets nothing start before `time`, as the tool asked, and no burst then. */
  hold(lane: string, limit: PaceLimit | null, time: number): void {
    raise(this.#heldUntil, lane, time);
    if (limit) raise(this.#wholeAt, lane, time + spareMs(limit));
  }

  /** How long until the allowance is whole. Where a slower limit held before, from now on no longer than for an empty one. */
  #owedMs(lane: string, limit: PaceLimit, now: number): number {
    const owedMs = Math.max(0, (this.#wholeAt.get(lane) ?? 0) - now);
    const mostMs = this.#heldMs(lane, now) + limit.burst * intervalMs(limit);
    if (owedMs <= mostMs) return owedMs;
    this.#wholeAt.set(lane, now + mostMs);
    return mostMs;
  }

  #heldMs(lane: string, now: number): number {
    return Math.max(0, (this.#heldUntil.get(lane) ?? 0) - now);
  }

  /** Drops lanes whose allowance is whole; channels come and go. */
  forget(now: number): void {
    for (const times of [this.#wholeAt, this.#heldUntil]) {
      for (const [lane, time] of times) if (time <= now) times.delete(lane);
    }
  }
}

/** When the allowance would be whole (ms), before and after something was counted. */
export interface Spent {
  readonly before: number;
  readonly after: number;
}

const intervalMs = ({ count, perMs }: PaceLimit): number => perMs / count;

/** How far from whole an allowance may be for one to start. */
const spareMs = (limit: PaceLimit): number => (limit.burst - 1) * intervalMs(limit);

function raise(times: Map<string, number>, lane: string, time: number): void {
  times.set(lane, Math.max(times.get(lane) ?? 0, time));
}
