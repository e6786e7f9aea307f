import { aheadMs, type Clock, leastSetMs } from '../../support/clock.ts';
import type { Failure } from '../../model/outcomes.ts';
import type { SinkPause, Store } from '../../store/store.ts';
import { backoffMs, type BackoffPolicy } from '../settle.ts';

/** So many failures of the sink since its last success pause it. */
const failuresToPause = 5;
/** So many messages that failed since the last success, each perhaps by its own fault, pause it. */
const messagesToPause = 20;
/** A sink that worked this recently is paused by neither, as it may fail often. */
const workedLatelyMs = 20_000;
/** So many failures among its last attempts pause it in any case. */
const failedToPause = 45;
const lastAttempts = 50;
/** After an outage, deliveries wait no longer than this for a probe. */
export const longestBetweenProbesMs = 5 * 60_000;

/** The longest time between two probes, by the sink's own delays. */
export const longestPauseMs = ({ minDelayMs, maxDelayMs }: BackoffPolicy): number =>
  Math.max(minDelayMs, Math.min(maxDelayMs, longestBetweenProbesMs));

export type SinkChange = 'paused' | 'resumed';

/**
 * What an attempt says about its sink. fails: it fails for every message. fails perhaps: maybe only for this one.
 * inconclusive: the message was at fault.
 */
export type SinkHealth = 'works' | 'fails' | 'fails perhaps' | 'inconclusive';

export interface EndedAttempt {
  readonly deliveryId: string;
  readonly probe: boolean;
  readonly now: number;
  /** Why it failed; null if it did not. */
  readonly failure: Failure | null;
  /** The backoff between probes. */
  readonly policy: BackoffPolicy;
  readonly random: () => number;
}

/** A sink's pause, its times on the scale of Clock.elapsed. Immutable: a change makes a new object. */
export type Pause = Omit<SinkPause, 'sink'>;

interface Result {
  readonly health: Exclude<SinkHealth, 'inconclusive'>;
  readonly deliveryId: string;
  readonly at: number;
}

/**
 * A circuit breaker. It pauses a sink that fails for every message, and probes it with one attempt at a time (half-open),
 * so that an outage costs few calls. A sink that works most of the time is not paused. Deliveries that wait are not
 * attempted, so they do not run out of time. Times are on the scale of Clock.elapsed.
 */
export class Breaker {
  /** The last conclusive attempts. */
  readonly #last: Result[] = [];
  #pause: Pause | null;
  #probing = false;
  #answered = false;

  /** `pause`: a pause from before a restart. */
  constructor(pause: Pause | null = null) {
    this.#pause = pause;
  }

  /** Null if the sink is not paused. */
  get pause(): Pause | null {
    return this.#pause;
  }

  /** Whether the tool was asked since the last attempt and answered well. Asking again would tell nothing new. */
  get answered(): boolean {
    return this.#answered;
  }

