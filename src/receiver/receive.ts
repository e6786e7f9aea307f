import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallerTokens } from '../config/live/caller-tokens.ts';
import type { ReceiverConfig } from '../config/config.ts';
import { answerProblem, faultLines, hangUp, type Refusal } from '../http/problem.ts';
import { nothingHere } from '../http/server.ts';
import type { CandidateEvent, JsonMap } from '../model.ts';
import type { RefusedEvents } from '../model/notices.ts';
import { type Acceptance, type RejectedRequest, StoreUnavailable } from '../store/store.ts';
import { readTraceparent, traceIdOf } from '../support/trace.ts';
import type { AccessLog, RequestLine, RequestResult } from './access-log.ts';
import { readBody, readContent } from './body.ts';
import {
  type Caller,
  correlationOf,
  explainAddress,
  gateOf,
  judgeCaller,
  pathOf,
  redirected,
} from './caller.ts';
import { wrongPort } from './wrong-port.ts';

/** Takes events from the receiver. */
export interface Inbox {
  /** Resolves when the event is on disk. Throws StoreUnavailable when it cannot be stored. */
  accept(received: ReceivedEvent): Promise<Acceptance>;
  /** Stores a request that was refused for its content, if possible. Must not throw. Nobody waits for it. */
  keepRejected(request: RejectedRequest): void;
  /** Counts an event that was refused for its sender or its path, and keeps it for a person; or counts one that could not be stored. Must not throw. */
  keepRefused(reason: RefusedEvents['reason'], address: string, received: ReceivedEvent): void;
  /** Counts a connection that was closed at this time (ms) before its request was read, as there was no room. Must not throw. */
  noRoom(address: string, at: number): void;
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
  /** The most bodies of refused callers that are read at the same time, and also the most events that are held because they cannot be stored. */
  readonly mostWaiting: number;
  /** Aborted when the process stops: then nothing is held any more. */
  readonly stopping: AbortSignal;
}

export interface RequestMetrics {
  /** Counts a request. `refusedFor`: why it was refused, if it was. */
  requests(result: RequestResult, durationS: number, refusedFor?: RefusedFor): void;
}

/** `misled`: why the request is refused wherever its path leads. */
export type Receive = (
  req: IncomingMessage,
  res: ServerResponse,
  config: ReceiverConfig,
  misled?: Refusal,
) => Promise<void>;

/** Why a request is refused, with what is known of its event. */
interface RefusedReply {
  readonly refusal: Refusal;
  /** The body, as far as it was read. Absent if it was not read. */
  readonly body?: Buffer;
  /** The event, where it is refused for another reason than its content. */
  readonly event?: ReceivedEvent;
  /** Why the event could not be stored. Logged, but not sent. */
  readonly error?: Error;
}

/** What is known of a request before its body is read. */
interface Head extends Omit<ReceivedEvent, 'event' | 'raw'> {
  readonly startedMs: number;
  readonly caller: Caller;
  /** The caller's address, for the log. */
  readonly address: string;
  /** Why the caller may not send events, whatever the path is. */
  readonly callerRefusal: Refusal | null;
  /** Why the request is refused, whatever its body is. */
  readonly refusal: Refusal | null;
  /** Something that a person should know of a request that is not refused. */
  readonly warning: string | null;
}

/** The time-out for the body of a refused caller: anybody may call. */
const refusedBodyMs = 5000;

/** The pause before an event that could not be stored is tried again. */
const heldMs = 250;

/** Why requests are refused before their body is looked at, by the status of the answer. */
const beforeBody = { 401: 'token', 403: 'address', 404: 'path' } as const;
/** Why requests are refused for their sender, path or method. */
export const refusedFor = { ...beforeBody, 405: 'method' } as const;
export type RefusedFor = (typeof refusedFor)[keyof typeof refusedFor];
/** Why events are refused, as people are told. */
const refusalReasons: Partial<Record<number, RefusedEvents['reason']>> = { ...beforeBody, 503: 'store' };

