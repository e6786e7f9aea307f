import { hash } from 'node:crypto';
import { putLast } from '../support/lists.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** So many wrong passwords in a minute may be slips of the keyboard. */
const slips = 10;
const comparedEveryMs = 500;
/** The number of right passwords that are remembered, each with its address. */
const mostKnown = 500;

/**
 * Makes guessing slow. After ten wrong passwords in a minute, two a second are compared at most, right or wrong; the others
 * tell nothing. One that was right from the same address within a day is not held up by what others guess.
 */
export class Guesses {
  #wrong: number[] = [];
  #comparedAt = -Infinity;
  readonly #known = new Map<string, number>();

  /** The result of `compare`, which says whose password it is. `from`: the sender. `busy`: it was not compared. */
  judge<Whose>(
    password: string,
    from: string,
    compare: (password: string) => Whose | null,
  ): Whose | 'wrong' | 'busy' {
    const now = performance.now();
    const key = hash('sha256', JSON.stringify([from, password]));
    const isKnown = now - (this.#known.get(key) ?? -Infinity) < dayMs;
    this.#wrong = this.#wrong.filter((at) => now - at < minuteMs);
    if (!isKnown && this.#wrong.length >= slips) {
      if (now - this.#comparedAt < comparedEveryMs) return 'busy';
      this.#comparedAt = now;
    }
    const whose = compare(password);
    if (whose !== null) putLast(this.#known, key, now, mostKnown);
    else this.#wrong = [...this.#wrong, now].slice(-slips);
    return whose ?? 'wrong';
  }
}
