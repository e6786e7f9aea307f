import type { Clock } from '../clock.ts';
import type { Ending } from './settle.ts';

/** How long an aborted attempt may take to say how it ended before it is written off. */
const settlingMs = 5000;

export interface Deadline<T> {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly shutdown: AbortSignal;
  /** What a written-off attempt comes to, from its ending. */
  readonly writtenOff: (ending: Ending) => T;
}

/**
 * Runs an attempt with a signal that aborts at its time-out or at the shutdown. An attempt that ignores its signal is
 * written off as unknown, since a stuck one must never hold its place for ever.
 */
export async function withDeadline<T>(
  { clock, timeoutMs, shutdown, writtenOff }: Deadline<T>,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const stuck = Promise.withResolvers<T>();
  let cancelSettling = () => {};
  const onAbort = () => {
    abort.abort();
    cancelSettling = clock.after(settlingMs, () => stuck.resolve(writtenOff(noAnswer(timeoutMs))));
  };
  const cancelTimeout = clock.after(timeoutMs, onAbort);
  if (shutdown.aborted) onAbort();
  shutdown.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([run(abort.signal), stuck.promise]);
  } finally {
    cancelTimeout();
    cancelSettling();
    shutdown.removeEventListener('abort', onAbort);
  }
}

function noAnswer(timeoutMs: number): Ending {
  return {
    outcome: { outcome: 'unknown', reason: 'timeout', detail: `No answer within ${timeoutMs / 1000} s.` },
    askedAbsent: false,
    hold: false,
  };
}
