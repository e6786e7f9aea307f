import type { Logger } from 'pino';
import type { AttemptReport } from './call.ts';

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
