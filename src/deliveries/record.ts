import type { Clock, ClockJumps } from '../support/clock.ts';
import type { SinkConfig } from '../config/config.ts';
import { maskedJson, maskTexts, type Mask } from '../support/secret.ts';
import { lazily } from '../support/text.ts';
import { hidingPersonal, lookupResult } from '../lookups/kept-facts.ts';
import { lookupConnector, lookupOf } from '../model.ts';
import type { Outcome, Receipt } from '../model/outcomes.ts';
import { StoreUnavailable, type AttemptResult, type Claim, type Deferral } from '../store/store.ts';
import type { AttemptEnd, Postponement, PrepareParts } from './prepare.ts';
import { type Circumstances, settle } from './settle.ts';

export interface RecordParts extends PrepareParts {
  readonly clock: Clock;
  readonly clockJumps: ClockJumps;
  readonly shutdown: AbortSignal;
  /** For how much of the time since then (ms) a person had paused the sink. */
  readonly pausedMs: (sink: string, since: number) => number;
  /** Gives [0, 1). */
  readonly random: () => number;
  /** Whether the clock may be wrong by days. Nothing is given up then. */
  readonly clockDoubted: () => boolean;
  /** Whether an outcome may be stored a few ms later: nothing waits for the slot. */
  readonly mayWait: () => boolean;
  /** Called when the store is unavailable. The write is tried again. */
  readonly storeFailed: (error: unknown) => void;
  /** Called when a bug disturbed an attempt. Its outcome is still recorded if the store accepts it. */
  readonly callFailed: (error: unknown) => void;
  /** Called when a bug keeps an outcome from being recorded. The delivery stays `sending`, and an alert says so. */
  readonly unrecorded: (deliveryId: string) => void;
}

/** How long to wait after the store was unavailable. */
export const storeRetryMs = 1000;

/** An attempt without the secrets of its texts. */
export interface MaskedAttempt
  extends Pick<AttemptEnd, 'claimed' | 'ending'>, Pick<AttemptResult, 'message' | 'thread'> {}

/** An attempt as it was recorded. */
export interface AttemptRecord {
  readonly claimed: Claim;
  readonly result: Omit<AttemptResult, 'settledAt'>;
}

interface CallContext {
  readonly sink: SinkConfig | undefined;
  readonly startedAt: number;
  readonly endedAt: number;
}

/**
 * Settles and records attempts in one transaction. If a bug prevents that, records each alone, without details if need
 * be: the outcome must not be lost.
 */
export async function recordAll(
  parts: RecordParts,
  attempted: readonly MaskedAttempt[],
  { sink, startedAt, endedAt }: CallContext,
): Promise<AttemptRecord[]> {
  // Of a sink missing from the config, all deliveries are rejected.
  const retry = sink?.retry ?? { minDelayMs: 0, maxDelayMs: 0, giveUpAfterMs: 0 };
  const recorded = async (some: readonly MaskedAttempt[]): Promise<AttemptRecord[]> => {
    const circumstances: Omit<Circumstances, 'skippedMs'> = {
      policy: parts.clockDoubted() ? { ...retry, giveUpAfterMs: Infinity } : retry,
      now: endedAt,
      // The clock may have been set back during the attempt.
      quietAt: Math.min(startedAt, endedAt) + (sink?.timeoutMs ?? 0),
      random: parts.random,
      ...(sink && lookupOf(sink.name) !== null && { lastTryMs: lastTryMs(sink) }),
    };
    const settled = some.map(({ claimed, message, thread, ending }) => {
      const { delivery, claimedAt, row } = claimed;
      const skippedMs = (since: number) =>
        parts.clockJumps.skippedMs(since) + parts.pausedMs(delivery.sink, since);
      const result: AttemptRecord['result'] = {
        row,
        claimedAt,
        attempt: { number: delivery.attempts, startedAt, endedAt, outcome: ending.outcome },
        ...settle(delivery, ending, { ...circumstances, skippedMs }),
        delayMs: Math.max(0, endedAt - delivery.createdAt),
        ...(ending.unsent && { unsent: true }),
        message,
        thread,
      };
      if (delivery.connector !== lookupConnector) return { claimed, result };
      const lookup = parts.config().plan.lookups.get(lookupOf(delivery.sink) ?? '');
      return { claimed, result: lookupResult(result, delivery, lookup) };
    });
    await retryStore(parts, () => {
      const settledAt = parts.clock.now();
      const results = settled.map(({ result }) => ({ ...result, settledAt }));
      return parts.store.record(results, parts.mayWait());
    });
    return settled;
  };
  if (attempted.length === 0) return [];
  try {
    return await recorded(attempted);
  } catch (error) {
    parts.callFailed(error);
  }
  const records: AttemptRecord[] = [];
  for (const one of attempted) {
    try {
      records.push(...(await recorded([one]).catch(() => recorded([withoutDetails(one)]))));
    } catch (error) {
      // Another attempt could send it again and again.
      parts.unrecorded(one.claimed.delivery.id);
      parts.callFailed(error);
    }
  }
  return records;
}

