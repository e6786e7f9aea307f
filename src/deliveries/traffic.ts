import type { SinkConfig } from '../config/config.ts';
import type { Outcome } from '../model.ts';
import { Breaker, longestBetweenProbesMs, type Pause, type SinkChange, type SinkHealth } from './breaker.ts';
import { Occupancy, type Limits, type Place } from './occupancy.ts';
import { Pace, type Spent } from './pace.ts';

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
