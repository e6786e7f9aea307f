import type { Logger } from 'pino';
import type { SinkConfig } from '../config/config.ts';
import { delivered } from '../connector.ts';
import { isAnswer } from '../lookups/kept-facts.ts';
import { type Delivery, type Event, lookupOf } from '../model.ts';
import type { RaisedNotice } from '../model/notices.ts';
import type { Outcome } from '../model/outcomes.ts';
import type { AttemptResult, Claim } from '../store/store.ts';
import { traceIdOf } from '../support/trace.ts';
import { attemptAll, type AttemptParts, type Permission } from './attempt.ts';
import { nothingSent, prepareAttempt, type PrepareParts, sinkMissing, tracedBy } from './prepare.ts';
import { defer, recordAll, type RecordParts, type AttemptRecord, maskAttempt } from './record.ts';
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
 * for which the tool was called. Never throws.
 */
export async function makeCall(
  parts: CallParts,
  call: readonly Claim[],
  sink: SinkConfig | undefined,
  permission: Permission,
): Promise<DeliveryOutcome[]> {
  const startedAt = parts.clock.now();
  const prepared = await ofEach(call, async (claimed) =>
    sink
      ? prepareAttempt(parts, claimed, sink, startedAt)
      : nothingSent(claimed, sinkMissing(claimed.delivery.sink)),
  );
  const ready = prepared.filter((one) => 'request' in one);
  const unsent = prepared.filter((one) => 'ending' in one);
  const outsideHours = prepared.filter((one) => 'until' in one);

  await defer(parts, outsideHours, startedAt);
  const ended = [...unsent, ...(sink ? await attemptAll(parts, ready, sink, permission) : [])];
  const attempted = await ofEach(ended, (one) => maskAttempt(parts, one));
  const endedAt = parts.clock.now();
  const settled = await recordAll(parts, attempted, { sink, startedAt, endedAt });
  for (const one of settled) observe(parts, one);

  return attempted
    .filter(({ ending }) => !ending.unsent)
    .map(({ claimed: { delivery }, ending: { outcome } }) =>
      outcome.outcome === 'retry' && isAnswer(delivery, outcome)
        ? { deliveryId: delivery.id, outcome: delivered({}), again: true }
        : { deliveryId: delivery.id, outcome },
    );
}

/** Most calls are of one delivery. */
async function ofEach<One, Result>(
  list: readonly One[],
  run: (one: One) => Promise<Result>,
): Promise<Result[]> {
  return list.length === 1 ? [await run(list[0]!)] : Promise.all(list.map(run));
}

function observe(parts: CallParts, { claimed, result: { state, dueAt, attempt } }: AttemptRecord): void {
  const { outcome, startedAt, endedAt } = attempt;
  const { sink, createdAt } = claimed.delivery;
  try {
    const wasPaused = parts.pausedMs(sink, createdAt) > 0;
    parts.observe({ ...claimed, outcome, state, dueAt, startedAt, endedAt, wasPaused });
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
  return ({ delivery, events, notice, outcome, state, dueAt, startedAt, endedAt, wasPaused }) => {
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
    const line = {
      eventId: first?.id ?? null,
      ...(notice && { noticeId: notice.id }),
      ...(events.length > 1 && { events: events.length }),
      deliveryId: delivery.id,
      correlationId: first?.correlationId ?? null,
      traceId: traceIdOf(tracedBy({ events, notice })),
      ...(lookup === null ? { rule: delivery.rule, sink: delivery.sink } : { lookup }),
      attempt: delivery.attempts,
      outcome: outcome.outcome,
      ...(failed && { reason: outcome.reason, detail: outcome.detail }),
      state,
      ...(dueAt !== null && { dueAt: new Date(dueAt).toISOString() }),
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