  /** When the next attempt may start (ms); Infinity if a probe has to end first. */
  allowsAt(now: number): number {
    if (this.#pause === null) return now;
    return this.#probing ? Infinity : Math.max(now, this.#pause.probeAt);
  }

  /** How many attempts may start now. */
  allowance(now: number): number {
    if (this.#pause === null) return Infinity;
    return this.allowsAt(now) > now ? 0 : 1;
  }

  /** Uses the allowance. True if the attempt is a probe, which has to end or be given back before the next one. */
  take(): boolean {
    this.#probing = this.#pause !== null;
    return this.#probing;
  }

  /** Lets a probe start at once, unless one is under way. */
  probeNow(now: number): void {
    if (this.#pause) this.#pause = { ...this.#pause, probeAt: Math.min(now, this.#pause.probeAt) };
  }

  /** Ends a probe for which there was no delivery. */
  giveBackProbe(): void {
    this.#probing = false;
  }

  /**
   * Notes what the tool said when it was asked, with nothing sent. It may answer well and refuse every message, so this ends
   * no pause: after a good answer, the next message may be tried at once.
   */
  asked(fault: Failure | null, ended: Omit<EndedAttempt, 'failure'>): void {
    this.#probing = false;
    if (this.#pause === null) return;
    this.#pause = fault
      ? nextProbe(this.#pause, { ...ended, failure: fault })
      : { ...this.#pause, probeAt: ended.now };
    this.#answered = fault === null;
  }

  /** Notes how an attempt ended. Returns the change it made. */
  ended(health: SinkHealth, ended: EndedAttempt): SinkChange | null {
    if (ended.probe) this.#probing = this.#answered = false;
    // Another message may probe at once.
    if (health === 'inconclusive') return null;
    if (this.#pause) {
      // A failure that is no probe began before the pause, and says nothing new.
      // One that may fail by its own message is not why the others wait.
      const failure = health === 'fails' ? ended.failure : (this.#pause.because ?? ended.failure);
      if (health !== 'works' && ended.probe) this.#pause = nextProbe(this.#pause, { ...ended, failure });
      if (health !== 'works') return null;
      this.#pause = null;
      this.#last.length = 0;
      return 'resumed';
    }
    this.#note(health, ended);
    if (health === 'works' || !this.#isDown(ended.now)) return null;
    this.#pause = nextProbe({ since: ended.now, probes: 0, because: null }, ended);
    return 'paused';
  }

  #note(health: Result['health'], { deliveryId, now }: EndedAttempt): void {
    // Repeated failures of one message say nothing about others.
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
  { since, probes, because }: Omit<Pause, 'probeAt'>,
  { now, failure, policy, random }: EndedAttempt,
): Pause {
  const delays = { minDelayMs: policy.minDelayMs, maxDelayMs: longestPauseMs(policy) };
  const delayMs = backoffMs(probes + 1, delays, random);
  return { since, probeAt: now + delayMs, probes: probes + 1, because: failure ?? because };
}

/**
 * The pauses in the store, so that after a restart during an outage the tool is not called as if it worked. Their times are
 * on the scale of Clock.now.
 */
export class StoredPauses {
  readonly #store: Pick<Store, 'pauses' | 'keepPause' | 'endPause'>;
  readonly #clock: Clock;
  /** What is in the store, by sink. `probeAt`: the time that stands there (ms), which others read. */
  readonly #stored = new Map<string, { readonly pause: Pause; readonly probeAt: number }>();

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Reads the pauses from before a restart, by sink; or only that of one sink. `policyOf`: the backoff between its
   * probes.
   */
  async load(
    policyOf: (sink: string) => BackoffPolicy | undefined,
    only?: string,
  ): Promise<ReadonlyMap<string, Pause>> {
    const now = this.#clock.now();
    const offsetMs = aheadMs(this.#clock);
    const loaded = new Map<string, Pause>();
    for (const { sink, since, probeAt, ...kept } of await this.#store.pauses()) {
      if (only !== undefined && sink !== only) continue;
      const policy = policyOf(sink);
      const longestMs = policy ? longestPauseMs(policy) : longestBetweenProbesMs;
      // The clock may have been set back meanwhile, or the delays shortened.
      const pause = {
        since: Math.min(since, now) - offsetMs,
        probeAt: Math.min(probeAt, now + longestMs) - offsetMs,
        ...kept,
      };
      loaded.set(sink, pause);
      this.#stored.set(sink, { pause, probeAt });
    }
    return loaded;
  }

  /** Forgets a sink whose pause another replica keeps from now on. */
  forget(sink: string): void {
    this.#stored.delete(sink);
  }

  /** Writes the pauses of these sinks that have changed, or of which the store has another time since the clock was set. */
  async save(pauses: ReadonlyMap<string, Pause>, which: (sink: string) => boolean): Promise<void> {
    const offsetMs = aheadMs(this.#clock);
    // Found first, as other pauses may be restored during the writes.
    const ended = [...this.#stored.keys()].filter((sink) => !pauses.has(sink) && which(sink));
    for (const [sink, pause] of pauses) {
      const since = Math.round(offsetMs + pause.since);
      const probeAt = Math.round(offsetMs + pause.probeAt);
      const stored = this.#stored.get(sink);
      const isStored = stored?.pause === pause && Math.abs(stored.probeAt - probeAt) < leastSetMs;
      if (isStored || !which(sink)) continue;
      await this.#store.keepPause({ ...pause, sink, since, probeAt });
      this.#stored.set(sink, { pause, probeAt });
    }
    for (const sink of ended) {
      await this.#store.endPause(sink);
      this.#stored.delete(sink);
    }
  }
}
