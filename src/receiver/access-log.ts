import type { Logger } from 'pino';

/**
 * How a request ended. accepted, duplicate: its event is stored. invalid: refused for its content. refused: for who
 * sent it, or where to. failed: could not be stored.
 */
export const requestResults = ['accepted', 'duplicate', 'invalid', 'refused', 'failed'] as const;
export type RequestResult = (typeof requestResults)[number];

/** The log's line for one request. */
export interface RequestLine {
  readonly outcome: RequestResult;
  readonly status: number;
  readonly eventId: string | null;
  readonly correlationId: string | null;
  readonly address: string;
  readonly durationMs: number;
  /** What a person should look at; a line with it is a warning. */
  readonly warning?: string;
  readonly [more: string]: unknown;
}

const refusedLinesPerMinute = 20;

/**
 * One line for each request. Of refused ones only some a minute: anyone can make as many as they like, and a scan must
 * not flood the log. The next line written says how many were suppressed.
 */
export class AccessLog {
  readonly #log: Logger;
  readonly #now: () => number;
  /** By status: a scan for paths must not hide the first refused address. */
  readonly #budgets = new Map<number, { minute: number; left: number; suppressed: number }>();

  constructor(log: Logger, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  write(line: RequestLine): void {
    const suppressed = line.outcome === 'refused' ? this.#admit(line.status) : 0;
    if (suppressed === null) return;
    const durationMs = Math.round(line.durationMs * 1_000) / 1_000;
    const whole = { ...line, durationMs, ...(suppressed > 0 && { suppressed }) };
    if (line.warning === undefined) this.#log.info(whole, 'request');
    else this.#log.warn(whole, 'request');
  }

  /** How many lines with this status were suppressed since the last one; null if this one is suppressed, too. */
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
