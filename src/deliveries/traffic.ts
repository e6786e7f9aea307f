import type { SinkConfig } from '../config/config.ts';
import type { Outcome } from '../model.ts';
import { Breaker, type SinkHealth } from './breaker.ts';
import { Occupancy, type Place } from './occupancy.ts';
import { Pace } from './pace.ts';

/** Permission to start calls, and what has to be given back when they end. */
export interface Permit {
  /** How many calls may start now; 0 if none. */
  readonly calls: number;
  /** When it is worth asking again (ms), where time alone will help; Infinity where a call has to end first. */
  readonly askAgainAt: number;
  /** The one call is there to find out whether a paused sink works again. */
  readonly probe: boolean;
}

/** A call under way. */
export interface Ticket {
  readonly place: Place;
  readonly probe: boolean;
}

export type SinkChange = 'paused' | 'resumed';

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

  /** Takes places for calls in a lane. Each has to be started or given back. */
  permit(place: Place, sink: SinkConfig | undefined, now: number): Permit {
    const breaker = this.#breaker(place.sink);
    const limit = sink?.pace ?? null;
    const allowed = Math.min(breaker.allowance(now), this.#pace.allowance(place.lane, limit, now));
    const calls = this.#occupancy.take(place, limitsOf(sink), allowed);
    const readyAt = Math.max(breaker.waitsUntil(now), this.#pace.readyAt(place.lane, limit, now));
    const probe = calls > 0 && breaker.take();
    return { calls, probe, askAgainAt: allowed > 0 ? Infinity : readyAt };
  }

  /** Gives back permits that found nothing to do. */
  giveBack(place: Place, calls: number, probe: boolean): void {
    this.#occupancy.free(place, calls);
    if (probe && calls > 0) this.#breaker(place.sink).giveBackProbe();
  }

  started(place: Place, sink: SinkConfig | undefined, now: number, probe: boolean): Ticket {
    if (sink?.pace) this.#pace.spend(place.lane, sink.pace, now, 1);
    return { place, probe };
  }

  /** Frees the call's place and learns from its outcomes; tells if its sink was paused or resumed by them. */
  ended(
    { place, probe }: Ticket,
    outcomes: readonly Outcome[],
    sink: SinkConfig | undefined,
    now: number,
  ): SinkChange | null {
    this.#occupancy.free(place, 1);
    for (const outcome of outcomes) this.#obey(outcome, place.lane, sink, now);
    const policy = sink?.retry ?? { minDelayMs: 0, maxDelayMs: 0 };
    return this.#breaker(place.sink).ended(healthOf(outcomes), { probe, now, policy, random: this.#random });
  }

  /** The sinks that are paused, and since when (ms). */
  paused(): { sink: string; since: number }[] {
    return [...this.#breakers].flatMap(([sink, { pausedSince }]) =>
      pausedSince === null ? [] : [{ sink, since: pausedSince }],
    );
  }

  /** Drops what is not needed any more: channels come and go, and what waits for a sink that went has nothing to wait for. */
  tidy(sinks: ReadonlyMap<string, SinkConfig>, now: number): void {
    this.#pace.forget(now);
    for (const sink of this.#breakers.keys()) if (!sinks.has(sink)) this.#breakers.delete(sink);
  }

  /** A tool that says "not before" means the lane and not only this message. */
  #obey(outcome: Outcome, lane: string, sink: SinkConfig | undefined, now: number): void {
    if (outcome.outcome !== 'retry' || outcome.reason !== 'rate_limited' || !sink) return;
    const pauseMs = outcome.retryAfterMs ?? sink.pace?.perMs ?? sink.retry.minDelayMs;
    this.#pace.hold(lane, sink.pace, now + pauseMs);
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
function limitsOf(sink: SinkConfig | undefined): { sink: number; lane: number } {
  const concurrency = sink?.concurrency ?? 1;
  const ordered = sink?.connector.lane !== undefined || sink?.connector.batch !== undefined;
  return { sink: concurrency, lane: ordered ? 1 : concurrency };
}

/** What a call's outcomes say of its sink. One success says that it works, whatever became of the others. */
function healthOf(outcomes: readonly Outcome[]): SinkHealth {
  if (outcomes.some(({ outcome }) => outcome === 'delivered')) return 'works';
  return outcomes.some(concernsSink) ? 'fails' : 'unsaid';
}

function concernsSink(outcome: Outcome): boolean {
  return outcome.outcome === 'unknown' || (outcome.outcome === 'retry' && outcome.sinkWide === true);
}
