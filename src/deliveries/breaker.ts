import type { Clock } from '../support/clock.ts';
import type { RetryPolicy } from '../config/config.ts';
import type { Store } from '../store/store.ts';
import { backoffMs } from './settle.ts';

/** Failures that concern the sink, since it last worked, before it is paused. */
const failuresToPause = 5;
/** Messages that failed each for itself since then, before that is taken for a failure of the sink, too. */
const messagesToPause = 20;
/** A sink that worked so lately is not paused for these: it may just be one that fails often. */
const workedLatelyMs = 20_000;
/** It is paused all the same when nine of ten of its last attempts failed. */
const lastAttempts = 50;
const failedToPause = 45;
/** After an outage, nothing waits longer than this for somebody to notice that it is over. */
export const longestBetweenProbesMs = 5 * 60_000;
/** The calls at once after a probe that worked. Each success doubles them, up to as many as ever; each failure halves them. */
const firstWidth = 2;
const fullWidth = 64;
/** A sink that is seldom called may not get there. It has recovered all the same when it was not paused again by then. */
const recoveryMs = 60_000;

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

/** What outlives a restart. Never changed: another state is another object. */
export interface Pause {
  /** When the sink was paused (ms). */
  readonly since: number;
  /** When it is probed next (ms). */
  readonly probeAt: number;
  /** How often the time until the next probe was set. */
  readonly probes: number;
}

interface Result {
  readonly health: Exclude<SinkHealth, 'unsaid'>;
  readonly deliveryId: string;
  readonly at: number;
}

/**
 * Pauses a sink that fails for everyone and probes it, one attempt at a time, so that an outage costs few calls. One
 * that works most of the time goes on. What waits meanwhile is not attempted, so nothing is counted against it. Times
 * are Clock.elapsed's.
 */
export class Breaker {
  /** How the last attempts ended that said something of the sink. */
  readonly #last: Result[] = [];
  #pause: Pause | null;
  #probing = false;
  /** How many calls may be under way. */
  #width = Infinity;
  /** What the sink recovers from: since when it was paused, and until when this counts (ms). */
  #recovery: { readonly since: number; readonly until: number } | null = null;

  /** `pause`: kept from an earlier life of the process. */
  constructor(pause: Pause | null = null) {
    this.#pause = pause;
  }

  /** Null while the sink is not paused. */
  get pause(): Pause | null {
    return this.#pause;
  }

  /** How many calls to the sink may be under way; fewer for a while after a pause. */
  get width(): number {
    return this.#width;
  }

