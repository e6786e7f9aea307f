import type { Logger } from 'pino';
import type { AttemptReport } from './worker.ts';

/** What the metrics have to be told of attempts. */
export interface AttemptMetrics {
  attempts(sink: string, outcome: string): void;
  /** `delayS`: from acceptance to delivered, in seconds. */
  delivered(sink: string, delayS: number): void;
}

/** One wide log line and the counters for each attempt. */
export function observeAttempts(log: Logger, metrics: AttemptMetrics): (report: AttemptReport) => void {
  return ({ delivery, event, outcome, state, dueAt, durationMs, ageMs }) => {
    metrics.attempts(delivery.sink, outcome.outcome);
    if (state === 'delivered') metrics.delivered(delivery.sink, ageMs / 1000);
    const failed = outcome.outcome !== 'delivered';
    const line = {
      eventId: event.id,
      deliveryId: delivery.id,
      correlationId: event.correlationId,
      rule: delivery.rule,
      sink: delivery.sink,
      attempt: delivery.attempts,
      outcome: outcome.outcome,
      ...(failed && { reason: outcome.reason, detail: outcome.detail }),
      state,
      ...(dueAt !== null && { dueAt: new Date(dueAt).toISOString() }),
      durationMs,
    };
    if (failed) log.warn(line, 'attempt');
    else log.info(line, 'attempt');
  };
}
