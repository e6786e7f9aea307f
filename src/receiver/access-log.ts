import type { Logger } from 'pino';

/**
 * How a request ended. accepted, duplicate: the event is stored. invalid: refused for its content. refused: for its
 * sender, method or path. failed: the event could not be stored.
 */
export const requestResults = ['accepted', 'duplicate', 'invalid', 'refused', 'failed'] as const;
export type RequestResult = (typeof requestResults)[number];

/** A line of the access log. */
export interface RequestLine {
  readonly outcome: RequestResult;
  readonly status: number;
  readonly eventId: string | null;
  readonly correlationId: string | null;
  readonly traceId: string | null;
  readonly address: string;
  readonly durationMs: number;
  /** Something that a person should look at. Raises the level to warn. */
  readonly warning?: string | undefined;
  readonly [more: string]: unknown;
}

const refusedLinesPerMinute = 20;

/**
 * Logs a line for each request. Lines for refused requests are limited, so that a scan does not flood the log; the next line
 * says how many were suppressed.
 */
export class AccessLog {
  readonly #log: Logger;
  readonly #now: () => number;
  /** The lines left for this minute, by status, so that a scan for paths does not hide a refused address. */
  readonly #budgets = new Map<number, { minute: number; left: number; suppressed: number }>();

  constructor(log: Logger, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  write(line: RequestLine): void {
    const suppressed = line.outcome === 'refused' ? this.#admit(line.status) : 0;
    if (suppressed === null) return;
    const whole = suppressed > 0 ? { ...line, suppressed } : line;
    if (line.warning === undefined) this.#log.info(whole, 'request');
    else this.#log.warn(whole, 'request');
  }

  /** How many lines with this status were suppressed since the last that was written; null if this one is suppressed, too. */
  #admit(status: number): number | null {
    const minute = Math.floor(this.#now() / 60_000);
    const budget = this.#budgets.get(status) ?? { minute, left: refusedLinesPerMinute, suppressed: 0 };
    this.#budgets.set(status, budget);
    if (budget.minute !== minute) Object.assign(budget, { minute, left: refusedLinesPerMinute });
    if (budget.left === 0) {
      budget.suppressed += 1;
      return null;
    }
    const { suppressed } = budget;
    budget.left -= 1;
    budget.suppressed = 0;
    return suppressed;
  }
}
