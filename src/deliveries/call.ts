import type { Logger } from 'pino';
import type { SinkConfig } from '../config/config.ts';
import { delivered } from '../connector.ts';
import { isAnswer } from '../lookups/kept-facts.ts';
import { type Delivery, type Event, lookupOf } from '../model.ts';
import type { RaisedNotice } from '../model/notices.ts';
import type { Outcome } from '../model/outcomes.ts';
import type { AttemptResult, Claim } from '../store/store.ts';
import { all, those } from '../support/lists.ts';
import { traceIdOf } from '../support/trace.ts';
import { attemptAll, type AttemptParts, type Permission } from './attempt.ts';
import {
  nothingSent,
  type Preparation,
  prepareAttempt,
  type PrepareParts,
  sinkMissing,
  tracedBy,
} from './prepare.ts';
import {
  type AttemptRecord,
  defer,
  maskAttempt,
  type MaskedAttempt,
  recordAll,
  type RecordParts,
} from './record.ts';
import type { DeliveryOutcome } from './traffic.ts';

export interface CallParts extends PrepareParts, AttemptParts, RecordParts {
  readonly observe: (report: AttemptReport) => void;
}

/** An attempt at a delivery, for the log and the metrics. */
export interface AttemptReport {
  readonly delivery: Delivery;
  /** See Claim. */
  readonly events: readonly Event[];
  readonly notice: RaisedNotice | null;
  readonly outcome: Outcome;
  readonly state: AttemptResult['state'];
  readonly dueAt: number | null;
  readonly startedAt: number;
  readonly endedAt: number;
  /** Whether a person had paused the sink at some time since the event came. */
  readonly wasPaused: boolean;
}

/**
 * Carries out one call for claimed deliveries: prepare, ask and send, mask, record, report. Returns the outcomes of those
 * for which the tool was called. Never throws. Each step takes all deliveries of the call. For speed, a step waits only if it
 * has a promise to wait for.
 */
export async function makeCall(
  parts: CallParts,
  call: readonly Claim[],
  sink: SinkConfig | undefined,
  permission: Permission,
): Promise<readonly DeliveryOutcome[]> {
  const [startedAt, beganAt] = [parts.clock.now(), parts.clock.elapsed()];
  const preparing = all(
    call.map((claimed) =>
      sink
        ? prepareAttempt(parts, claimed, sink, startedAt)
        : nothingSent(claimed, sinkMissing(claimed.delivery.sink)),
    ),
  );
  const prepared = preparing instanceof Promise ? await preparing : preparing;
  const postponed = those(prepared, isPostponed);
  if (postponed.length > 0) await defer(parts, postponed, startedAt);

  const unsent = those(prepared, isUnsent);
  const ready = those(prepared, isReady);
  const sent =
    sink && ready.length > 0 ? await attemptAll(parts, ready, sink, permission, startedAt) : nothing;
  const masking = all(
    (unsent.length === 0 ? sent : [...unsent, ...sent]).map((one) => maskAttempt(parts, one)),
  );
  const attempted = masking instanceof Promise ? await masking : masking;
  if (attempted.length === 0) return nothing;

  const endedAt = parts.clock.now();
  const tookMs = parts.clock.elapsed() - beganAt;
  const settled = await recordAll(parts, attempted, { sink, startedAt, endedAt, tookMs });
  for (const one of settled) observe(parts, one);
  return those(attempted, isSent).map(outcomeOf);
}

// Outside of makeCall, where each call would make them anew.
const isPostponed = (one: Preparation) => 'until' in one;
const isUnsent = (one: Preparation) => 'ending' in one;
const isReady = (one: Preparation) => 'asksOnly' in one;
const isSent = ({ ending }: MaskedAttempt) => !ending.unsent;
const nothing: readonly never[] = [];

/** Where a look-up is asked again since its answer was not complete, its API has answered: for the sink that is a success. */
function outcomeOf({ claimed: { delivery }, ending: { outcome } }: MaskedAttempt): DeliveryOutcome {
  return outcome.outcome === 'retry' && isAnswer(delivery, outcome)
    ? { deliveryId: delivery.id, outcome: delivered({}), again: true }
    : { deliveryId: delivery.id, outcome };
}

function observe(parts: CallParts, { claimed, result: { state, dueAt, attempt } }: AttemptRecord): void {
  const { outcome, startedAt, endedAt } = attempt;
  const { sink, createdAt } = claimed.delivery;
  try {
    const { delivery, events, notice } = claimed;
    const wasPaused = parts.pausedMs(sink, createdAt) > 0;
    parts.observe({ delivery, events, notice, outcome, state, dueAt, startedAt, endedAt, wasPaused });
  } catch (error) {
    parts.callFailed(error);
  }
}

/** The metrics of attempts. */
export interface AttemptMetrics {
  attempts(sink: string, outcome: string): void;
  /** `outcome`: `answered`, `unknown` if it was given up without an answer, or `retry`. */
  lookups(lookup: string, outcome: string): void;
  /**
   * `delayS`: from acceptance to delivery, in seconds. `waited`: it waited for hours, a digest, look-ups or a person.
   */
  delivered(sink: string, delayS: number, waited: boolean): void;
}

/** Logs and counts each attempt. */
export function observeAttempts(log: Logger, metrics: AttemptMetrics): (report: AttemptReport) => void {
  return (report) => {
    const { delivery, events, notice, outcome, state, dueAt, startedAt, endedAt, wasPaused } = report;
    const lookup = lookupOf(delivery.sink);
    if (lookup === null) metrics.attempts(delivery.sink, outcome.outcome);
    else if (outcome.outcome === 'delivered') metrics.lookups(lookup, 'answered');
    else metrics.lookups(lookup, state === 'pending' ? 'retry' : 'unknown');
    if (state === 'delivered' && lookup === null) {
      for (const { receivedAt } of events)
        metrics.delivered(
          delivery.sink,
          (endedAt - receivedAt) / 1000,
          wasPaused || hasWaited(delivery, receivedAt),
        );
    }
    const failed = outcome.outcome !== 'delivered';
    const [first] = events;
    // Always of the same shape, which is faster. Undefined fields are left out of the log.
    const line = {
      eventId: first?.id ?? null,
      noticeId: notice?.id,
      events: events.length > 1 ? events.length : undefined,
      deliveryId: delivery.id,
      correlationId: first?.correlationId ?? null,
      traceId: traceIdOf(tracedBy(report)),
      rule: lookup === null ? delivery.rule : undefined,
      sink: lookup === null ? delivery.sink : undefined,
      lookup: lookup ?? undefined,
      attempt: delivery.attempts,
      outcome: outcome.outcome,
      reason: failed ? outcome.reason : undefined,
      detail: failed ? outcome.detail : undefined,
      state,
      dueAt: dueAt === null ? undefined : new Date(dueAt).toISOString(),
      durationMs: endedAt - startedAt,
    };
    // Only the log tells of it: no alert tells of another alert.
    if (notice && state === 'dead') log.error({ ...line, notice }, 'an alert could not be delivered');
    else {
      const what = lookup === null ? 'attempt' : 'look-up';
      if (failed) log.warn(line, what);
      else log.info(line, what);
    }
  };
}

/**
 * Whether a delivery waited for opening hours, a digest, look-ups or a person: its delay is then not the connector's.
 */
function hasWaited({ group, since, attempts, dueAt }: Delivery, receivedAt: number): boolean {
  const wasPutOff = attempts === 1 && dueAt > receivedAt;
  return group !== null || since > receivedAt || wasPutOff;
}
