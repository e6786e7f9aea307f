import { setImmediate as otherWork } from 'node:timers/promises';

/** Work that can pause after each of its steps. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Does all of it at once. */
export function runThrough<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** How long other work waits at most, unless one step takes longer. */
const sliceMs = 10;

/** Does it in slices, so that other work of this thread gets its turn. */
export async function runInSlices<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const until = performance.now() + sliceMs;
    while (performance.now() < until) {
      const { done, value } = steps.next();
      if (done) return value;
    }
    await otherWork();
  }
}

/** Does all of it at once. Returns how long its longest step computed, without waiting for a processor. */
export function longestStepMs(steps: Steps<unknown>): number {
  let longestMs = 0;
  for (let before = computedMs(); ;) {
    const { done } = steps.next();
    const after = computedMs();
    longestMs = Math.max(longestMs, after - before);
    before = after;
    if (done) return longestMs;
  }
}

function computedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
