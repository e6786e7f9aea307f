/** A fault that a sandbox tool plays on a call. */
export type Fault =
  /** Answers with this HTTP status or SMTP code; `commit` says whether the call took effect all the same. */
  | {
      kind: 'status';
      status: number;
      commit?: boolean;
      body?: unknown;
      headers?: Record<string, string>;
    }
  /** Answers as the real tool does when its rate is exceeded; without a delay if none is given. */
  | { kind: 'rate-limit'; retryAfterS?: number }
  /** Never answers; `commit` says whether the call took effect all the same. */
  | { kind: 'hang'; commit: boolean }
  /** Answers late, by `ms`. */
  | { kind: 'slow'; ms: number }
  /** Closes the connection without an answer; `commit` as above. */
  | { kind: 'drop'; commit: boolean };

/** A call, by the name of its API method or SMTP verb. */
export interface Call {
  readonly name: string;
}

/** The faults that a sandbox tool is to play: queued ones first, then those that `decide` returns. */
export class Faults {
  #queue: Fault[] = [];
  decide: (call: Call) => Fault | null = () => null;
  /** The names of the calls that take faults; empty: all do. */
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
