import type { Delivered, Reason, Receipt, Rejected, Retry, Unknown } from '../model.ts';
import type { CallFailure } from './calls.ts';

/** The ways in which an attempt ends; see Outcome. */

export const delivered = (receipt: Receipt, note?: string): Delivered =>
  note === undefined ? { outcome: 'delivered', receipt } : { outcome: 'delivered', receipt, note };

/** `retryAfterMs`: the delay that the tool asked for, null where it asked for none. */
export const retry = (reason: Reason, detail: string, retryAfterMs: number | null = null): Retry => ({
  outcome: 'retry',
  reason,
  detail,
  ...(retryAfterMs !== null && { retryAfterMs }),
});

/** A retry for a fault of the sink: other messages would fail too. */
export const sinkWide: typeof retry = (...given) => ({ ...retry(...given), sinkWide: true });

/** A retry for a fault that may be the sink's, or this message's. */
export const perhapsSinkWide: typeof retry = (...given) => ({ ...retry(...given), sinkWide: 'perhaps' });

export const rejected = (reason: Reason, detail: string, advice: string): Rejected => ({
  outcome: 'rejected',
  reason,
  detail,
  advice,
});

export const unknown = (reason: Reason, detail: string): Unknown => ({ outcome: 'unknown', reason, detail });

/** What the outcome of a failed call names. */
export interface CalledTool {
  readonly name: string;
  /** What a delivery sends there: a message, a row. */
  readonly item: string;
  /** What an answer that is not the tool's may mean, with the fix to try. */
  readonly foreignAdvice: string;
}

/** The outcome of a call that got no answer of the tool's own. */
export function unansweredOutcome(failure: CallFailure, tool: CalledTool): Retry | Unknown {
  if (failure.kind === 'foreign') {
    return unknown('server', `Something other than ${tool.name} answered, ${tool.foreignAdvice}`);
  }
  if (failure.kind === 'stopped') {
    return failure.sent
      ? unknown('timeout', `${tool.name} had not answered when the time was up.`)
      : retry('timeout', `The time was up before the ${tool.item} could be sent.`);
  }
  return failure.sent
    ? unknown('network', `${tool.name} was reached, then ${failure.words}.`)
    : sinkWide('network', `${tool.name} could not be reached: ${failure.words}.`);
}

/** The same outcome for a call that changes nothing which people see: it may be made again. */
export function withoutEffect(outcome: Retry | Rejected | Unknown): Retry | Rejected {
  return outcome.outcome === 'unknown' ? sinkWide(outcome.reason, outcome.detail) : outcome;
}

/** The same outcome for a call that only asks: it may be made again, whatever the answer was. */
export function askAgain(outcome: Retry | Rejected | Unknown): Retry {
  const again = withoutEffect(outcome);
  return again.outcome === 'retry' ? again : retry(again.reason, `${again.detail} ${again.advice}`);
}

/** One line of `check --live`. */
export interface LiveCheck {
  readonly ok: boolean;
  /** What was asked: "token valid", "may write to the sheet". */
  readonly what: string;
  readonly detail: string;
  /** The fix to try; only where ok is false. */
  readonly advice?: string;
}

export const passed = (what: string, detail: string): LiveCheck => ({ ok: true, what, detail });

/** The line of a check whose call failed with this outcome. */
export function failedCheck(what: string, outcome: Retry | Rejected | Unknown): LiveCheck {
  const advice = outcome.outcome === 'rejected' ? outcome.advice : 'Fix that, then check again.';
  return { ok: false, what, detail: outcome.detail, advice };
}
