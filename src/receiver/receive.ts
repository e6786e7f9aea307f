import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { ReceiverConfig } from '../config/config.ts';
import { answerProblem, faultLines, hangUp, type Refusal } from '../http/problem.ts';
import type { CandidateEvent, JsonMap, RefusedEvents } from '../model.ts';
import { type Acceptance, type RejectedRequest, StoreUnavailable } from '../store/store.ts';
import { readBody, readContent } from './body.ts';
import {
  type Caller,
  type Correlation,
  correlationOf,
  explainAddress,
  type Gate,
  gateOf,
  refuseCaller,
} from './caller.ts';

/** Takes events from the receiver. */
export interface Inbox {
  /** Resolves when the event is on disk. Throws StoreUnavailable when it cannot be stored. */
  accept(received: ReceivedEvent): Promise<Acceptance>;
  /** Stores a request that was refused for its content, if possible. Must not throw. Nobody waits for it. */
  keepRejected(request: RejectedRequest): void;
  /** Counts an event that was refused for its sender, or that could not be stored. Must not throw. */
  countRefused(reason: RefusedEvents['reason'], address: string, at: number): void;
}

export interface ReceivedEvent {
  readonly event: CandidateEvent;
  /** The parsed body. */
  readonly raw: JsonMap;
  readonly correlationId: string | null;
  readonly receivedAt: number;
}

export interface ReceiveParts {
  readonly inbox: Inbox;
  readonly accessLog: AccessLog;
  readonly metrics: RequestMetrics;
  readonly now: () => number;
  /** `Retry-After` when an event could not be stored. */
  readonly retryAfterS: number;
  readonly bodyTimeoutMs: number;
  /** How many bodies of refused callers are read at the same time. */
  readonly mostRefused: number;
}

export interface RequestMetrics {
  requests(result: RequestResult, durationS: number): void;
}

export type Receive = (req: IncomingMessage, res: ServerResponse, config: ReceiverConfig) => Promise<void>;

/** Handles a request: checks caller, size and content, hands the event to the inbox, answers. */
export function receiving(parts: ReceiveParts): Receive {
  const { inbox } = parts;
  const places = { left: parts.mostRefused };
  return async (req, res, config) => {
    const request = readHead(req, res, config, parts.now());
    const answer = await answerTo(parts, places, request);
    if ('acceptance' in answer) sendAcceptance(request, answer);
    else sendRefusal(request, answer);
    const line = requestLine(request, answer);
    parts.metrics.requests(line.outcome, line.durationMs / 1_000);
    parts.accessLog.write(line);
    if (!('refusal' in answer)) return;
    keepRejected(inbox, request, answer);
    const reason = answer.isEvent && refusalReasons[answer.refusal.status];
    if (reason) inbox.countRefused(reason, request.address, request.receivedAt);
  };
}

const refusalReasons: Partial<Record<number, RefusedEvents['reason']>> = {
  401: 'token',
  403: 'address',
  503: 'store',
};

/** A request to the receiver's path, with what is known from its head. */
interface Request {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly config: ReceiverConfig;
  readonly gate: Gate;
  readonly caller: Caller;
  /** For the log: the caller's address, or what a proxy wrote instead. */
  readonly address: string;
  readonly correlation: Correlation;
  readonly receivedAt: number;
  /** On the monotonic clock. */
  readonly startedMs: number;
}

type Reply = AcceptedReply | RefusedReply;

interface AcceptedReply {
  readonly acceptance: Acceptance;
}

interface RefusedReply {
  readonly refusal: Refusal;
  /** What was read of the body. Absent if it was not read. */
  readonly body?: Buffer;
  /** It is an event, and refused for another reason than its content. */
  readonly isEvent?: boolean;
  /** Why the event could not be stored. Logged, but not sent. */
  readonly error?: Error;
}

function readHead(
  req: IncomingMessage,
  res: ServerResponse,
  config: ReceiverConfig,
  receivedAt: number,
): Request {
  const startedMs = performance.now();
  const gate = gateOf(config);
  const caller = gate.callerOf(req);
  // A proxy may write anything, of any length, in place of an address.
  const address = caller.address ?? (caller.hops.at(-1) ?? '').slice(0, 60);
  const correlation = correlationOf(req.headers, config.correlationHeader);
  return { req, res, config, gate, caller, address, correlation, receivedAt, startedMs };
}

/** `places`: for the bodies of refused callers. */
async function answerTo(parts: ReceiveParts, places: { left: number }, request: Request): Promise<Reply> {
  const { req, gate, caller, correlation, receivedAt } = request;
  const refusal = refuseCaller(req, gate, caller);
  if (refusal) return refused(parts, places, request, refusal);
  const content = await contentOf(request, parts.bodyTimeoutMs);
  if ('refusal' in content) return content;
  const { event, raw } = content;
  return accept(parts, { event, raw, correlationId: correlation.id, receivedAt });
}

async function contentOf({ req, res, config }: Request, timeoutMs: number) {
  const body = await readBody(req, res, { maxBytes: config.maxBodyBytes, timeoutMs });
  const content = readContent(req.headers, body, config.maxBodyBytes);
  return 'refusal' in content ? { ...content, body: body.bytes } : content;
}

const refusedBodyMs = 5000;

/** Reads what a refused caller sent, as people have to know of events that were refused. Anybody may call, so within bounds. */
async function refused(
  parts: ReceiveParts,
  places: { left: number },
  request: Request,
  refusal: Refusal,
): Promise<RefusedReply> {
  if (refusalReasons[refusal.status] === undefined || places.left === 0) return { refusal };
  places.left -= 1;
  const content = await contentOf(request, Math.min(parts.bodyTimeoutMs, refusedBodyMs)).finally(
    () => (places.left += 1),
  );
  return 'event' in content ? { refusal, isEvent: true } : { refusal, body: content.body };
}

