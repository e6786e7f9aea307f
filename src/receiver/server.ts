import type { Logger } from 'pino';
import type { ReceiverConfig } from '../config/config.ts';
import { placesOf } from '../http/connections.ts';
import { health, type Readiness } from '../http/health.ts';
import { afterBug, HttpServer, type HttpServerOptions } from '../http/server.ts';
import type { CallerTokens } from '../config/live/caller-tokens.ts';
import type { Refusal } from '../http/problem.ts';
import { AccessLog } from './access-log.ts';
import { type Inbox, receiving, type RequestMetrics } from './receive.ts';
import { gateOf, pathOf } from './caller.ts';
import { type AnswerWrongPort, isAtWrongPort, wrongPort } from './wrong-port.ts';

export interface ReceiverOptions extends HttpServerOptions {
  /** The config in force, asked for at every request. Host and port are not used here. */
  readonly config: () => ReceiverConfig;
  readonly tokens: Pick<CallerTokens, 'judge'>;
  readonly inbox: Inbox;
  readonly log: Logger;
  readonly metrics: RequestMetrics;
  readonly readiness: Readiness;
  /** `Retry-After` when an event could not be stored. */
  readonly retryAfterS?: number;
  readonly now?: () => number;
  /** See ReceiveParts. */
  readonly stopping?: AbortSignal;
  /** The time-out for the head of a request, and again for its body. */
  readonly timeoutMs?: number;
  readonly mostConnections?: number;
}

/** The least time between two entries about requests that are no valid HTTP (ms). */
const tellEveryMs = 60_000;
/** The default number of connections: far more than the service and its proxies need. */
const defaultMostConnections = 512;

/**
 * Makes the server that the testing service calls; `listen` opens its port. It is without Express, whose routing would be a tenth
 * of the cost of an event. `answerWrongPort`: for events that come to the admin port.
 */
export function createReceiver(options: ReceiverOptions): {
  readonly receiver: HttpServer;
  readonly answerWrongPort: AnswerWrongPort;
} {
  const { config, tokens, inbox, log, metrics, retryAfterS = 5, now = Date.now } = options;
  const {
    stopping = new AbortController().signal,
    timeoutMs: bodyTimeoutMs = 10_000,
    mostConnections = defaultMostConnections,
  } = options;
  const most = placesOf(mostConnections, 3 / 4);
  const mostWaiting = Math.floor(most / 2);
  const accessLog = new AccessLog(log, now);
  const receive = receiving({
    tokens,
    inbox,
    accessLog,
    metrics,
    now,
    retryAfterS,
    bodyTimeoutMs,
    mostWaiting,
    stopping,
  });
  const headers = { 'retry-after': String(retryAfterS) };
  // The event is not stored, so the sender has to try again.
  const failed = afterBug(log, { status: 503, detail: 'Internal error. Send the event again.', headers });
  const answersHealth = health(options.readiness);
  const isWelcome = (address: string) => gateOf(config()).knows(address);
  /** When one of the service's was told last, and one of others: a scan must not hide the service's. */
  const toldAt = { service: -Infinity, others: -Infinity };
  /**
   * Counts a request that is no valid HTTP, and at most once in tellEveryMs logs and keeps it. From an allowed sender or a
   * trusted proxy it may have been an event, of which nobody would hear otherwise; from others it is a scan.
   */
  function unreadable(address: string, { status, detail }: Refusal): void {
    if (!isWelcome(address)) return;
    metrics.requests('invalid', 0);
    const receivedAt = now();
    const whose = gateOf(config()).isOfTheService(address) ? 'service' : 'others';
    if (Math.abs(receivedAt - toldAt[whose]) < tellEveryMs) return;
    toldAt[whose] = receivedAt;
    accessLog.write({
      correlationId: null,
      status,
      address,
      outcome: 'invalid',
      eventId: null,
      traceId: null,
      durationMs: 0,
      warning: detail,
    });
    const correlationId = whose === 'service' ? '' : null;
    inbox.keepRejected({ correlationId, status, address, receivedAt, faults: [detail], body: '' });
  }
  /** As an allowed sender or a trusted proxy has opened the connection, it may have brought an event. */
  function noRoom(address: string): void {
    if (!isWelcome(address)) return;
    metrics.requests('failed', 0);
    inbox.noRoom(address, now());
  }
  const receiver = new HttpServer({ ...options, unreadable, noRoom }, { most, isWelcome }, (req, res) => {
    const current = config();
    if (pathOf(req.url) === current.path || !answersHealth(req, res))
      receive(req, res, current).catch((error: unknown) => failed(error, res));
  });
  const answerWrongPort: AnswerWrongPort = (req, res) => {
    const current = config();
    return isAtWrongPort(req, current, tokens, now()) ? receive(req, res, current, wrongPort) : null;
  };
  return { receiver, answerWrongPort };
}