/** Of a look-up, whose events wait until it is given up: early enough for an answer. */
const lastTryMs = ({ timeoutMs, retry }: SinkConfig): number =>
  Math.round(Math.min(timeoutMs, retry.giveUpAfterMs / 10));

/** Returns deliveries to the queue that this call did not attempt. */
export async function defer(
  parts: RecordParts,
  deferred: readonly Postponement[],
  now: number,
): Promise<void> {
  if (deferred.length === 0) return;
  const deferrals = deferred.map(({ claimed, until }): Deferral => ({
    deliveryId: claimed.delivery.id,
    attempt: claimed.delivery.attempts,
    claimedAt: claimed.claimedAt,
    until,
  }));
  try {
    await retryStore(parts, () => parts.store.defer(deferrals, now));
  } catch (error) {
    parts.callFailed(error);
  }
}

/** Retries while the store is unavailable: a lost outcome would mean sending again. */
async function retryStore(parts: RecordParts, write: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      // Anything else is a bug, which would fail for ever and hold the sink's slot.
      if (!(error instanceof StoreUnavailable)) throw error;
      parts.storeFailed(error);
      // Left unrecorded at shutdown, the attempt is unknown at the next start.
      if (parts.shutdown.aborted) return;
      await new Promise<void>((resolve) => parts.clock.after(storeRetryMs, resolve));
    }
  }
}

/**
 * Masks every secret in what is stored and shown of an attempt. Only texts from templates and tools are masked, one by
 * one: a secret may look like a number, like `false`, or like the name of an outcome. `progress` is not masked: the
 * connector needs it unchanged, or it would repeat what is already done.
 */
export async function maskAttempt(parts: RecordParts, attempted: AttemptEnd): Promise<MaskedAttempt> {
  try {
    const { claimed, prepared, ending, lookups = prepared?.lookups ?? [] } = attempted;
    const config = parts.config();
    const { configId } = claimed.delivery;
    // An older plan may have put secrets into the message that today's config does not know.
    const plan = configId === config.plan.id ? config.plan : await parts.plan(configId);
    const mask: Mask =
      'fault' in plan || plan === config.plan
        ? (text) => config.mask(text)
        : (text) => config.mask(plan.mask(text));
    const { outcome } = ending;
    const hide = lazily(() => hidingPersonal(lookups));
    const quoted: Mask = (text) => hide()(mask(text));
    const masked: Outcome =
      outcome.outcome === 'delivered'
        ? {
            ...outcome,
            receipt: maskTexts(outcome.receipt, mask) as Receipt,
            ...(outcome.note !== undefined && { note: quoted(outcome.note) }),
          }
        : {
            ...outcome,
            detail: quoted(outcome.detail),
            ...(outcome.outcome === 'rejected' && { advice: quoted(outcome.advice) }),
          };
    return {
      claimed,
      message: prepared && maskedJson(prepared.message, mask),
      thread: prepared?.thread ?? null,
      ending: { ...ending, outcome: masked },
    };
  } catch (error) {
    parts.callFailed(error);
    return withoutDetails(attempted);
  }
}

/** Keeps only the outcome, if the rest cannot be masked or stored: what was sent must not be sent again. */
function withoutDetails({ claimed, ending }: Pick<AttemptEnd, 'claimed' | 'ending'>): MaskedAttempt {
  const { outcome } = ending.outcome;
  const lost = 'The details could not be kept because of a bug in the connector; its log has them.';
  const failure = { reason: 'unexpected', detail: lost, advice: 'Replay it when the bug is fixed.' } as const;
  const bare: Outcome =
    outcome === 'delivered' ? { outcome, receipt: {}, note: lost } : { outcome, ...failure };
  return { claimed, message: null, thread: null, ending: { ...ending, outcome: bare } };
}