async function accept({ inbox, retryAfterS }: ReceiveParts, received: ReceivedEvent): Promise<Reply> {
  try {
    return { acceptance: await inbox.accept(received) };
  } catch (error) {
    // After any error, even a bug, the event is not stored and the sender has to try again.
    const detail = 'The event could not be stored. Send it again.';
    const refusal = { status: 503, detail, headers: { 'retry-after': String(retryAfterS) } };
    return { refusal, isEvent: true, error: error instanceof Error ? error : new Error(String(error)) };
  }
}

function sendAcceptance({ res }: Request, { acceptance: { eventId, duplicate } }: AcceptedReply): void {
  const text = JSON.stringify({ eventId, duplicate });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  res.writeHead(duplicate ? 200 : 202, headers);
  res.end(text);
}

function sendRefusal({ req, res }: Request, { refusal, body }: RefusedReply): void {
  // If the body was not read, Node reads and drops it, and the connection can be reused.
  if (body !== undefined && !req.complete) hangUp(req, res, refusal);
  else answerProblem(res, refusal);
}

/** Never has the query, which may hold the token, or the whole body. */
function requestLine(request: Request, answer: Reply): RequestLine {
  const warning = warningFor(request, answer);
  return {
    outcome: resultOf(answer),
    status: request.res.statusCode,
    eventId: 'acceptance' in answer ? answer.acceptance.eventId : null,
    correlationId: request.correlation.id,
    address: request.address,
    durationMs: performance.now() - request.startedMs,
    ...(warning !== null && { warning }),
    ...('refusal' in answer && refusalDetails(request, answer)),
  };
}

function resultOf(answer: Reply): RequestResult {
  if ('acceptance' in answer) return answer.acceptance.duplicate ? 'duplicate' : 'accepted';
  return resultByStatus[answer.refusal.status] ?? 'invalid';
}

const resultByStatus: Partial<Record<number, RequestResult>> = {
  401: 'refused',
  403: 'refused',
  405: 'refused',
  503: 'failed',
};

function warningFor({ correlation }: Request, answer: Reply): string | null {
  if ('refusal' in answer) {
    if (answer.error) return answer.error.message;
    if (answer.refusal.status === 403) return 'this address is not allowed to send events';
  } else if (answer.acceptance.correlationReused) {
    return 'this correlation id was used before with other content';
  }
  return correlation.unusable;
}

function refusalDetails(
  { caller, config }: Request,
  { refusal, error }: RefusedReply,
): Record<string, unknown> {
  return {
    detail: refusal.detail,
    ...(refusal.faults && { faults: faultLines(refusal.faults) }),
    ...(refusal.status === 403 && explainAddress(caller, config)),
    // An expected failure needs no stack.
    ...(error && !(error instanceof StoreUnavailable) && { err: error }),
  };
}

const keptStatuses = new Set([400, 413, 415, 422]);
/** More than is stored: a secret must not be cut in two before it is masked. */
const rejectedBodyBytes = 4_096;

function keepRejected(inbox: Inbox, request: Request, { refusal, body }: RefusedReply): void {
  if (body === undefined || !keptStatuses.has(refusal.status)) return;
  inbox.keepRejected({
    receivedAt: request.receivedAt,
    address: request.address,
    correlationId: request.correlation.id,
    status: refusal.status,
    faults: refusal.faults ? faultLines(refusal.faults) : [refusal.detail],
    body: body.subarray(0, rejectedBodyBytes).toString('utf8'),
  });
}

/**
 * How a request ended. accepted, duplicate: the event is stored. invalid: refused for its content. refused: for its
 * sender, method or path. failed: the event could not be stored.
 */
export const requestResults = ['accepted', 'duplicate', 'invalid', 'refused', 'failed'] as const;
export type RequestResult = (typeof requestResults)[number];

/** A line of the access log. */
export interface RequestLine {
  readonly outcome: RequestResult;
  readonly status: number;
  readonly eventId: string | null;
  readonly correlationId: string | null;
  readonly address: string;
  readonly durationMs: number;
  /** What a person should look at. Raises the level to warn. */
  readonly warning?: string;
  readonly [more: string]: unknown;
}

const refusedLinesPerMinute = 20;

/**
 * Logs one line for each request. Lines for refused ones are limited, because a scan must not flood the log. The next
 * line says how many were suppressed.
 */
export class AccessLog {
  readonly #log: Logger;
  readonly #now: () => number;
  /** By status, so that a scan for paths does not hide a refused address. */
  readonly #budgets = new Map<number, { minute: number; left: number; suppressed: number }>();

  constructor(log: Logger, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  write(line: RequestLine): void {
    const suppressed = line.outcome === 'refused' ? this.#admit(line.status) : 0;
    if (suppressed === null) return;
    const durationMs = Math.round(line.durationMs * 1_000) / 1_000;
    const whole = { ...line, durationMs, ...(suppressed > 0 && { suppressed }) };
    if (line.warning === undefined) this.#log.info(whole, 'request');
    else this.#log.warn(whole, 'request');
  }

  /** How many lines with this status were suppressed since the last one; null if this one is too. */
  #admit(status: number): number | null {
    const minute = Math.floor(this.#now() / 60_000);
    const budget = this.#budgets.get(status) ?? { minute, left: refusedLinesPerMinute, suppressed: 0 };
    this.#budgets.set(status, budget);
    if (budget.minute !== minute) Object.assign(budget, { minute, left: refusedLinesPerMinute });
    if (budget.left === 0) {
      budget.suppressed += 1;
      return null;
    }
    const { suppressed } = budget;
    budget.left -= 1;
    budget.suppressed = 0;
    return suppressed;
  }
}
