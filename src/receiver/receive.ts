import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ReceiverConfig } from '../config/config.ts';
import { answerProblem, faultLines, hangUp } from '../http/problem.ts';
import type { AccessLog, RequestResult } from './access-log.ts';
import { readBody } from './body.ts';
import { refuseCaller } from './caller.ts';
import { readContent } from './content.ts';
import type { Inbox, Received } from './inbox.ts';
import { requestLine } from './request-line.ts';
import { visitOf, type Accepted, type Answer, type Refused, type Visit } from './visit.ts';

export interface ReceiveParts {
  readonly inbox: Inbox;
  readonly accessLog: AccessLog;
  readonly metrics: RequestMetrics;
  readonly now: () => number;
  /** What a sender is told to wait when its event could not be stored. */
  readonly retryAfterS: number;
  readonly bodyTimeoutMs: number;
}

export interface RequestMetrics {
  requests(result: RequestResult, durationS: number): void;
}

export type Receive = (req: IncomingMessage, res: ServerResponse, config: ReceiverConfig) => Promise<void>;

/** From a request to its answer: who may call, how large, what shape, then into the inbox. */
export function receiving(parts: ReceiveParts): Receive {
  return async (req, res, config) => {
    const visit = visitOf(req, res, config, parts.now());
    const answer = await answerTo(parts, visit);
    if ('acceptance' in answer) sendAcceptance(visit, answer);
    else sendRefusal(visit, answer);
    const line = requestLine(visit, answer);
    parts.metrics.requests(line.outcome, line.durationMs / 1_000);
    parts.accessLog.write(line);
    if ('refusal' in answer) keepRejected(parts.inbox, visit, answer);
  };
}

async function answerTo(parts: ReceiveParts, visit: Visit): Promise<Answer> {
  const { req, res, config, gate, judged, correlation, receivedAt } = visit;
  const unwelcome = refuseCaller(req, gate, judged);
  if (unwelcome) return { refusal: unwelcome };
  const limits = { maxBytes: config.maxBodyBytes, timeoutMs: parts.bodyTimeoutMs };
  const body = await readBody(req, res, limits);
  const content = readContent(req.headers, body, config.maxBodyBytes);
  if ('refusal' in content) return { refusal: content.refusal, body: body.bytes };
  const { event, raw } = content;
  return accept(parts, { event, raw, correlationId: correlation.id, receivedAt });
}

async function accept({ inbox, retryAfterS }: ReceiveParts, received: Received): Promise<Answer> {
  try {
    return { acceptance: await inbox.accept(received) };
  } catch (error) {
    // Whatever it was, and be it a bug: the sender was promised nothing, and has to send it again.
    const detail = 'The event could not be stored just now; send it again.';
    const refusal = { status: 503, detail, headers: { 'retry-after': String(retryAfterS) } };
    return { refusal, error: error instanceof Error ? error : new Error(String(error)) };
  }
}

function sendAcceptance({ res }: Visit, { acceptance: { eventId, duplicate } }: Accepted): void {
  const text = JSON.stringify({ eventId, duplicate });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  res.writeHead(duplicate ? 200 : 202, headers);
  res.end(text);
}

function sendRefusal({ req, res }: Visit, { refusal, body }: Refused): void {
  // Where the body was never looked at, Node reads what is left of it, and the connection stays good.
  if (body !== undefined && !req.complete) hangUp(req, res, refusal);
  else answerProblem(res, refusal);
}

const keptStatuses = new Set([400, 413, 415, 422]);
/** More than is kept, so that a secret is not cut in two before it is found. */
const handedBodyBytes = 4_096;

function keepRejected(inbox: Inbox, visit: Visit, { refusal, body }: Refused): void {
  if (body === undefined || !keptStatuses.has(refusal.status)) return;
  inbox.keepRejected({
    receivedAt: visit.receivedAt,
    address: visit.address,
    correlationId: visit.correlation.id,
    status: refusal.status,
    faults: refusal.faults ? faultLines(refusal.faults) : [refusal.detail],
    body: body.subarray(0, handedBodyBytes).toString('utf8'),
  });
}
