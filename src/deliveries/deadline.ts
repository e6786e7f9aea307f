import type { Clock } from '../clock.ts';
import type { Ending } from './settle.ts';

/** How long an aborted attempt may take to say how it ended before it is written off. */
const settlingMs = 5000;

/**
 * Runs an attempt with a signal that aborts at its time-out or when `shutdown` does. An attempt that ignores its signal is
 * written off as unknown, since a stuck one must never hold its place for ever.
 */
export async function withDeadline(
  clock: Clock,
  timeoutMs: number,
  shutdown: AbortSignal,
  run: (signal: AbortSignal) => Promise<Ending>,
): Promise<Ending> {
  const abort = new AbortController();
  const stuck = Promise.withResolvers<Ending>();
  const onAbort = () => abort.abort();
  const cancels = [
    clock.after(timeoutMs, onAbort),
    clock.after(timeoutMs + settlingMs, () => stuck.resolve(writtenOff(timeoutMs))),
  ];
  if (shutdown.aborted) onAbort();
  shutdown.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([run(abort.signal), stuck.promise]);
  } finally {
    for (const cancel of cancels) cancel();
    shutdown.removeEventListener('abort', onAbort);
  }
}

function writtenOff(timeoutMs: number): Ending {
  return {
    outcome: { outcome: 'unknown', reason: 'timeout', detail: `No answer within ${timeoutMs / 1000} s.` },
    askedAbsent: false,
    hold: false,
  };
}
