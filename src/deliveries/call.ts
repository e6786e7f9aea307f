import type { Logger } from 'pino';
import type { SinkConfig } from '../config/config.ts';
import type { Delivery, Event, Outcome, RaisedNotice } from '../model.ts';
import type { Claimed } from '../store/store.ts';
import { attemptAll, type AttemptParts } from './attempt.ts';
import { makeReady, nothingSent, type PrepareParts, sinkGone } from './prepare.ts';
import { defer, recordAll, type RecordParts, type Settled, withoutSecrets } from './record.ts';
import type { Settlement } from './settle.ts';
import type { Ended } from './traffic.ts';

export interface CallParts extends PrepareParts, AttemptParts, RecordParts {
  readonly observe: (report: AttemptReport) => void;
}

/** What happened to one delivery in one attempt: for the log line and the metrics. */
export interface AttemptReport {
  readonly delivery: Delivery;
  /** See Claimed. */
  readonly events: readonly Event[];
  readonly notice: RaisedNotice | null;
  readonly outcome: Outcome;
  readonly state: Settlement['state'];
  readonly dueAt: number | null;
  readonly startedAt: number;
  readonly endedAt: number;
}

/**
 * The way of what was claimed for one call: prepare, ask and send, mask, settle and record, observe. Returns what became of
 * the deliveries that the tool was called for. Never throws.
 */
export async function makeCall(
  parts: CallParts,
  call: readonly Claimed[],
  sink: SinkConfig | undefined,
  shutdown: AbortSignal,
): Promise<Ended[]> {
  const startedAt = parts.clock.now();
  const prepared = await Promise.all(
    call.map(async (claimed) =>
      sink
        ? makeReady(parts, claimed, sink, startedAt)
        : nothingSent(claimed, sinkGone(claimed.delivery.sink)),
    ),
  );
  const ready = prepared.filter((one) => 'request' in one);
  const unsent = prepared.filter((one) => 'ending' in one);
  const outsideHours = prepared.filter((one) => 'until' in one);

  await defer(parts, outsideHours, startedAt, shutdown);
  const ended = [...unsent, ...(sink ? await attemptAll(parts, ready, sink, shutdown) : [])];
  const attempted = await Promise.all(ended.map((one) => withoutSecrets(parts, one)));
  const endedAt = parts.clock.now();
  const settled = await recordAll(parts, attempted, { sink, startedAt, endedAt, shutdown });
  for (const one of settled) observe(parts, one);

  return attempted
    .filter(({ ending }) => !ending.unsent)
    .map(({ claimed, ending }) => ({ deliveryId: claimed.delivery.id, outcome: ending.outcome }));
}

function observe(parts: CallParts, { claimed, result: { state, dueAt, attempt } }: Settled): void {
  const { outcome, startedAt, endedAt } = attempt;
  try {
    parts.observe({ ...claimed, outcome, state, dueAt, startedAt, endedAt });
  } catch (error) {
    parts.callFailed(error);
  }
}

/** What the metrics have to be told of attempts. */
export interface AttemptMetrics {
  attempts(sink: string, outcome: string): void;
  /** `delayS`: from acceptance to delivered, in seconds. */
  delivered(sink: string, delayS: number): void;
}

/** One wide log line and the counters for each attempt. */
export function observeAttempts(log: Logger, metrics: AttemptMetrics): (report: AttemptReport) => void {
  return ({ delivery, events, notice, outcome, state, dueAt, startedAt, endedAt }) => {
    metrics.attempts(delivery.sink, outcome.outcome);
    if (state === 'delivered') {
      for (const { receivedAt } of events) metrics.delivered(delivery.sink, (endedAt - receivedAt) / 1000);
    }
    const failed = outcome.outcome !== 'delivered';
    const [first] = events;
    const line = {
      eventId: first?.id ?? null,
      ...(notice && { noticeId: notice.id }),
      ...(events.length > 1 && { events: events.length }),
      deliveryId: delivery.id,
      correlationId: first?.correlationId ?? null,
      rule: delivery.rule,
      sink: delivery.sink,
      attempt: delivery.attempts,
      outcome: outcome.outcome,
      ...(failed && { reason: outcome.reason, detail: outcome.detail }),
      state,
      ...(dueAt !== null && { dueAt: new Date(dueAt).toISOString() }),
      durationMs: endedAt - startedAt,
    };
    // No alert tells of its own failure, so the log is the last to say it.
    if (notice && state === 'dead') log.error({ ...line, notice }, 'an alert could not be delivered');
    else if (failed) log.warn(line, 'attempt');
    else log.info(line, 'attempt');
  };
}