/** Handles a request: checks caller, size and content, hands the event to the inbox, answers. */
export function receiving(parts: ReceiveParts): Receive {
  const { tokens, inbox, accessLog, metrics, retryAfterS, bodyTimeoutMs } = parts;
  let placesForRefused = parts.mostWaiting;
  let placesForHeld = parts.mostWaiting;

  function headOf(req: IncomingMessage, config: ReceiverConfig, misled?: Refusal): Head {
    const startedMs = performance.now();
    const receivedAt = parts.now();
    const gate = gateOf(config);
    const caller = gate.callerOf(req);
    // A proxy may write anything, of any length, in place of an address.
    const address = caller.address ?? (caller.hops.at(-1) ?? '').slice(0, 60);
    const { id: correlationId, unusable } = correlationOf(req.headers, config.correlationHeader);
    const traceparent = readTraceparent(req.headers['traceparent'] as string | undefined);
    const isRedirected = req.method === 'GET' && correlationId !== null && gate.allows(caller.address);
    const judged = isRedirected ? redirected : judgeCaller(req, gate, caller, tokens, receivedAt);
    const callerRefusal = judged && 'status' in judged ? judged : null;
    // A redirect may lead to any path. So may a scan, where anyone may call, and many gateways give each request an id.
    const paths = isRedirected ? [config.path, `${config.path}/`] : [config.path];
    const isHere = paths.includes(pathOf(req.url)) || (isRedirected && config.allowFrom !== 'any');
    const refusal = misled ?? (isHere ? callerRefusal : nothingHere);
    const warning = judged && 'warning' in judged ? judged.warning : unusable;
    return {
      startedMs,
      receivedAt,
      caller,
      address,
      correlationId,
      traceparent,
      callerRefusal,
      refusal,
      warning,
    };
  }

  /** Reads the body of a refused request if it may be an event: people have to know of events that were refused. */
  async function readRefused(
    req: IncomingMessage,
    res: ServerResponse,
    maxBytes: number,
    refusal: Refusal,
    head: Head,
  ): Promise<RefusedReply> {
    if (refusal === redirected) return { refusal, body: Buffer.alloc(0) };
    const mayBeEvent = req.method === 'POST' && refusalReasons[refusal.status] !== undefined;
    if (!mayBeEvent || placesForRefused === 0) return { refusal };
    placesForRefused -= 1;
    const body = await readBody(req, res, maxBytes, Math.min(bodyTimeoutMs, refusedBodyMs)).finally(
      () => (placesForRefused += 1),
    );
    const content = readContent(req.headers, body, maxBytes);
    return 'event' in content ? { refusal, event: receivedBy(head, content) } : { ...content, refusal };
  }

  /**
   * Tries again to store an event: the sender waits, and sends it only once more. It is not stored twice, as the next try finds
   * a duplicate where the one before was carried out after all.
   */
  async function acceptLater(
    received: ReceivedEvent,
    failure: unknown,
    untilMs: number,
  ): Promise<Acceptance | RefusedReply> {
    let error = failure;
    while (error instanceof StoreUnavailable && placesForHeld > 0 && performance.now() + heldMs < untilMs) {
      placesForHeld -= 1;
      try {
        await sleep(heldMs, undefined, { signal: parts.stopping });
        // As of now: by the time at which it came, its look-ups could be over before they are made, and its digest gone.
        return await inbox.accept({ ...received, receivedAt: parts.now() });
      } catch (again) {
        if (parts.stopping.aborted) break;
        error = again;
      } finally {
        placesForHeld += 1;
      }
    }
    return notStored(received, error);
  }

  function notStored(event: ReceivedEvent, error: unknown): RefusedReply {
    // After any error, even a bug, the event is not stored and the sender has to try again.
    const detail = 'The event could not be stored. Send it again.';
    const refusal = { status: 503, detail, headers: { 'retry-after': String(retryAfterS) } };
    return { refusal, event, error: error instanceof Error ? error : new Error(String(error)) };
  }

  function finish(
    req: IncomingMessage,
    res: ServerResponse,
    config: ReceiverConfig,
    { startedMs, receivedAt, caller, address, correlationId, traceparent, callerRefusal, warning }: Head,
    answer: Acceptance | RefusedReply,
  ): void {
    const refused = 'refusal' in answer ? answer : null;
    const accepted = 'refusal' in answer ? null : answer;
    if (accepted) sendAcceptance(res, accepted);
    if (refused) sendRefusal(req, res, refused);
    const durationMs = performance.now() - startedMs;
    const outcome = outcomeOf(answer);
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
      warning: warningFor(answer) ?? warning ?? undefined,
    };
    accessLog.write(refused ? { ...line, ...refusalDetails(refused, caller, req, config) } : line);
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
    // A refusal of the caller comes before one of the path: whoever may take the event in has to know that a stranger sent it.
    const reason = refusalReasons[callerRefusal?.status ?? status];
    if (event && reason) inbox.keepRefused(reason, address, event);
  }

  // Short, and the only async function for an event: while one waits, all of its variables stay in memory.
  return async (req, res, config, misled) => {
    const head = headOf(req, config, misled);
    const { maxBodyBytes, retryForMs } = config;
    if (head.refusal) {
      const answer = await readRefused(req, res, maxBodyBytes, head.refusal, head);
      return finish(req, res, config, head, answer);
    }
    const body = await readBody(req, res, maxBodyBytes, bodyTimeoutMs);
    const content = readContent(req.headers, body, maxBodyBytes);
    if ('refusal' in content) return finish(req, res, config, head, content);
    const received = receivedBy(head, content);
    let answer: Acceptance | RefusedReply;
    try {
      answer = await inbox.accept(received);
    } catch (error) {
      answer = await acceptLater(received, error, head.startedMs + retryForMs);
    }
    finish(req, res, config, head, answer);
  };
}

