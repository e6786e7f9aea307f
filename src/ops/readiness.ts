import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Readiness, ReadinessPart } from '../http/health.ts';
import { NoRoom, type Store, StoreUnavailable } from '../store/store.ts';
import type { Clock } from '../support/clock.ts';

const everyMs = 10_000;
/** So long a caller of /readyz waits for the store. */
const longestMs = 3000;

/**
 * Asks every 10 s whether all parts can be used, so that a full disk is logged before an event comes. Logs each change with
 * its cause, also a change that a caller of `ask` sees first.
 */
export function watchReadiness(readiness: Readiness, { clock, log }: { clock: Clock; log: Logger }) {
  /** Since when each part cannot be used, on the scale of Clock.elapsed. */
  const down = new Map<string, number>();
  let isStopped = false;
  let cancel = clock.after(everyMs, () => void again());

  async function ask(): Promise<readonly ReadinessPart[]> {
    const parts = await readiness();
    if (!isStopped) for (const one of parts) note(one);
    return parts;
  }

  function note({ part, ok, detail, cause = detail }: ReadinessPart): void {
    const since = down.get(part);
    if (ok === (since === undefined)) return;
    if (since === undefined) {
      down.set(part, clock.elapsed());
      log.error({ part, cause }, 'not ready');
    } else {
      down.delete(part);
      log.info({ part, lastedSeconds: Math.round((clock.elapsed() - since) / 1000) }, 'ready again');
    }
  }

  async function again(): Promise<void> {
    await ask();
    if (!isStopped) cancel = clock.after(everyMs, () => void again());
  }

  return {
    ask,
    stop(): void {
      isStopped = true;
      cancel();
    },
  };
}

/** `unsent`: why what waits cannot be sent, although the store may be written; null if it can. */
export async function storeReadiness(
  store: Pick<Store, 'probe'>,
  unsent: () => unknown,
): Promise<ReadinessPart> {
  try {
    await Promise.race([
      store.probe(),
      sleep(longestMs, undefined, { ref: false }).then(() => {
        throw new StoreUnavailable(`It could not be written within ${longestMs / 1000} s.`);
      }),
    ]);
    const fault = unsent();
    if (fault === null) return { part: 'store', ok: true };
    // Still serving: what comes is kept.
    return {
      ...notOk(fault),
      serves: true,
      detail: 'Events are stored, but what waits cannot be sent just now; the log says why.',
    };
  } catch (error) {
    const down = notOk(error);
    // Still serving: an event that may find room is better than one sent to where nobody is.
    if (error instanceof NoRoom)
      return {
        ...down,
        serves: true,
        detail: 'Its disk is full: a few events may still find room, the others get 503.',
      };
    return { ...down, detail: 'It cannot be written just now; the log says why.' };
  }
}

const notOk = (error: unknown) => ({
  part: 'store',
  ok: false,
  cause: error instanceof Error ? error.message : String(error),
});
