import { faultLines } from '../http/problem.ts';
import { StoreUnavailable } from '../store/store.ts';
import type { RequestLine, RequestResult } from './access-log.ts';
import { explainAddress } from './caller.ts';
import type { Answer, Refused, Visit } from './visit.ts';

/** What the log says of a request: never its query, which may hold the token, and never its whole body. */
export function requestLine(visit: Visit, answer: Answer): RequestLine {
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
