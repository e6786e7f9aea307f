import type { Clock, ClockJumps } from '../support/clock.ts';
import type { SinkConfig } from '../config/config.ts';
import { maskTexts, type Mask } from '../support/secret.ts';
import type { Delivery, Outcome, Receipt } from '../model.ts';
import { StoreUnavailable, type AttemptResult, type Claim, type Deferral } from '../store/store.ts';
import type { AttemptEnd, Postponement, PrepareParts } from './prepare.ts';
import { settle } from './settle.ts';

export interface RecordParts extends PrepareParts {
  readonly clock: Clock;
  readonly clockJumps: ClockJumps;
  /** Gives [0, 1). */
  readonly random: () => number;
  /** Whether the clock may be wrong by days. Nothing is given up then. */
  readonly clockDoubted: () => boolean;
  /** Called when the store is unavailable. The write is tried again. */
  readonly storeFailed: (error: unknown) => void;
  /** Called when a bug disturbed an attempt. Its outcome is still recorded if the store accepts it. */
  readonly callFailed: (error: unknown) => void;
  /** Called when a bug keeps an outcome from being recorded. The delivery stays `sending`, and an alert says so. */
  readonly unrecorded: (deliveryId: string) => void;
}

/** How long to wait after the store was unavailable. */
export const storeRetryMs = 1000;

/** An attempt as it was recorded. */
export interface AttemptRecord {
  readonly claimed: Claim;
  readonly result: Omit<AttemptResult, 'settledAt'>;
}

interface CallContext {
  readonly sink: SinkConfig | undefined;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly shutdown: AbortSignal;
}

/**
 * Settles and records attempts in one transaction. If a bug prevents that, records each alone, without details if need
 * be: the outcome must not be lost.
 */
export async function recordAll(
  parts: RecordParts,
  attempted: readonly AttemptEnd[],
  context: CallContext,
): Promise<AttemptRecord[]> {
  if (attempted.length === 0) return [];
  try {
    return await record(parts, attempted, context);
  } catch (error) {
    parts.callFailed(error);
  }
  const settled: AttemptRecord[] = [];
  for (const one of attempted) settled.push(...(await recordAlone(parts, one, context)));
  return settled;
}

async function recordAlone(
  parts: RecordParts,
  one: AttemptEnd,
  context: CallContext,
): Promise<AttemptRecord[]> {
  try {
    return await record(parts, [one], context).catch(() => record(parts, [withoutDetails(one)], context));
  } catch (error) {
    // Another attempt could send it again and again.
    parts.unrecorded(one.claimed.delivery.id);
    parts.callFailed(error);
    return [];
  }
}

async function record(
  parts: RecordParts,
  attempted: readonly AttemptEnd[],
  context: CallContext,
): Promise<AttemptRecord[]> {
  const settled = attempted.map((one) => ({
    claimed: one.claimed,
    result: resultOf(one, context, parts),
  }));
  await retryStore(parts, context.shutdown, () => {
    const settledAt = parts.clock.now();
    return parts.store.record(settled.map(({ result }) => ({ ...result, settledAt })));
  });
  return settled;
}

/** Returns deliveries to the queue that this call did not attempt. */
export async function defer(
  parts: RecordParts,
  deferred: readonly Postponement[],
  now: number,
  shutdown: AbortSignal,
): Promise<void> {
  if (deferred.length === 0) return;
  const deferrals = deferred.map(({ claimed, until }): Deferral => ({
    deliveryId: claimed.delivery.id,
    attempt: claimed.delivery.attempts,
    claimedAt: claimed.claimedAt,
    until,
  }));
  try {
    await retryStore(parts, shutdown, () => parts.store.defer(deferrals, now));
  } catch (error) {
    parts.callFailed(error);
  }
}

