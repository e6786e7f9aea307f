import type { RetryPolicy } from '../config/config.ts';
import { backoffMs } from './backoff.ts';

/** Failures that concern the sink, one after the other, before it is paused. */
const failuresToOpen = 5;
/** Messages that failed each for itself, one after the other, before that is taken for a failure of the sink, too. */
const messagesToOpen = 20;
/** After an outage, nothing waits longer than this for somebody to notice that it is over. */
export const longestBetweenProbesMs = 5 * 60_000;

export type SinkChange = 'paused' | 'resumed';

type ProbePolicy = Pick<RetryPolicy, 'minDelayMs' | 'maxDelayMs'>;

/**
 * What an attempt says of its sink: it works, it fails for everyone, perhaps only for this message, or nothing (the
 * message was at fault).
 */
export type SinkHealth = 'works' | 'fails' | 'fails perhaps' | 'unsaid';

export interface EndedAttempt {
  /** Which message it was about. */
  readonly deliveryId: string;
  readonly probe: boolean;
  readonly now: number;
  /** Probes are spaced by the sink's own. */
  readonly policy: ProbePolicy;
  readonly random: () => number;
}

/**
 * Pauses a sink that fails for everyone and probes it, one attempt at a time, so that an outage costs a handful of
 * calls. What waits meanwhile is not attempted, so nothing is counted against it. Times are Clock.elapsed's.
 */
export class Breaker {
  #failures = 0;
  readonly #failedMessages = new Set<string>();
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

  /** Tells how an attempt ended; returns what changed by it. */
  ended(health: SinkHealth, { deliveryId, probe, now, policy, random }: EndedAttempt): SinkChange | null {
    if (probe) this.#probing = false;
    if (health === 'works') return this.#works();
    // Nothing was learnt of the sink, so another message may try at once.
    if (health === 'unsaid') return null;
    const opened = this.#openedAt === null && this.#isOneTooMany(health, deliveryId);
    if (opened) this.#openedAt = now;
    if (opened || probe) this.#probeAt = now + this.#untilProbeMs(policy, random);
    return opened ? 'paused' : null;
  }

  #works(): SinkChange | null {
    const wasPaused = this.#openedAt !== null;
    this.#failures = 0;
    this.#failedMessages.clear();
    this.#probes = 0;
    this.#openedAt = null;
    return wasPaused ? 'resumed' : null;
  }

  #isOneTooMany(health: 'fails' | 'fails perhaps', deliveryId: string): boolean {
    if (health === 'fails') this.#failures += 1;
    // One message that fails again and again says nothing of the others.
    else this.#failedMessages.add(deliveryId);
    return this.#failures >= failuresToOpen || this.#failedMessages.size >= messagesToOpen;
  }

  #untilProbeMs({ minDelayMs, maxDelayMs }: ProbePolicy, random: () => number): number {
    this.#probes += 1;
    const longestMs = Math.max(minDelayMs, Math.min(maxDelayMs, longestBetweenProbesMs));
    return backoffMs(this.#probes, { minDelayMs, maxDelayMs: longestMs }, random);
  }
}
