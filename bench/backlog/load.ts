import { randomBytes } from 'node:crypto';
import { connections } from '../connection.ts';
import { percentile } from '../result.ts';

/**
 * Plays the service at a steady rate. How long an answer took is counted from when its event should have gone out, so that events
 * which had to wait behind a slow answer count as slow, too. The first two seconds are for the compiler to warm up. Takes port, events
 * a second and seconds; tells a SteadyResult.
 */

export interface SteadyResult {
  readonly p99Ms: number;
  readonly sent: number;
  /** Answers other than 202. */
  readonly others: number;
}

const [port = 0, perSecond = 0, seconds = 0] = process.argv.slice(2).map(Number);
const uncounted = perSecond * 2;
const total = perSecond * seconds + uncounted;
const run = randomBytes(4).toString('hex');
const durationsMs: number[] = [];
let sent = 0;
let others = 0;

const { posts, close } = await connections([port], 64);
const startedMs = performance.now();
await Promise.all(
  posts.map(async (post) => {
    while (sent < total) {
      const event = sent++;
      const dueMs = startedMs + (event / perSecond) * 1000;
      await until(dueMs);
      const answer = await post(run + event.toString(16).padStart(24, '0'));
      if (event >= uncounted) durationsMs.push(performance.now() - dueMs);
      if (!answer.startsWith('HTTP/1.1 202')) others += 1;
    }
  }),
);
close();
process.send?.({ p99Ms: percentile(durationsMs, 0.99), sent, others } satisfies SteadyResult);

function until(timeMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, timeMs - performance.now())));
}
