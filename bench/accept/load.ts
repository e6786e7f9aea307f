import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';

/**
 * Plays the service over 64 connections, each event another one, as fast as it is answered. Written for the bare socket, since an HTTP
 * client costs as much as the plain server and would be what is measured. Takes port and seconds; sends a LoadResult.
 */

export interface LoadResult {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** Answers other than 202. */
  readonly others: number;
}

const connections = 64;
const [port = '', seconds = ''] = process.argv.slice(2);
const run = randomBytes(4).toString('hex');
const durationsMs: number[] = [];
let sent = 0;
let others = 0;

function nextRequest(): string {
  sent += 1;
  const id = run + sent.toString(16).padStart(24, '0');
  const body = `{"candidateId":"${id}","candidateNumericalId":${sent},"testId":1234567,"status":"Completed"}`;
  return [
    'POST /webhooks/candidates HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${body.length}`,
    `X-Service-CorrelationId: ${id}`,
    '',
    body,
  ].join('\r\n');
}

function keepPosting(untilMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1').setEncoding('latin1');
    let startedMs = 0;
    const post = () => {
      startedMs = performance.now();
      socket.write(nextRequest(), 'latin1');
    };
    socket.on('connect', post);
    // An answer of this size comes in one piece.
    socket.on('data', (answer: string) => {
      const nowMs = performance.now();
      durationsMs.push(nowMs - startedMs);
      if (!answer.startsWith('HTTP/1.1 202')) others += 1;
      if (nowMs < untilMs) post();
      else socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', resolve);
  });
}

const startedMs = performance.now();
const untilMs = startedMs + Number(seconds) * 1_000;
await Promise.all(Array.from({ length: connections }, () => keepPosting(untilMs)));
const perSecond = durationsMs.length / ((performance.now() - startedMs) / 1_000);
durationsMs.sort((a, b) => a - b);
const p99Ms = durationsMs[Math.floor(durationsMs.length * 0.99)] ?? 0;
process.send?.({ perSecond, p99Ms, others } satisfies LoadResult);
