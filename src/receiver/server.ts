import { createServer, type Server } from 'node:http';
import express, { type Express } from 'express';
import type { Logger } from 'pino';
import type { ReceiverConfig } from '../config/config.ts';
import { health, type Readiness } from '../health.ts';
import { answerProblem } from '../problem.ts';
import { answerConnectionErrors } from './connection-errors.ts';
import type { Inbox } from './inbox.ts';
import { receiving, type RequestMetrics } from './receive.ts';

export interface ReceiverOptions {
  /** Asked for every request, so that a reload takes effect at once. Its host and port are for who calls `listen`. */
  readonly config: () => ReceiverConfig;
  readonly inbox: Inbox;
  readonly log: Logger;
  readonly metrics: RequestMetrics;
  readonly readiness: Readiness;
  readonly retryAfterS?: number;
  readonly now?: () => number;
  /** For the headers and, counted anew, for the body. */
  readonly timeoutMs?: number;
}

/** Behind proxies that keep connections open for a minute: the one who opened it should be the one who closes it. */
const keepAliveTimeoutMs = 75_000;

/** The server that the testing service calls; it does not listen yet. */
export function createReceiver(options: ReceiverOptions): Server {
  const { timeoutMs = 10_000 } = options;
  const app = receiverApp(options, timeoutMs);
  const server = createServer({
    headersTimeout: timeoutMs,
    // Ends a body that is only read to be let go; one that is wanted has run out of time before.
    requestTimeout: 2 * timeoutMs + 5_000,
    connectionsCheckingInterval: 500,
    keepAliveTimeout: keepAliveTimeoutMs,
  });
  server.on('request', app);
  // A body that is awaited is asked for where it is read; one that is refused never needs to be sent.
  server.on('checkContinue', app);
  // Any other expectation may be ignored (RFC 9110), and an event is worth more than a 417.
  server.on('checkExpectation', app);
  answerConnectionErrors(server);
  return server;
}

function receiverApp(options: ReceiverOptions, bodyTimeoutMs: number): Express {
  const { config, inbox, log, metrics, readiness, retryAfterS = 5, now = Date.now } = options;
  const receive = receiving({ inbox, log, metrics, now, retryAfterS, bodyTimeoutMs });
  const app = express().disable('x-powered-by').disable('etag');
  app.use((req, res, next) => {
    const current = config();
    return pathOf(req.url) === current.path ? receive(req, res, current) : next();
  });
  app.use(health(readiness));
  app.use((_req, res) => answerProblem(res, { status: 404, detail: 'There is nothing here.' }));
  return app;
}

/** Without the query, and without the origin that a proxy's form of a request has in front. */
function pathOf(url: string): string {
  const path = url.replace(/^https?:\/\/[^/?]*/i, '');
  const end = path.indexOf('?');
  return end === -1 ? path : path.slice(0, end);
}

/**
 * Takes no new connection, lets the requests under way end, and closes those connections that are still open after
 * `timeoutMs`. Resolves when all are closed. For any server of node:http.
 */
export async function stop(server: Server, timeoutMs: number): Promise<void> {
  // A sender that is never idle would otherwise keep its connection, and go on sending.
  server.prependListener('request', (_req, res) => res.setHeader('connection', 'close'));
  const closed = new Promise((resolve) => {
    server.close(resolve);
  });
  const idle = setInterval(() => server.closeIdleConnections(), 20);
  const forced = setTimeout(() => server.closeAllConnections(), timeoutMs);
  await closed;
  clearInterval(idle);
  clearTimeout(forced);
}
