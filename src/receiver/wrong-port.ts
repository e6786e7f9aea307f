import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { ReceiverConfig } from '../config/config.ts';
import type { CallerTokens } from '../config/live/caller-tokens.ts';
import { answerProblem, hangUp } from '../http/problem.ts';
import { readBody } from './body.ts';
import { correlationOf, gateOf, judgeCaller, pathOf } from './caller.ts';
import { type Inbox, rejectedBodyBytes, type RequestMetrics } from './receive.ts';

interface WrongPortParts {
  readonly config: () => ReceiverConfig;
  readonly tokens: Pick<CallerTokens, 'judge'>;
  readonly inbox: Pick<Inbox, 'keepRejected'>;
  readonly log: Pick<Logger, 'warn'>;
  readonly metrics: RequestMetrics;
  readonly now: () => number;
}

/** Answers a request to the admin port if it is an event, and keeps it. Null: it is something else, and is not answered. */
export type AnswerWrongPort = (req: IncomingMessage, res: ServerResponse) => Promise<void> | null;

const status = 404;
const detail =
  'This came to the port of the operations page, which takes no events. Let the Webhook URL, or the proxy that it leads to, call the port of the receiver.';

const bodyTimeoutMs = 5000;

/**
 * Keeps what somebody who may send events sends to the admin port as to the receiver's: the password, which such a request
 * lacks, would have it refused without a word to anybody.
 */
export function answeringWrongPort(parts: WrongPortParts): AnswerWrongPort {
  const { config, tokens, inbox, log, metrics, now } = parts;
  async function keep(req: IncomingMessage, res: ServerResponse, correlationId: string): Promise<void> {
    const receivedAt = now();
    const address = gateOf(config()).callerOf(req).address ?? '';
    const { bytes } = await readBody(req, res, config().maxBodyBytes, bodyTimeoutMs);
    if (req.complete || req.destroyed) answerProblem(res, { status, detail });
    else hangUp(req, res, { status, detail });
    metrics.requests('invalid', 0);
    const body = bytes.subarray(0, rejectedBodyBytes).toString('utf8');
    inbox.keepRejected({ receivedAt, address, correlationId, status, faults: [detail], body });
    log.warn({ correlationId, address, detail }, 'an event came to the admin port');
  }
  return (req, res) => {
    if (pathOf(req.url) !== config().path) return null;
    const { id } = correlationOf(req.headers, config().correlationHeader);
    const gate = gateOf(config());
    const judged = judgeCaller(req, gate, gate.callerOf(req), tokens, now());
    if (id === null || (judged !== null && 'status' in judged)) return null;
    return keep(req, res, id);
  };
}
