import type { Delivered, Reason, Receipt, Rejected, Retry, Unknown } from '../model.ts';

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

/** A retry for a fault of the sink: other messages would fare the same. */
export const sinkWide: typeof retry = (...said) => ({ ...retry(...said), sinkWide: true });

/** A retry for a fault that may be the sink's, or this message's. */
export const perhapsSinkWide: typeof retry = (...said) => ({ ...retry(...said), sinkWide: 'perhaps' });

export const rejected = (reason: Reason, detail: string, advice: string): Rejected => ({
  outcome: 'rejected',
  reason,
  detail,
  advice,
});

export const unknown = (reason: Reason, detail: string): Unknown => ({ outcome: 'unknown', reason, detail });
