/** Where a command reads its surroundings from and writes to; the process in life, a buffer in tests. */
export interface Io {
  out(text: string): void;
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** True on a terminal. */
  readonly color: boolean;
}

/** Exit codes as the contract has them. */
export const exit = { ok: 0, problems: 1, usage: 2, differs: 3 } as const;

/** A request that cannot be carried out as put: printed without a stack, with `code` as the exit code. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly code: number;

  constructor(message: string, code: number = exit.problems) {
    super(message);
    this.code = code;
  }
}
