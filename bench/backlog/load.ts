import { connections, postSteadily } from '../connection.ts';
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
const events = perSecond * seconds + uncounted;
const durationsMs: number[] = [];
let others = 0;

const { posts, close } = await connections([port], 64);
await postSteadily(posts, { perSecond, events }, async (post, id, { event, atMs }) => {
  const answer = await post(id);
  if (event >= uncounted) durationsMs.push(performance.now() - atMs);
  if (!answer.startsWith('HTTP/1.1 202')) others += 1;
});
close();
process.send?.({ p99Ms: percentile(durationsMs, 0.99), sent: events, others } satisfies SteadyResult);
