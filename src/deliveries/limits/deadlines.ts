import { unknown } from '../../connector.ts';
import { aheadMs, type Clock, TimedSignal, wasSuspended } from '../../support/clock.ts';
import type { Holding } from '../leases.ts';
import type { Ending } from '../settle.ts';

/** How long an attempt may take to end after its time-out before it is abandoned. */
const abortGraceMs = 5000;
/** The same at shutdown, when the process will be killed soon. */
const shutdownAbortGraceMs = 1000;
/** The longest timer: timers stand still while a machine is suspended, and a lease may be renewed. */
const lookEveryMs = 1000;

interface Limits {
  readonly timeoutMs: number;
  /** An attempt ends before the holding does. */
  readonly holding: Pick<Holding, 'until'>;
}

/** Bounds the time of each attempt. One timer looks after all of them, as there are many. */
export class Deadlines {
  readonly shutdown: AbortSignal;
  readonly #clock: Clock;
  /**
   * Not a Set: when one changes, its old tables keep former entries in memory until the next large garbage collection, and so
   * ended calls.
   */
  readonly #running: Deadline[] = [];
  /** When the timer looks (ms, on the scale of Clock.elapsed). */
  #lookAt = Infinity;
  #cancelLook: () => void = () => {};

  constructor(clock: Clock, shutdown: AbortSignal) {
    this.#clock = clock;
    this.shutdown = shutdown;
    shutdown.addEventListener('abort', () => this.#look(), { once: true });
  }

  /**
   * Runs an attempt with a signal that aborts at its time-out, at the end of the holding, after the machine was suspended,
   * and at shutdown. An attempt that ignores the signal is abandoned as unknown, as it would hold its slot for ever.
   */
  run<T>(
    limits: Limits,
    attempt: (signal: AbortSignal) => Promise<T>,
    abandoned: (ending: Ending) => T,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const deadline = new Deadline(this.#clock, limits, (detail) =>
        // A microtask later, as the attempt may have just ended.
        queueMicrotask(() => resolve(abandoned({ outcome: unknown('timeout', detail) }))),
      );
      deadline.place = this.#running.push(deadline) - 1;
      this.#lookWithin(deadline.look(this.shutdown.aborted));
      attempt(deadline.signal).then(
        (result) => resolve(this.#ended(deadline, result)),
        (error: unknown) => reject(this.#ended(deadline, error)),
      );
    });
  }

  #ended<T>(deadline: Deadline, result: T): T {
    this.#forget(deadline);
    return result;
  }

  #forget(deadline: Deadline): void {
    const last = this.#running.at(-1);
    if (last === undefined || this.#running[deadline.place] !== deadline) return;
    // Moves the last one to its place.
    this.#running[deadline.place] = last;
    last.place = deadline.place;
    this.#running.pop();
    if (this.#running.length > 0) return;
    this.#cancelLook();
    this.#lookAt = Infinity;
  }

  #look(): void {
    this.#cancelLook();
    this.#lookAt = Infinity;
    for (const deadline of this.#running.slice()) {
      const ms = deadline.look(this.shutdown.aborted);
      if (ms > 0) this.#lookWithin(ms);
      else this.#forget(deadline);
    }
  }

  #lookWithin(ms: number): void {
    const at = this.#clock.elapsed() + ms;
    if (at >= this.#lookAt) return;
    this.#cancelLook();
    this.#lookAt = at;
    this.#cancelLook = this.#clock.after(ms, () => this.#look());
  }
}

class Deadline {
  readonly signal: AbortSignal;
  /** Its index in `#running`. */
  place = -1;
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #abandon: (detail: string) => void;
  readonly #endsAt: number;
  readonly #aheadMs: number;
  #abandonAt = Infinity;
  #detail = '';

  constructor(clock: Clock, limits: Limits, abandon: (detail: string) => void) {
    this.#clock = clock;
    this.#limits = limits;
    this.#abandon = abandon;
    this.#endsAt = clock.elapsed() + limits.timeoutMs;
    this.#aheadMs = aheadMs(clock);
    this.signal = TimedSignal.of(this.#controller.signal, this);
  }

  /**
   * Aborts an attempt whose time is over, or abandons it. Returns how long until the next look (ms); 0 if there is
   * none.
   */
  look(isShutdown: boolean): number {
    const elapsed = this.#clock.elapsed();
    if (this.#abandonAt === Infinity && this.#isOverAt(elapsed))
      this.#end(elapsed + abortGraceMs, this.#whyOver(elapsed));
    // If it has timed out already, the earlier end counts.
    if (isShutdown)
      this.#end(elapsed + shutdownAbortGraceMs, 'The connector stopped before there was an answer.');
    if (this.#abandonAt === Infinity) return Math.min(this.#leftMs(elapsed), lookEveryMs);
    if (elapsed < this.#abandonAt) return this.#abandonAt - elapsed;
    this.#abandon(this.#detail);
    return 0;
  }

  get isOver(): boolean {
    return this.#isOverAt(this.#clock.elapsed());
  }

  #isOverAt(elapsed: number): boolean {
    return this.#wasSuspended || this.#leftMs(elapsed) <= 0;
  }

  abort(): void {
    this.#controller.abort();
  }

  #end(abandonAt: number, detail: string): void {
    if (abandonAt < this.#abandonAt) {
      this.#abandonAt = abandonAt;
      this.#detail = detail;
    }
    this.abort();
  }

  #whyOver(elapsed: number): string {
    if (this.#wasSuspended) return 'No answer before the machine was suspended, or its clock set.';
    if (elapsed < this.#endsAt) return 'No answer before the lease ran out.';
    return `No answer within ${this.#limits.timeoutMs / 1000} s.`;
  }

  get #wasSuspended(): boolean {
    return wasSuspended(this.#clock, this.#aheadMs);
  }

  #leftMs(elapsed: number): number {
    return Math.min(this.#endsAt, this.#limits.holding.until) - elapsed;
  }
}
