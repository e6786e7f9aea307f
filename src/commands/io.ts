import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** Where a command reads its surroundings from and writes to; the process in life, a buffer in tests. */
export interface Io {
  out(text: string): void;
  /**
   * Resolves when what was printed has left far enough to print more; to false where nobody takes it any more. Whoever
   * prints much waits for it, or all of it would be held in memory.
   */
  drained(): Promise<boolean>;
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** True on a terminal. */
  readonly color: boolean;
}

/** Prints lines to a stream, until that fails. */
export function printer(stream: Writable): Pick<Io, 'out' | 'drained'> & { fault(): Error | null } {
  let fault: Error | null = null;
  let printed = false;
  stream.on('error', (error) => (fault ??= error));
  return {
    out(text) {
      printed = true;
      if (fault === null) stream.write(`${text}\n`);
    },
    async drained() {
      // Rejects where the stream fails meanwhile; the fault is known then.
      if (fault === null && stream.writableNeedDrain) await once(stream, 'drain').catch(() => undefined);
      return fault === null;
    },
    /** Why not all was printed. */
    fault: () => (printed ? fault : null),
  };
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
