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

/** One attempt at one delivery, for the log and the metrics. */
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
  /** A person had paused the sink for a part of the time since the event came. */
  readonly wasPaused: boolean;
}

/**
 * Carries out one call for claimed deliveries: prepare, ask and send, mask, record, report. Returns the outcomes of those
 * for which the tool was called. Never throws. Each step takes all deliveries of the call, and waits only where there is
 * something to wait for.
 */
export async function makeCall(
  parts: CallParts,
  call: readonly Claim[],
  sink: SinkConfig | undefined,
  permission: Permission,
): Promise<readonly DeliveryOutcome[]> {
  const startedAt = parts.clock.now();
  const preparing = all(call.map((claimed) => prepareFor(parts, claimed, sink, startedAt)));
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
  const settled = await recordAll(parts, attempted, { sink, startedAt, endedAt });
  for (const one of settled) observe(parts, one);
  return those(attempted, isSent).map(outcomeOf);
}

// Made once: a function that is made for each call takes memory, too.
const isPostponed = (one: Preparation) => 'until' in one;
const isUnsent = (one: Preparation) => 'ending' in one;
const isReady = (one: Preparation) => 'asksOnly' in one;
const isSent = ({ ending }: MaskedAttempt) => !ending.unsent;
const nothing: readonly never[] = [];

function prepareFor(
  parts: CallParts,
  claimed: Claim,
  sink: SinkConfig | undefined,
  now: number,
): Preparation | Promise<Preparation> {
  if (sink) return prepareAttempt(parts, claimed, sink, now);
  return nothingSent(claimed, sinkMissing(claimed.delivery.sink));
}

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
  /** `answered`, `unknown` where it is over without an answer, or `retry`. */
  lookups(lookup: string, outcome: string): void;
  /** `delayS`: from acceptance to delivered, in seconds. `waited`: it was not due as soon as its event came. */
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
    // Always of the same shape, which is faster. What is undefined is not in the log.
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
    // No further alert is sent about this: only the log has it.
    if (notice && state === 'dead') log.error({ ...line, notice }, 'an alert could not be delivered');
    else {
      const what = lookup === null ? 'attempt' : 'look-up';
      if (failed) log.warn(line, what);
      else log.info(line, what);
    }
  };
}

/** For opening hours, a digest, look-ups or a person: the time until then says nothing about how the connector does. */
function hasWaited({ group, since, attempts, dueAt }: Delivery, receivedAt: number): boolean {
  const wasPutOff = attempts === 1 && dueAt > receivedAt;
  return group !== null || since > receivedAt || wasPutOff;
}
