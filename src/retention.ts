import type { Clock } from './clock.ts';
import type { Store } from './store/store.ts';

const betweenRoundsMs = 10 * 60_000;
/** Small, so that requests get their turn between two steps. */
const eventsAStep = 200;

export interface Retention {
  readonly store: Store;
  readonly clock: Clock;
  readonly retentionMs: () => number;
  readonly pruned: (events: number) => void;
  readonly failed: (error: unknown) => void;
}

/** Deletes what is older than the retention, a little at a time, for as long as the process lives. Returns how to stop it. */
export function keepRetention({ store, clock, retentionMs, pruned, failed }: Retention): () => void {
  let stopped = false;
  let cancel = clock.after(0, () => void round());

  async function round(): Promise<void> {
    try {
      let count = eventsAStep;
      while (count === eventsAStep && !stopped) {
        count = await store.prune(clock.now() - retentionMs(), eventsAStep);
        if (count > 0) pruned(count);
      }
    } catch (error) {
      failed(error);
    }
    if (!stopped) cancel = clock.after(betweenRoundsMs, () => void round());
  }

  return () => {
    stopped = true;
    cancel();
  };
}