  /** When asking for allowance is worth it again (ms); Infinity where the probe under way has to end first. */
  waitsUntil(now: number): number {
    if (this.#pause === null) return now;
    return this.#probing ? Infinity : Math.max(now, this.#pause.probeAt);
  }

  /** How many attempts may start now. */
  allowance(now: number): number {
    if (this.#pause === null) return Infinity;
    return this.#probing || now < this.#pause.probeAt ? 0 : 1;
  }

  /** Takes what `allowance` gave; true if it is the probe, which has to end or be given back before there is another. */
  take(): boolean {
    this.#probing = this.#pause !== null;
    return this.#probing;
  }

  /** The probe found nothing to attempt. */
  giveBackProbe(): void {
    this.#probing = false;
  }

  /** Tells how an attempt ended; returns what changed by it. */
  ended(health: SinkHealth, ended: EndedAttempt): SinkChange | null {
    if (ended.probe) this.#probing = false;
    // Nothing was learnt of the sink, so another message may try at once.
    if (health === 'unsaid') return null;
    if (this.#recovery && ended.now >= this.#recovery.until) this.#endRecovery();
    if (health === 'works') return this.#works(ended);
    if (this.#pause) {
      // One that began before the pause says nothing new.
      if (ended.probe) this.#pause = nextProbe(this.#pause, ended);
      return null;
    }
    this.#note(health, ended);
    if (health === 'fails') this.#width /= 2;
    if (this.#width >= 1 && !this.#isDown(ended.now)) return null;
    // As long as it did not recover, the pause goes on that it had before.
    this.#pause = nextProbe({ since: this.#recovery?.since ?? ended.now, probes: 0 }, ended);
    this.#endRecovery();
    return 'paused';
  }

  #works(ended: EndedAttempt): SinkChange | null {
    if (this.#pause) {
      this.#recovery = { since: this.#pause.since, until: ended.now + recoveryMs };
      this.#pause = null;
      this.#last.length = 0;
      this.#width = firstWidth;
      this.#note('works', ended);
      return 'resumed';
    }
    this.#note('works', ended);
    this.#width *= 2;
    if (this.#width >= fullWidth) this.#endRecovery();
    return null;
  }

  #endRecovery(): void {
    this.#width = Infinity;
    this.#recovery = null;
  }

  #note(health: Result['health'], { deliveryId, now }: EndedAttempt): void {
    // One message that fails again and again says nothing of the others.
    const isRepeat = (result: Result) => result.health === health && result.deliveryId === deliveryId;
    if (health === 'fails perhaps' && this.#last.some(isRepeat)) return;
    this.#last.push({ health, deliveryId, at: now });
    if (this.#last.length > lastAttempts) this.#last.shift();
  }

  #isDown(now: number): boolean {
    if (this.#last.filter(({ health }) => health !== 'works').length >= failedToPause) return true;
    const workedAt = this.#last.findLastIndex(({ health }) => health === 'works');
    if (workedAt >= 0 && now - this.#last[workedAt]!.at < workedLatelyMs) return false;
    const since = this.#last.slice(workedAt + 1);
    const failures = since.filter(({ health }) => health === 'fails').length;
    return failures >= failuresToPause || since.length - failures >= messagesToPause;
  }
}

function nextProbe(
  { since, probes }: Pick<Pause, 'since' | 'probes'>,
  { now, policy: { minDelayMs, maxDelayMs }, random }: EndedAttempt,
): Pause {
  const longestMs = Math.max(minDelayMs, Math.min(maxDelayMs, longestBetweenProbesMs));
  const delayMs = backoffMs(probes + 1, { minDelayMs, maxDelayMs: longestMs }, random);
  return { since, probeAt: now + delayMs, probes: probes + 1 };
}

/**
 * The pauses of sinks in the store, where they outlast the process: a restart in an outage must not begin to call a
 * dead tool anew. The store has the time of the clock, a pause that of Clock.elapsed.
 */
export class KeptPauses {
  readonly #store: Pick<Store, 'pauses' | 'keepPause' | 'endPause'>;
  readonly #clock: Clock;
  /** What the store has, by sink. */
  readonly #kept = new Map<string, Pause>();

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** What an earlier life of the process left, by sink. */
  async load(): Promise<ReadonlyMap<string, Pause>> {
    const now = this.#clock.now();
    const offsetMs = now - this.#clock.elapsed();
    for (const { sink, since, probeAt, probes } of await this.#store.pauses()) {
      // The clock may have been set back in between.
      const inTime = {
        since: Math.min(since, now),
        probeAt: Math.min(probeAt, now + longestBetweenProbesMs),
      };
      const pause = { since: inTime.since - offsetMs, probeAt: inTime.probeAt - offsetMs, probes };
      this.#kept.set(sink, pause);
    }
    return this.#kept;
  }

  /** Brings the store up to date. */
  async keep(pauses: ReadonlyMap<string, Pause>): Promise<void> {
    const offsetMs = this.#clock.now() - this.#clock.elapsed();
    for (const [sink, pause] of pauses) {
      if (this.#kept.get(sink) === pause) continue;
      const since = Math.round(offsetMs + pause.since);
      const probeAt = Math.round(offsetMs + pause.probeAt);
      await this.#store.keepPause({ sink, since, probeAt, probes: pause.probes });
      this.#kept.set(sink, pause);
    }
    for (const sink of [...this.#kept.keys()].filter((one) => !pauses.has(one))) {
      await this.#store.endPause(sink);
      this.#kept.delete(sink);
    }
  }
}
