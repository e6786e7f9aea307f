import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connections, postSteadily } from '../connection.ts';
import { percentile } from '../result.ts';

/**
 * Plays the service at a steady rate, and is the endpoint that all deliver to: one clock measures from an event to its call. Takes
 * events a second, seconds, and how many seconds are for the compiler to warm up; tells its port, takes the server's, and tells a
 * LatencyResult when the last call has come.
 */

export interface LatencyResult {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const [perSecond = 0, seconds = 0, uncounted = 0] = process.argv.slice(2).map(Number);
const sentMs = new Map<string, number>();
const tookMs: number[] = [];
let left = perSecond * seconds;

const endpoint = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (part: string) => (body += part));
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    const id = /[0-9a-f]{32}/.exec(body)?.[0] ?? '';
    const at = sentMs.get(id);
    if (!sentMs.delete(id)) return;
    tookMs.push(performance.now() - at!);
    left -= 1;
    if (left > 0) return;
    const counted = tookMs.slice(perSecond * uncounted);
    const result = { p50Ms: percentile(counted, 0.5), p99Ms: percentile(counted, 0.99) };
    process.send?.(result satisfies LatencyResult);
  });
});
endpoint.keepAliveTimeout = 60_000;
await once(endpoint.listen(0, '127.0.0.1'), 'listening');
process.send?.({ port: (endpoint.address() as AddressInfo).port });
const [{ port }] = (await once(process, 'message')) as [{ port: number }];

const { posts, close } = await connections([port], 64);
await postSteadily(posts, { perSecond, events: left }, async (post, id) => {
  sentMs.set(id, performance.now());
  await post(id);
});
close();
