import { unknown } from '../../connector.ts';
import { aheadMs, type Clock, wasSuspended } from '../../support/clock.ts';
import type { Holding } from '../leases.ts';
import type { Ending } from '../settle.ts';

/** How long an attempt may take to end after its time-out before it is abandoned. */
const abortGraceMs = 5000;
/** The same at shutdown, where the process will be killed soon. */
const shutdownAbortGraceMs = 1000;
/** Timers stand still with a suspended machine, and a lease may be renewed. */
const lookEveryMs = 1000;

interface Limits {
  readonly timeoutMs: number;
  /** No attempt may outlast it. */
  readonly holding: Pick<Holding, 'until'>;
}

/** Bounds the time of each attempt. One timer looks after all of them, as there are many. */
export class Deadlines {
  readonly shutdown: AbortSignal;
  readonly #clock: Clock;
  /**
   * Not a set: one that changes makes new tables, and each old table keeps what it had, and the newer tables, in memory until
   * it is collected itself. So calls that had ended stayed until the next large collection.
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
   * Runs an attempt with a signal that aborts at its time-out, at the end of the lease, after the machine was suspended,
   * and at shutdown. An attempt that ignores the signal is abandoned as unknown: otherwise it would hold its slot for ever.
   */
  run<T>(
    limits: Limits,
    attempt: (signal: AbortSignal) => Promise<T>,
    abandoned: (ending: Ending) => T,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const deadline = new Deadline(this.#clock, limits, (detail) =>
        // One that has just ended is not abandoned.
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
    // The last one takes its place.
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
  /** Among the running ones. */
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

  /** Ends an attempt whose time is over, or abandons it. Returns when to look again (in ms); 0 if never. */
  look(isShutdown: boolean): number {
    const elapsed = this.#clock.elapsed();
    if (this.#abandonAt === Infinity && this.isOver)
      this.#end(elapsed + abortGraceMs, this.#whyOver(elapsed));
    // After a time-out, the earlier of the two counts.
    if (isShutdown)
      this.#end(elapsed + shutdownAbortGraceMs, 'The connector stopped before there was an answer.');
    if (this.#abandonAt === Infinity) return Math.min(this.#leftMs(elapsed), lookEveryMs);
    if (elapsed < this.#abandonAt) return this.#abandonAt - elapsed;
    this.#abandon(this.#detail);
    return 0;
  }

  get isOver(): boolean {
    return this.#wasSuspended || this.#leftMs(this.#clock.elapsed()) <= 0;
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

/**
 * Looks whether the time is over each time that it is asked. A process that stood still may go on with an answer before its
 * timers run, when another replica has carried out the delivery long ago. A class, as a property that is defined on each
 * signal would make them all different to the engine, and so slow.
 */
class TimedSignal extends AbortSignal {
  declare deadline: Deadline;

  /** Only controllers make signals. */
  static of(signal: AbortSignal, deadline: Deadline): AbortSignal {
    const timed = Object.setPrototypeOf(signal, TimedSignal.prototype) as TimedSignal;
    timed.deadline = deadline;
    return timed;
  }

  override get aborted(): boolean {
    if (!super.aborted && this.deadline.isOver) this.deadline.abort();
    return super.aborted;
  }
}
