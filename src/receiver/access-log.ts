import type { Logger } from 'pino';

/** How a request ended. accepted, duplicate: it is stored. invalid: refused for its content. refused: for who sent it, or where to. failed: not stored. */
export type RequestResult = 'accepted' | 'duplicate' | 'invalid' | 'refused' | 'failed';

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
 * One line for each request, but for refused ones beyond some in a minute: anyone can make as many of those as they
 * like, and a scan must not drown the log. The next line that is written says how many were not.
 */
export class AccessLog {
  readonly #log: Logger;
  readonly #now: () => number;
  /** By status, so that a scan for paths does not hide the first refused address. */
  readonly #budgets = new Map<number, { minute: number; left: number; unwritten: number }>();

  constructor(log: Logger, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  write(line: RequestLine): void {
    const unwritten = line.outcome === 'refused' ? this.#spend(line.status) : 0;
    if (unwritten === 'spent') return;
    const durationMs = Math.round(line.durationMs * 1_000) / 1_000;
    const whole = { ...line, durationMs, ...(unwritten > 0 && { unwritten }) };
    if (line.warning === undefined) this.#log.info(whole, 'request');
    else this.#log.warn(whole, 'request');
  }

  /** How many lines like it went unwritten since the last one, or `spent` if this one should, too. */
  #spend(status: number): number | 'spent' {
    const minute = Math.floor(this.#now() / 60_000);
    const budget = this.#budgets.get(status) ?? { minute, left: refusedLinesPerMinute, unwritten: 0 };
    this.#budgets.set(status, budget);
    if (budget.minute !== minute) Object.assign(budget, { minute, left: refusedLinesPerMinute });
    if (budget.left === 0) {
      budget.unwritten += 1;
      return 'spent';
    }
    const { unwritten } = budget;
    budget.left -= 1;
    budget.unwritten = 0;
    return unwritten;
  }
}
