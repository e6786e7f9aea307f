import type { Response } from 'express';
import type { Logger } from 'pino';

const forgottenAfterMs = 60_000;
/** So many may be slips of the keyboard. */
const slips = 10;
const mostTimesLonger = 30;

/**
 * Delays the answers to wrong passwords, to make guessing slow; after ten in a minute, by more each time. Their number is
 * limited, and the oldest is dropped with its connection, so that guesses cannot fill the memory or use up all connections.
 */
export class DelayedRefusals {
  readonly #waiting = new Map<Response, NodeJS.Timeout>();
  readonly #delayMs: number;
  readonly #most = 256;
  #guesses = 0;
  #guessedAt = -Infinity;

  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  add(res: Response, answer: () => void): void {
    this.#waiting.set(res, setTimeout(answer, this.#nextDelayMs()));
    res.once('close', () => this.#remove(res));
    const [oldest] = this.#waiting.keys();
    if (oldest && this.#waiting.size > this.#most) {
      this.#remove(oldest);
      oldest.destroy();
    }
  }

  #nextDelayMs(): number {
    const now = performance.now();
    if (now > this.#guessedAt + forgottenAfterMs) this.#guesses = 0;
    this.#guessedAt = now;
    this.#guesses += 1;
    return this.#delayMs * Math.min(Math.max(1, this.#guesses - slips + 1), mostTimesLonger);
  }

  #remove(res: Response): void {
    clearTimeout(this.#waiting.get(res));
    this.#waiting.delete(res);
  }
}

const logEveryMs = 60_000;

/** Logs the first failure at once and further ones once a minute, so that guesses do not fill the disk. */
export class FailureLog {
  readonly #log: Pick<Logger, 'warn'>;
  #failures = 0;
  #address = '';
  #timer: NodeJS.Timeout | null = null;

  constructor(log: Pick<Logger, 'warn'>) {
    this.#log = log;
  }

  note(address: string): void {
    this.#failures += 1;
    this.#address = address;
    if (this.#timer === null) this.#write();
  }

  #write(): void {
    this.#timer = null;
    if (this.#failures === 0) return;
    this.#log.warn(
      { address: this.#address, failures: this.#failures },
      'wrong password on the admin port; the address is the last one',
    );
    this.#failures = 0;
    this.#timer = setTimeout(() => this.#write(), logEveryMs).unref();
  }
}
