import type { Clock } from '../support/clock.ts';

/** How long work has to fail until that is a fault: longer than a database takes to restart. */
const lastingMs = 10_000;

/** Which work with the store fails and is tried again, and since when. */
export class StoreFaults<Work> {
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #told: (error: unknown) => void;
  /** The time of the first failure, on the scale of Clock.elapsed, and the error of the last one. */
  readonly #failing = new Map<Work, { readonly since: number; readonly error: unknown }>();

  /** `told` is called with the error of each failure. */
  constructor(clock: Pick<Clock, 'elapsed'>, told: (error: unknown) => void) {
    this.#clock = clock;
    this.#told = told;
  }

  /** The work counts as failing from now on until it is `over`. `startedAt`: of this try, on the scale of Clock.elapsed. */
  failed(work: Work, error: unknown, startedAt = this.#clock.elapsed()): void {
    this.held(work, error, startedAt);
    this.#told(error);
  }

  /** As `failed`, for work that is only a fault if it goes on: nobody is told of it at once. */
  held(work: Work, error: unknown, startedAt: number): void {
    this.#failing.set(work, { since: this.#failing.get(work)?.since ?? startedAt, error });
  }

  /** The work was done, or nobody asks for it any more. */
  over(work: Work): void {
    this.#failing.delete(work);
  }

  /** What is asked for no more is over. */
  keepOnly(isAskedFor: (work: Work) => boolean): void {
    for (const work of this.#failing.keys()) if (!isAskedFor(work)) this.#failing.delete(work);
  }

  /** The error of work that has failed for some time; null if there is none. */
  get lasting(): unknown {
    const before = this.#clock.elapsed() - lastingMs;
    return this.#failing.values().find(({ since }) => since <= before)?.error ?? null;
  }
}
