import type { Clock } from '../support/clock.ts';
import type { Ending } from './settle.ts';

/** How long an attempt that timed out may take to say how it ended before it is written off. */
const settlingMs = 5000;
/** The same at the shutdown, where the process is killed soon. */
const settlingAtShutdownMs = 1000;

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
  const cancels: (() => void)[] = [];
  const abortAndSettle = (withinMs: number, detail: string) => {
    abort.abort();
    // A time-out and the shutdown may both come: the earlier end counts.
    cancels.push(clock.after(withinMs, () => stuck.resolve(writtenOff(noAnswer(detail)))));
  };
  const onTimeout = () => abortAndSettle(settlingMs, `No answer within ${timeoutMs / 1000} s.`);
  const onShutdown = () =>
    abortAndSettle(settlingAtShutdownMs, 'The connector stopped before there was an answer.');
  cancels.push(clock.after(timeoutMs, onTimeout));
  if (shutdown.aborted) onShutdown();
  shutdown.addEventListener('abort', onShutdown, { once: true });
  try {
    return await Promise.race([run(abort.signal), stuck.promise]);
  } finally {
    for (const cancel of cancels) cancel();
    shutdown.removeEventListener('abort', onShutdown);
  }
}

function noAnswer(detail: string): Ending {
  return { outcome: { outcome: 'unknown', reason: 'timeout', detail }, askedAbsent: false, hold: false };
}
