import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { ReceiverConfig } from '../config/config.ts';
import { answerProblem, type Refusal } from '../problem.ts';
import { StoreUnavailable, type Acceptance } from '../store/store.ts';
import { AccessLog, type RequestLine, type RequestResult } from './access-log.ts';
import type { Judgement } from './address.ts';
import { readBody } from './body.ts';
import { explainAddress, refuseCaller } from './caller.ts';
import { readContent } from './content.ts';
import { correlationOf, type Correlation } from './correlation.ts';
import { gateOf, type Gate } from './gate.ts';
import { hangUp } from './hang-up.ts';
import type { Inbox, Received } from './inbox.ts';

export interface ReceiveParts {
  readonly inbox: Inbox;
  readonly log: Logger;
  readonly metrics: RequestMetrics;
  readonly now: () => number;
  /** What a sender is told to wait when its event could not be stored. */
  readonly retryAfterS: number;
  readonly bodyTimeoutMs: number;
}

export interface RequestMetrics {
  requests(result: RequestResult, durationS: number): void;
}

/** A request to the receiver's path, and what its headers say of it. */
interface Visit {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly config: ReceiverConfig;
  readonly gate: Gate;
  readonly judged: Judgement;
  readonly correlation: Correlation;
  readonly receivedAt: number;
  readonly startedMs: number;
}

type Answer =
  | { readonly acceptance: Acceptance }
  | {
      readonly refusal: Refusal;
      /** The body is not whole and what is left of it is not wanted. */
      readonly hangUp?: boolean;
      /** What a person should know of it and the sender should not. */
      readonly because?: string;
    };

export type Receive = (req: IncomingMessage, res: ServerResponse, config: ReceiverConfig) => Promise<void>;

/** From a request to its answer: who may call, how large, what shape, then into the inbox. */
export function receiving(parts: ReceiveParts): Receive {
  const accessLog = new AccessLog(parts.log, parts.now);
  return async (req, res, config) => {
    const visit = arrive(parts, req, res, config);
    const answer = await answerTo(parts, visit);
    send(visit, answer);
    const line = lineFor(visit, answer);
    parts.metrics.requests(line.result, line.durationMs / 1_000);
    accessLog.write(line);
  };
}

function arrive(
  parts: ReceiveParts,
  req: IncomingMessage,
  res: ServerResponse,
  config: ReceiverConfig,
): Visit {
  const gate = gateOf(config);
  return {
    req,
    res,
    config,
    gate,
    judged: gate.judge(req),
    correlation: correlationOf(req.headers, config.correlationHeader),
    receivedAt: parts.now(),
    startedMs: performance.now(),
  };
}

async function answerTo(parts: ReceiveParts, visit: Visit): Promise<Answer> {
  const { req, res, config, gate, judged, correlation, receivedAt } = visit;
  const unwelcome = refuseCaller(req, gate, judged);
  if (unwelcome) return { refusal: unwelcome };
  const limits = { maxBytes: config.maxBodyBytes, timeoutMs: parts.bodyTimeoutMs };
  const body = await readBody(req, res, limits);
  const content = readContent(req.headers, body, config.maxBodyBytes);
  if ('event' in content) {
    const { event, raw } = content;
    return accept(parts, { event, raw, correlationId: correlation.id, receivedAt });
  }
  keepRejected(parts.inbox, visit, content.refusal, body.bytes);
  return { refusal: content.refusal, hangUp: !req.complete };
}

async function accept({ inbox, log, retryAfterS }: ReceiveParts, received: Received): Promise<Answer> {
  try {
    return { acceptance: await inbox.accept(received) };
  } catch (error) {
    // Anything else is a bug, but to the sender all the same: nothing was stored, so it has to come again.
    if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'accepting an event failed');
    const detail = 'The event could not be stored just now; send it again.';
    const refusal = { status: 503, detail, headers: { 'retry-after': String(retryAfterS) } };
    return { refusal, because: error instanceof Error ? error.message : String(error) };
  }
}

const keptStatuses = new Set([400, 413, 415, 422]);
const keptBodyBytes = 2_048;

function keepRejected(
  inbox: Inbox,
  { judged, correlation, receivedAt }: Visit,
  refusal: Refusal,
  body: Buffer,
) {
  if (!keptStatuses.has(refusal.status)) return;
  inbox.keepRejected({
    receivedAt,
    address: shown(judged),
    correlationId: correlation.id,
    status: refusal.status,
    faults: refusal.faults?.map(({ field, detail }) => `${field}: ${detail}`) ?? [refusal.detail],
    body: body.subarray(0, keptBodyBytes).toString('utf8'),
  });
}

function send({ req, res }: Visit, answer: Answer): void {
  if ('acceptance' in answer) {
    const { eventId, duplicate } = answer.acceptance;
    const text = JSON.stringify({ eventId, duplicate });
    res.writeHead(duplicate ? 200 : 202, {
      'content-type': 'application/json',
      'content-length': text.length,
    });
    res.end(text);
  } else if (answer.hangUp) {
    hangUp(req, res, answer.refusal);
  } else {
    answerProblem(res, answer.refusal);
  }
}

function lineFor(visit: Visit, answer: Answer): RequestLine {
  const warning = warningFor(visit, answer);
  return {
    result: resultOf(answer),
    status: visit.res.statusCode,
    eventId: 'acceptance' in answer ? answer.acceptance.eventId : null,
    correlationId: visit.correlation.id,
    address: shown(visit.judged),
    durationMs: performance.now() - visit.startedMs,
    ...('refusal' in answer && { detail: answer.refusal.detail }),
    ...(visit.res.statusCode === 403 && explainAddress(visit.judged, visit.config)),
    ...(warning !== undefined && { warning }),
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

function warningFor({ correlation }: Visit, answer: Answer): string | undefined {
  if ('refusal' in answer) return answer.because ?? correlation.unusable ?? undefined;
  if (answer.acceptance.correlationReused) return 'another event came under the same correlation id before';
  return correlation.unusable ?? undefined;
}

function shown({ address, hops }: Judgement): string {
  return address ?? hops.at(-1) ?? '';
}
