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
    const count = await step().catch((error: unknown) => {
      // The store may be closed under the last step, which is then no news.
      if (!stopped) failed(error);
    });
    if (stopped) return;
    const more = count === eventsAStep;
    cancel = clock.after(more ? 0 : betweenRoundsMs, () => void round());
  }

  async function step(): Promise<number> {
    const count = await store.prune(clock.now() - retentionMs(), eventsAStep);
    if (count > 0) pruned(count);
    return count;
  }

  return () => {
    stopped = true;
    cancel();
  };
}
