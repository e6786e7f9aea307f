import { randomBytes } from 'node:crypto';
import { connections } from '../connection.ts';
import { percentile } from '../result.ts';

/**
 * Plays the service over 64 connections, each event another one, as fast as it is answered. Takes ports and seconds; tells a
 * LoadResult.
 */

export interface LoadResult {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** Answers other than 202. */
  readonly others: number;
}

const [ports = '', seconds = ''] = process.argv.slice(2);
const run = randomBytes(4).toString('hex');
const durationsMs: number[] = [];
let sent = 0;
let others = 0;

const { posts, close } = await connections(ports.split(',').map(Number), 64);
const startedMs = performance.now();
const untilMs = startedMs + Number(seconds) * 1000;
await Promise.all(
  posts.map(async (post) => {
    for (let nowMs = startedMs; nowMs < untilMs;) {
      sent += 1;
      const sentMs = performance.now();
      const answer = await post(run + sent.toString(16).padStart(24, '0'), `"candidateNumericalId":${sent},`);
      nowMs = performance.now();
      durationsMs.push(nowMs - sentMs);
      if (!answer.startsWith('HTTP/1.1 202')) others += 1;
    }
  }),
);
close();
const perSecond = durationsMs.length / ((performance.now() - startedMs) / 1000);
process.send?.({ perSecond, p99Ms: percentile(durationsMs, 0.99), others } satisfies LoadResult);
