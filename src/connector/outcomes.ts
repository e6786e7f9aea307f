import type { Delivered, Reason, Receipt, Rejected, Retry, Unknown } from '../model/outcomes.ts';
import type { CallFailure } from './calls.ts';

export const delivered = (receipt: Receipt, note?: string): Delivered =>
  note === undefined ? { outcome: 'delivered', receipt } : { outcome: 'delivered', receipt, note };

/** A retry. `retryAfterMs`: the delay that the tool asked for, if any. */
export const retry = (reason: Reason, detail: string, retryAfterMs: number | null = null): Retry => ({
  outcome: 'retry',
  reason,
  detail,
  ...(retryAfterMs !== null && { retryAfterMs }),
});

/** A retry for a failure of the whole sink. */
export const sinkWide: typeof retry = (...given) => ({ ...retry(...given), sinkWide: true });

/** A retry for a failure of the sink or of this message only. */
export const perhapsSinkWide: typeof retry = (...given) => ({ ...retry(...given), sinkWide: 'perhaps' });

export const rejected = (reason: Reason, detail: string, advice: string): Rejected => ({
  outcome: 'rejected',
  reason,
  detail,
  advice,
});

export const unknown = (reason: Reason, detail: string): Unknown => ({ outcome: 'unknown', reason, detail });

/** The words for a tool in outcomes. */
export interface CalledTool {
  readonly name: string;
  /** The word for a delivery there, such as `message` or `row`. */
  readonly item: string;
  /** Ends the sentence where something else answered: what that may mean, with the fix to try. */
  readonly foreignAdvice: string;
}

/** The outcome of a call that got no answer from the tool. */
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

/** The outcome of a call that changes nothing people see, and so may be repeated. */
export function withoutEffect(outcome: Retry | Rejected | Unknown): Retry | Rejected {
  return outcome.outcome === 'unknown' ? sinkWide(outcome.reason, outcome.detail) : outcome;
}

/** The outcome of a call that only asks, and so may be repeated after any answer. */
export function askAgain(outcome: Retry | Rejected | Unknown): Retry {
  const again = withoutEffect(outcome);
  return again.outcome === 'retry' ? again : retry(again.reason, `${again.detail} ${again.advice}`);
}

/** One line of `check --live`. */
export interface LiveCheck {
  readonly ok: boolean;
  /** What was checked: "token valid", "may write there". */
  readonly what: string;
  readonly detail: string;
  /** The fix to try; only if `ok` is false. */
  readonly advice?: string;
}

export const passed = (what: string, detail: string): LiveCheck => ({ ok: true, what, detail });

export function failedCheck(what: string, outcome: Retry | Rejected | Unknown): LiveCheck {
  const { detail } = outcome;
  return { ok: false, what, detail, ...(outcome.outcome === 'rejected' && { advice: outcome.advice }) };
}

/** The check of the access token that a sink's calls need. `way`: added to the detail. */
export const tokenCheck = (result: { readonly outcome: Retry } | object, way = ''): LiveCheck =>
  'outcome' in result ? failedCheck('access token', result.outcome) : passed('access token', `granted${way}`);
