import type { Clock, ClockJumps } from '../support/clock.ts';
import type { SinkConfig } from '../config/config.ts';
import { maskedJson, maskTexts, type Mask } from '../support/secret.ts';
import { hidingPersonal, lookupResult } from '../lookups/kept-facts.ts';
import { lookupConnector, lookupOf } from '../model.ts';
import type { Outcome, Receipt } from '../model/outcomes.ts';
import { StoreUnavailable, type AttemptResult, type Claim, type Deferral } from '../store/store.ts';
import type { AttemptEnd, Postponement, PrepareParts } from './prepare.ts';
import { settle } from './settle.ts';

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
  readonly result: AttemptResult;
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
export function recordAll(
  parts: RecordParts,
  attempted: readonly MaskedAttempt[],
  context: CallContext,
): Promise<readonly AttemptRecord[]> {
  const recordEach = (error: unknown) => recordAlone(parts, attempted, context, error);
  try {
    return recorded(parts, attempted, context).catch(recordEach);
  } catch (error) {
    return recordEach(error);
  }
}

async function recordAlone(
  parts: RecordParts,
  attempted: readonly MaskedAttempt[],
  context: CallContext,
  failure: unknown,
): Promise<readonly AttemptRecord[]> {
  parts.callFailed(failure);
  const records: AttemptRecord[] = [];
  for (const one of attempted) {
    try {
      const alone = Promise.try(recorded, parts, [one], context);
      records.push(...(await alone.catch(() => recorded(parts, [withoutDetails(one)], context))));
    } catch (error) {
      // Another attempt could send it again and again.
      parts.unrecorded(one.claimed.delivery.id);
      parts.callFailed(error);
    }
  }
  return records;
}

/** Not an async function, as it runs for each call: throws or rejects. */
function recorded(
  parts: RecordParts,
  attempted: readonly MaskedAttempt[],
  context: CallContext,
): Promise<readonly AttemptRecord[]> {
  const settled = attempted.map((one) => settledBy(parts, one, context));
  const write = () => {
    const settledAt = parts.clock.now();
    const results = settled.map(({ result }) =>
      result.settledAt === settledAt ? result : { ...result, settledAt },
    );
    return parts.store.record(results, parts.mayWait());
  };
  return write().then(
    () => settled,
    (error: unknown) => retryStore(parts, write, error).then(() => settled),
  );
}

/** Of a sink missing from the config, all deliveries are rejected. */
const noRetry = { minDelayMs: 0, maxDelayMs: 0, giveUpAfterMs: 0 };

function settledBy(
  parts: RecordParts,
  { claimed, message, thread, ending }: MaskedAttempt,
  { sink, startedAt, endedAt }: CallContext,
): AttemptRecord {
  const { delivery, claimedAt, row } = claimed;
  const { retry = noRetry, timeoutMs = 0 } = sink ?? {};
  const isLookup = delivery.connector === lookupConnector;
  const { state, dueAt, uncertain, progress, lastError } = settle(delivery, ending, {
    policy: parts.clockDoubted() ? { ...retry, giveUpAfterMs: Infinity } : retry,
    now: endedAt,
    // The clock may have been set back during the attempt.
    quietAt: Math.min(startedAt, endedAt) + timeoutMs,
    skippedMs: (since) => parts.clockJumps.skippedMs(since) + parts.pausedMs(delivery.sink, since),
    random: parts.random,
    lastTryMs: isLookup && sink ? lastTryMs(sink) : Infinity,
  });
  const attempt = { number: delivery.attempts, startedAt, endedAt, outcome: ending.outcome };
  const delayMs = Math.max(0, endedAt - delivery.createdAt);
  const what = { row, claimedAt, attempt, state, dueAt, uncertain, progress, lastError };
  const settled = { ...what, delayMs, message, thread, settledAt: endedAt };
  const result: AttemptResult = ending.unsent ? { ...settled, unsent: true } : settled;
  if (!isLookup) return { claimed, result };
  const lookup = parts.config().plan.lookups.get(lookupOf(delivery.sink) ?? '');
  return { claimed, result: lookupResult(result, delivery, lookup) };
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
  const deferrals = deferred.map(({ claimed, until }): Deferral => ({
    deliveryId: claimed.delivery.id,
    attempt: claimed.delivery.attempts,
    claimedAt: claimed.claimedAt,
    until,
  }));
  try {
    const write = () => parts.store.defer(deferrals, now);
    await write().catch((error: unknown) => retryStore(parts, write, error));
  } catch (error) {
    parts.callFailed(error);
  }
}

/** Writes again while the store is unavailable: a lost outcome would mean sending again. `failure`: of the first try. */
async function retryStore(parts: RecordParts, write: () => Promise<void>, failure: unknown): Promise<void> {
  // A loop: a store may be away for days, and a function that waits for its next try would keep each of them in memory.
  for (let error = failure; ;) {
    // Anything else is a bug, which would fail for ever and hold the sink's slot.
    if (!(error instanceof StoreUnavailable)) throw error;
    parts.storeFailed(error);
    // Left unrecorded at shutdown, the attempt is unknown at the next start.
    if (parts.shutdown.aborted) return;
    await new Promise<void>((resolve) => parts.clock.after(storeRetryMs, resolve));
    try {
      return await write();
    } catch (again) {
      error = again;
    }
  }
}

/**
 * Masks every secret in what is stored and shown of an attempt. Only texts from templates and tools are masked, one by
 * one: a secret may look like a number, like `false`, or like the name of an outcome. `progress` is not masked: the
 * connector needs it unchanged, or it would repeat what is already done.
 */
export function maskAttempt(
  parts: RecordParts,
  attempted: AttemptEnd,
): MaskedAttempt | Promise<MaskedAttempt> {
  const failed = (error: unknown) => {
    parts.callFailed(error);
    return withoutDetails(attempted);
  };
  try {
    const { configId } = attempted.claimed.delivery;
    const config = parts.config();
    if (configId === config.plan.id) return masked(attempted, config.mask);
    // An older plan may have put secrets into the message that today's config does not know.
    const older = async () => {
      const plan = await parts.plan(configId);
      return masked(attempted, 'fault' in plan ? config.mask : (text) => config.mask(plan.mask(text)));
    };
    return older().catch(failed);
  } catch (error) {
    return failed(error);
  }
}

function masked(attempted: AttemptEnd, mask: Mask): MaskedAttempt {
  const { claimed, prepared, ending, lookups = prepared?.lookups ?? [] } = attempted;
  const hide = lookups.length === 0 ? null : hidingPersonal(lookups);
  const quoted: Mask = hide === null ? mask : (text) => hide(mask(text));
  return {
    claimed,
    message: prepared && maskedJson(prepared.message, mask),
    thread: prepared?.thread ?? null,
    ending: { ...ending, outcome: maskedOutcome(ending.outcome, mask, quoted) },
  };
}

/** `quoted`: of texts that tools wrote. */
function maskedOutcome(outcome: Outcome, mask: Mask, quoted: Mask): Outcome {
  if (outcome.outcome === 'delivered') {
    const receipt = maskTexts(outcome.receipt, mask) as Receipt;
    return outcome.note === undefined
      ? { ...outcome, receipt }
      : { ...outcome, receipt, note: quoted(outcome.note) };
  }
  const detail = quoted(outcome.detail);
  return outcome.outcome === 'rejected'
    ? { ...outcome, detail, advice: quoted(outcome.advice) }
    : { ...outcome, detail };
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
