import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { CallerTokens } from '../config/live/caller-tokens.ts';
import type { ReceiverConfig } from '../config/config.ts';
import { answerProblem, faultLines, hangUp, type Refusal } from '../http/problem.ts';
import type { CandidateEvent, JsonMap } from '../model.ts';
import type { RefusedEvents } from '../model/notices.ts';
import { type Acceptance, type RejectedRequest, StoreUnavailable } from '../store/store.ts';
import { readTraceparent, traceIdOf } from '../support/trace.ts';
import { readBody, readContent } from './body.ts';
import { type Caller, correlationOf, explainAddress, gateOf, judgeCaller } from './caller.ts';

/** Takes events from the receiver. */
export interface Inbox {
  /** Resolves when the event is on disk. Throws StoreUnavailable when it cannot be stored. */
  accept(received: ReceivedEvent): Promise<Acceptance>;
  /** Stores a request that was refused for its content, if possible. Must not throw. Nobody waits for it. */
  keepRejected(request: RejectedRequest): void;
  /** Counts an event that was refused for its sender, who may be wanted: then it is kept; or that could not be stored. Must not throw. */
  keepRefused(reason: RefusedEvents['reason'], address: string, received: ReceivedEvent): void;
}

export interface ReceivedEvent {
  readonly event: CandidateEvent;
  /** The parsed body. */
  readonly raw: JsonMap;
  readonly correlationId: string | null;
  /** See readTraceparent. */
  readonly traceparent: string | null;
  readonly receivedAt: number;
}

export interface ReceiveParts {
  readonly tokens: Pick<CallerTokens, 'judge'>;
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
  /** `refusedFor`: of a refused one, if that has a reason. */
  requests(result: RequestResult, durationS: number, refusedFor?: RefusedFor): void;
}

export type Receive = (req: IncomingMessage, res: ServerResponse, config: ReceiverConfig) => Promise<void>;

/** Why a request is refused, with what is known of its event. */
interface RefusedReply {
  readonly refusal: Refusal;
  /** What was read of the body. Absent if it was not read. */
  readonly body?: Buffer;
  /** If it is refused for another reason than its content. */
  readonly event?: ReceivedEvent;
  /** Why the event could not be stored. Logged, but not sent. */
  readonly error?: Error;
}

/** Anybody may call, so what refused callers send is read within bounds. */
const refusedBodyMs = 5000;

const refusalReasons: Partial<Record<number, RefusedEvents['reason']>> = {
  401: 'token',
  403: 'address',
  503: 'store',
};

/** Handles a request: checks caller, size and content, hands the event to the inbox, answers. */
export function receiving(parts: ReceiveParts): Receive {
  const { tokens, inbox, accessLog, metrics, retryAfterS, bodyTimeoutMs } = parts;
  let placesForRefused = parts.mostRefused;

  /** Of a refused caller, as people have to know of events that were refused. */
  async function readRefused(
    req: IncomingMessage,
    res: ServerResponse,
    maxBytes: number,
    refusal: Refusal,
    known: Omit<ReceivedEvent, 'event' | 'raw'>,
  ): Promise<RefusedReply> {
    if (refusalReasons[refusal.status] === undefined || placesForRefused === 0) return { refusal };
    placesForRefused -= 1;
    const body = await readBody(req, res, maxBytes, Math.min(bodyTimeoutMs, refusedBodyMs)).finally(
      () => (placesForRefused += 1),
    );
    const content = readContent(req.headers, body, maxBytes);
    return 'event' in content
      ? { refusal, event: { ...content, ...known } }
      : { refusal, body: content.body };
  }

  function notStored(event: ReceivedEvent, error: unknown): RefusedReply {
    // After any error, even a bug, the event is not stored and the sender has to try again.
    const detail = 'The event could not be stored. Send it again.';
    const refusal = { status: 503, detail, headers: { 'retry-after': String(retryAfterS) } };
    return { refusal, event, error: error instanceof Error ? error : new Error(String(error)) };
  }

  // One async function for all of it: each event is one of these.
  return async (req, res, config) => {
    const startedMs = performance.now();
    const receivedAt = parts.now();
    const { maxBodyBytes } = config;
    const gate = gateOf(config);
    const caller = gate.callerOf(req);
    // A proxy may write anything, of any length, in place of an address.
    const address = caller.address ?? (caller.hops.at(-1) ?? '').slice(0, 60);
    const { id: correlationId, unusable } = correlationOf(req.headers, config.correlationHeader);
    const traceparent = readTraceparent(req.headers['traceparent'] as string | undefined);
    const judged = judgeCaller(req, gate, caller, tokens, receivedAt);
    let answer: Acceptance | RefusedReply;
    if (judged && 'status' in judged) {
      const known = { correlationId, traceparent, receivedAt };
      answer = await readRefused(req, res, maxBodyBytes, judged, known);
    } else {
      const content = readContent(
        req.headers,
        await readBody(req, res, maxBodyBytes, bodyTimeoutMs),
        maxBodyBytes,
      );
      if ('refusal' in content) answer = content;
      else {
        const { event, raw } = content;
        const received = { event, raw, correlationId, traceparent, receivedAt };
        try {
          answer = await inbox.accept(received);
        } catch (error) {
          answer = notStored(received, error);
        }
      }
    }

    const refused = 'refusal' in answer ? answer : null;
    const accepted = 'refusal' in answer ? null : answer;
    if (accepted) sendAcceptance(res, accepted);
    if (refused) sendRefusal(req, res, refused);
    const durationMs = performance.now() - startedMs;
    const outcome = outcomeOf(answer);
    const former = judged && 'warning' in judged ? judged.warning : undefined;
    metrics.requests(outcome, durationMs / 1_000, refused ? refusedForOf(refused) : undefined);
    // Never has the query, which may hold the token, or the whole body.
    const line: RequestLine = {
      outcome,
      status: res.statusCode,
      eventId: accepted && accepted.eventId,
      correlationId,
      traceId: traceIn(traceparent, answer),
      address,
      durationMs: Math.round(durationMs * 1_000) / 1_000,
      warning: warningFor(answer) ?? former ?? unusable ?? undefined,
    };
    accessLog.write(refused ? { ...line, ...refusalDetails(refused, caller, config) } : line);
    if (!refused) return;
    const { event, body, refusal } = refused;
    const { status, faults, detail } = refusal;
    if (body !== undefined && keptStatuses.has(status))
      inbox.keepRejected({
        receivedAt,
        address,
        correlationId,
        status,
        faults: faults ? faultLines(faults) : [detail],
        body: body.subarray(0, rejectedBodyBytes).toString('utf8'),
      });
    const reason = refusalReasons[status];
    if (event && reason) inbox.keepRefused(reason, address, event);
  };
}

