/** What a sandbox tool can be told to do wrong with a call. */
export type Fault =
  /** Answers with this HTTP status or SMTP code; `commit` says whether the call took effect all the same. */
  | {
      kind: 'status';
      status: number;
      commit?: boolean;
      body?: unknown;
      headers?: Record<string, string>;
    }
  /** Answers as the real tool does when the rate is exceeded; without a delay if none is given. */
  | { kind: 'rate-limit'; retryAfterS?: number }
  /** Never answers; `commit` says whether the call took effect all the same. */
  | { kind: 'hang'; commit: boolean }
  /** Answers late, by so long (ms). */
  | { kind: 'slow'; ms: number }
  /** Closes the connection without an answer; `commit` likewise. */
  | { kind: 'drop'; commit: boolean };

/** One call as a fault decides on it: an API method, or the SMTP verb. */
export interface Call {
  readonly name: string;
}

/** The faults that a sandbox tool is to play: queued ones first, then what `decide` says of each call. */
export class Faults {
  #queue: Fault[] = [];
  decide: (call: Call) => Fault | null = () => null;
  /** Only calls with these names take faults; empty: all. */
  only: string[] = [];

  once(...faults: Fault[]): void {
    this.#queue.push(...faults);
  }

  clear(): void {
    this.#queue = [];
    this.only = [];
    this.decide = () => null;
  }

  take(call: Call): Fault | null {
    if (this.only.length > 0 && !this.only.includes(call.name)) return null;
    return this.#queue.shift() ?? this.decide(call);
  }
}