const receivedBy = (
  { correlationId, traceparent, receivedAt }: Head,
  { event, raw }: Pick<ReceivedEvent, 'event' | 'raw'>,
): ReceivedEvent => ({ event, raw, correlationId, traceparent, receivedAt });

const keptStatuses = new Set([400, 405, 408, 413, 415, 422]);
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
  // To a sender that has gone, the answer goes nowhere.
  if (body !== undefined && !req.complete && !req.destroyed) hangUp(req, res, refusal);
  else answerProblem(res, refusal);
}

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
    const { event, refusal } = answer;
    if (refusal.status === 403) return 'this address is not allowed to send events';
    if (refusal === wrongPort && event) return 'an event came to the admin port';
    return refusal.status === 404 && event ? 'an event came to another path than receiver.path' : null;
  }
  return answer.correlationReused ? 'this correlation id was used before with other content' : null;
}

/** The trace id for the log; null where none came and no event was stored. */
function traceIn(traceparent: string | null, answer: Acceptance | RefusedReply): string | null {
  if (traceparent === null && ('refusal' in answer || answer.duplicate)) return null;
  return traceIdOf({ id: 'refusal' in answer ? '' : answer.eventId, traceparent });
}

function refusalDetails(
  { refusal, error }: RefusedReply,
  caller: Caller,
  req: IncomingMessage,
  config: ReceiverConfig,
): Record<string, unknown> {
  return {
    detail: refusal.detail,
    ...(refusal.faults && { faults: faultLines(refusal.faults) }),
    ...(refusal.status === 403 && explainAddress(caller, config)),
    ...(refusal.status === 404 && { method: req.method, path: pathOf(req.url).slice(0, 200) }),
    // An expected failure needs no stack.
    ...(error && !(error instanceof StoreUnavailable) && { err: error }),
  };
}