const keptStatuses = new Set([400, 413, 415, 422]);
/** More than is stored: a secret must not be cut in two before it is masked. */
const rejectedBodyBytes = 4_096;

function sendAcceptance(res: ServerResponse, { eventId, duplicate }: Acceptance): void {
  const text = JSON.stringify({ eventId, duplicate });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  res.writeHead(duplicate ? 200 : 202, headers);
  res.end(text);
}

function sendRefusal(req: IncomingMessage, res: ServerResponse, { refusal, body }: RefusedReply): void {
  // If the body was not read, Node reads and drops it, and the connection can be reused.
  if (body !== undefined && !req.complete) hangUp(req, res, refusal);
  else answerProblem(res, refusal);
}

/** What a request is refused for, by the status of the answer. */
export const refusedFor = { 401: 'token', 403: 'address', 404: 'path', 405: 'method' } as const;
export type RefusedFor = (typeof refusedFor)[keyof typeof refusedFor];

const refusedForOf = ({ refusal: { status } }: RefusedReply): RefusedFor | undefined =>
  (refusedFor as Partial<Record<number, RefusedFor>>)[status];

function outcomeOf(answer: Acceptance | RefusedReply): RequestResult {
  if (!('refusal' in answer)) return answer.duplicate ? 'duplicate' : 'accepted';
  if (answer.refusal.status === 503) return 'failed';
  return refusedForOf(answer) === undefined ? 'invalid' : 'refused';
}

function warningFor(answer: Acceptance | RefusedReply): string | null {
  if ('refusal' in answer) {
    if (answer.error) return answer.error.message;
    return answer.refusal.status === 403 ? 'this address is not allowed to send events' : null;
  }
  return answer.correlationReused ? 'this correlation id was used before with other content' : null;
}

/** Null where none came and no event was stored. */
function traceIn(traceparent: string | null, answer: Acceptance | RefusedReply): string | null {
  if (traceparent === null && ('refusal' in answer || answer.duplicate)) return null;
  return traceIdOf({ id: 'refusal' in answer ? '' : answer.eventId, traceparent });
}

function refusalDetails(
  { refusal, error }: RefusedReply,
  caller: Caller,
  config: ReceiverConfig,
): Record<string, unknown> {
  return {
    detail: refusal.detail,
    ...(refusal.faults && { faults: faultLines(refusal.faults) }),
    ...(refusal.status === 403 && explainAddress(caller, config)),
    // An expected failure needs no stack.
    ...(error && !(error instanceof StoreUnavailable) && { err: error }),
  };
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
  readonly traceId: string | null;
  readonly address: string;
  readonly durationMs: number;
  /** What a person should look at. Raises the level to warn. */
  readonly warning?: string | undefined;
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
    const whole = suppressed > 0 ? { ...line, suppressed } : line;
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
