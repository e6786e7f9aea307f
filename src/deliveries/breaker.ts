import { backoffMs } from './backoff.ts';

/** Failures that concern the sink, one after the other, before it is paused. */
const failuresToOpen = 5;
const probing = { minDelayMs: 5000, maxDelayMs: 5 * 60_000 };

/** What an attempt says of its sink: it works, it fails for everyone, or nothing (the message was at fault). */
export type SinkHealth = 'works' | 'fails' | 'unsaid';

/**
 * Pauses a sink that fails for everyone and probes it, one attempt at a time, so that an outage costs a handful of
 * calls. What waits meanwhile is not attempted, so nothing is counted against it.
 */
export class Breaker {
  #failures = 0;
  #openedAt: number | null = null;
  #probeAt = 0;
  #probes = 0;
  #probing = false;

  /** When the sink was paused (ms); null while it works. */
  get pausedSince(): number | null {
    return this.#openedAt;
  }

  /** Until when time alone has to pass (ms): the next probe. Now, where none is awaited. */
  waitsUntil(now: number): number {
    return this.#openedAt === null || this.#probing ? now : Math.max(now, this.#probeAt);
  }

  /** How many attempts may start now. */
  allowance(now: number): number {
    if (this.#openedAt === null) return Infinity;
    return this.#probing || now < this.#probeAt ? 0 : 1;
  }

  /** To be called for each attempt that starts; true if it is a probe. */
  started(): boolean {
    if (this.#openedAt === null) return false;
    this.#probing = true;
    return true;
  }

  /** Tells how an attempt ended; returns what changed by it. */
  ended(health: SinkHealth, probe: boolean, now: number, random: () => number): 'paused' | 'resumed' | null {
    if (probe) this.#probing = false;
    if (health === 'works') return this.#works();
    if (this.#openedAt === null) return health === 'fails' ? this.#fails(now, random) : null;
    if (probe) this.#probeLater(now, random);
    return null;
  }

  #works(): 'resumed' | null {
    const wasPaused = this.#openedAt !== null;
    this.#failures = 0;
    this.#probes = 0;
    this.#openedAt = null;
    return wasPaused ? 'resumed' : null;
  }

  #fails(now: number, random: () => number): 'paused' | null {
    this.#failures += 1;
    if (this.#failures < failuresToOpen) return null;
    this.#openedAt = now;
    this.#probeLater(now, random);
    return 'paused';
  }

  #probeLater(now: number, random: () => number): void {
    this.#probes += 1;
    this.#probeAt = now + backoffMs(this.#probes, probing, random);
  }
}
