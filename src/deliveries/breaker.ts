import type { RetryPolicy } from '../config/config.ts';
import { backoffMs } from './backoff.ts';

/** Failures that concern the sink, one after the other, before it is paused. */
const failuresToOpen = 5;
/** After an outage, nothing waits longer than this for somebody to notice that it is over. */
const longestBetweenProbesMs = 5 * 60_000;

type ProbePolicy = Pick<RetryPolicy, 'minDelayMs' | 'maxDelayMs'>;

/** What an attempt says of its sink: it works, it fails for everyone, or nothing (the message was at fault). */
export type SinkHealth = 'works' | 'fails' | 'unsaid';

/**
 * Pauses a sink that fails for everyone and probes it, one attempt at a time, so that an outage costs a handful of
 * calls. What waits meanwhile is not attempted, so nothing is counted against it. Times are Clock.elapsed's.
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

  /** When asking for allowance is worth it again (ms); Infinity where the probe under way has to end first. */
  waitsUntil(now: number): number {
    if (this.#openedAt === null) return now;
    return this.#probing ? Infinity : Math.max(now, this.#probeAt);
  }

  /** How many attempts may start now. */
  allowance(now: number): number {
    if (this.#openedAt === null) return Infinity;
    return this.#probing || now < this.#probeAt ? 0 : 1;
  }

  /** Takes what `allowance` gave; true if it is the probe, which has to end or be given back before there is another. */
  take(): boolean {
    this.#probing = this.#openedAt !== null;
    return this.#probing;
  }

  /** The probe found nothing to attempt. */
  giveBackProbe(): void {
    this.#probing = false;
  }

  /** Tells how an attempt ended; returns what changed by it. Probes are spaced by the sink's own retry policy. */
  ended(
    health: SinkHealth,
    {
      probe,
      now,
      policy,
      random,
    }: { probe: boolean; now: number; policy: ProbePolicy; random: () => number },
  ): 'paused' | 'resumed' | null {
    if (probe) this.#probing = false;
    if (health === 'works') return this.#works();
    // Nothing was learnt of the sink, so another message may try at once.
    if (health === 'unsaid') return null;
    const opened = this.#openedAt === null && this.#countFailure(now);
    if (opened || probe) this.#probeAt = now + this.#untilProbeMs(policy, random);
    return opened ? 'paused' : null;
  }

  #works(): 'resumed' | null {
    const wasPaused = this.#openedAt !== null;
    this.#failures = 0;
    this.#probes = 0;
    this.#openedAt = null;
    return wasPaused ? 'resumed' : null;
  }

  /** True if it was one too many. */
  #countFailure(now: number): boolean {
    this.#failures += 1;
    if (this.#failures < failuresToOpen) return false;
    this.#openedAt = now;
    return true;
  }

  #untilProbeMs({ minDelayMs, maxDelayMs }: ProbePolicy, random: () => number): number {
    this.#probes += 1;
    const longestMs = Math.max(minDelayMs, Math.min(maxDelayMs, longestBetweenProbesMs));
    return backoffMs(this.#probes, { minDelayMs, maxDelayMs: longestMs }, random);
  }
}