function resultOf(
  { claimed: { delivery, claimedAt }, prepared, ending }: AttemptEnd,
  { sink, startedAt, endedAt }: CallContext,
  { random, clockDoubted, clockJumps }: RecordParts,
): AttemptRecord['result'] {
  const retry = sink?.retry ?? noRetry;
  const settlement = settle(delivery, ending, {
    policy: clockDoubted() ? { ...retry, giveUpAfterMs: Infinity } : retry,
    now: endedAt,
    // The clock may have been set back during the attempt.
    quietAt: Math.min(startedAt, endedAt) + (sink?.timeoutMs ?? 0),
    skippedMs: (since) => clockJumps.skippedMs(since),
    random,
  });
  return {
    deliveryId: delivery.id,
    claimedAt,
    attempt: { number: delivery.attempts, startedAt, endedAt, outcome: ending.outcome },
    ...settlement,
    delayMs: Math.max(0, endedAt - delivery.createdAt),
    ...(ending.unsent && { unsent: true }),
    message: prepared?.message ?? null,
    thread: prepared?.thread ?? null,
  };
}

/** For a sink missing from the config, whose deliveries are all rejected. */
const noRetry = { minDelayMs: 0, maxDelayMs: 0, giveUpAfterMs: 0 };

/** Retries while the store is unavailable: a lost outcome would mean sending again. */
async function retryStore(
  parts: RecordParts,
  shutdown: AbortSignal,
  write: () => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      // Anything else is a bug, which would fail for ever and hold the sink's slot.
      if (!(error instanceof StoreUnavailable)) throw error;
      parts.storeFailed(error);
      // Left unrecorded at shutdown, the attempt is unknown at the next start.
      if (shutdown.aborted) return;
      await new Promise<void>((resolve) => parts.clock.after(storeRetryMs, resolve));
    }
  }
}

/**
 * Masks every secret in what is stored and shown of an attempt. Only texts from templates and tools are masked, one by
 * one: a secret may look like a number, like `false`, or like the name of an outcome.
 */
export async function maskAttempt(parts: RecordParts, attempted: AttemptEnd): Promise<AttemptEnd> {
  try {
    const { claimed, prepared, ending } = attempted;
    const mask = await maskFor(parts, claimed.delivery);
    return {
      claimed,
      prepared: prepared && { ...prepared, message: maskTexts(prepared.message, mask) },
      ending: { ...ending, outcome: maskOutcome(ending.outcome, mask) },
    };
  } catch (error) {
    parts.callFailed(error);
    return withoutDetails(attempted);
  }
}

/** An older plan may have put secrets into the message that today's config does not know. */
async function maskFor(parts: RecordParts, { configId }: Delivery): Promise<Mask> {
  const config = parts.config();
  const plan = configId === config.plan.id ? config.plan : await parts.plan(configId);
  return 'fault' in plan || plan === config.plan
    ? (text) => config.mask(text)
    : (text) => config.mask(plan.mask(text));
}

/** `progress` is not masked: the connector needs it unchanged, or it would repeat what is already done. */
function maskOutcome(outcome: Outcome, mask: Mask): Outcome {
  if (outcome.outcome === 'delivered') {
    const { note } = outcome;
    const receipt = maskTexts(outcome.receipt, mask) as Receipt;
    return { ...outcome, receipt, ...(note !== undefined && { note: mask(note) }) };
  }
  const detail = mask(outcome.detail);
  return outcome.outcome === 'rejected'
    ? { ...outcome, detail, advice: mask(outcome.advice) }
    : { ...outcome, detail };
}

const detailsLost = 'The details could not be kept because of a bug in the connector; its log has them.';

/** Keeps only the outcome, if the rest cannot be masked or stored: what was sent must not be sent again. */
function withoutDetails({ claimed, ending }: AttemptEnd): AttemptEnd {
  return { claimed, prepared: null, ending: { ...ending, outcome: outcomeAlone(ending.outcome) } };
}

function outcomeAlone(outcome: Outcome): Outcome {
  if (outcome.outcome === 'delivered') return { outcome: 'delivered', receipt: {}, note: detailsLost };
  const failure = { reason: 'unexpected', detail: detailsLost } as const;
  return outcome.outcome === 'rejected'
    ? { outcome: 'rejected', ...failure, advice: 'Replay it when the bug is fixed.' }
    : { outcome: outcome.outcome, ...failure };
}
