import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ReceiverConfig } from '../config/config.ts';
import { answerProblem, faultLines, hangUp, type Refusal } from '../http/problem.ts';
import type { CandidateEvent, JsonMap } from '../model.ts';
import { type Acceptance, type RejectedRequest, StoreUnavailable } from '../store/store.ts';
import type { AccessLog, RequestLine, RequestResult } from './access-log.ts';
import { readBody, readContent } from './body.ts';
import {
  type Correlation,
  correlationOf,
  explainAddress,
  type Gate,
  gateOf,
  type Judgement,
  refuseCaller,
} from './caller.ts';

/** Where the receiver puts what came. It knows nothing of what happens behind. */
export interface Inbox {
  /** Resolves when the event is on disk. Throws StoreUnavailable when it cannot be. */
  accept(received: Received): Promise<Acceptance>;
  /** Keeps a request that was refused for its content, if it can: it must not throw, and nobody waits for it. */
  keepRejected(request: RejectedRequest): void;
}

export interface Received {
  readonly event: CandidateEvent;
  /** The parsed body as it came. */
  readonly raw: JsonMap;
  readonly correlationId: string | null;
  readonly receivedAt: number;
}

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

/** A request to the receiver's path, and what its head says of it. */
export interface Visit {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly config: ReceiverConfig;
  readonly gate: Gate;
  readonly judged: Judgement;
  /** The judged address as text, whatever it is. */
  readonly address: string;
  readonly correlation: Correlation;
  readonly receivedAt: number;
  /** On the monotonic clock. */
  readonly startedMs: number;
}

export type Answer = Accepted | Refused;

export interface Accepted {
  readonly acceptance: Acceptance;
}

export interface Refused {
  readonly refusal: Refusal;
  /** What was read of the body, where it was looked at. */
  readonly body?: Buffer;
  /** Why the event could not be stored, which is not the sender's to know. */
  readonly error?: Error;
}

function visitOf(
  req: IncomingMessage,
  res: ServerResponse,
  config: ReceiverConfig,
  receivedAt: number,
): Visit {
  const gate = gateOf(config);
  const judged = gate.judge(req);
  return {
    req,
    res,
    config,
    gate,
    judged,
    // What a proxy wrote instead of an address can be of any length.
    address: judged.address ?? (judged.hops.at(-1) ?? '').slice(0, 60),
    correlation: correlationOf(req.headers, config.correlationHeader),
    receivedAt,
    startedMs: performance.now(),
  };
}

/** What the log says of a request: never its query, which may hold the token, and never its whole body. */
function requestLine(visit: Visit, answer: Answer): RequestLine {
  const warning = warningFor(visit, answer);
  return {
    outcome: resultOf(answer),
    status: visit.res.statusCode,
    eventId: 'acceptance' in answer ? answer.acceptance.eventId : null,
    correlationId: visit.correlation.id,
    address: visit.address,
    durationMs: performance.now() - visit.startedMs,
    ...(warning !== null && { warning }),
    ...('refusal' in answer && moreOn(visit, answer)),
  };
}

function resultOf(answer: Answer): RequestResult {
  if ('acceptance' in answer) return answer.acceptance.duplicate ? 'duplicate' : 'accepted';
  return resultByStatus[answer.refusal.status] ?? 'invalid';
}

const resultByStatus: Partial<Record<number, RequestResult>> = {
  401: 'refused',
  403: 'refused',
  405: 'refused',
  503: 'failed',
};

function warningFor({ correlation }: Visit, answer: Answer): string | null {
  if ('refusal' in answer) {
    if (answer.error) return answer.error.message;
    if (answer.refusal.status === 403) return 'this address is not allowed to send events';
  } else if (answer.acceptance.correlationReused) {
    return 'the same correlation id came before, with another content';
  }
  return correlation.unusable;
}

function moreOn({ judged, config }: Visit, { refusal, error }: Refused): Record<string, unknown> {
  return {
    detail: refusal.detail,
    ...(refusal.faults && { faults: faultLines(refusal.faults) }),
    ...(refusal.status === 403 && explainAddress(judged, config)),
    // The stack of an expected failure tells nothing.
    ...(error && !(error instanceof StoreUnavailable) && { err: error }),
  };
}
