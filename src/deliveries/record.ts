import type { Clock, ClockJumps } from '../support/clock.ts';
import type { SinkConfig } from '../config/config.ts';
import { maskedJson, maskTexts, type Mask } from '../support/secret.ts';
import { hidingPersonal, lookupResult } from '../lookups/kept-facts.ts';
import { lookupConnector, lookupOf } from '../model.ts';
import type { Outcome, Receipt } from '../model/outcomes.ts';
import type { StoreFaults } from '../store/store-faults.ts';
import {
  StoreUnavailable,
  type AttemptResult,
  type Claim,
  type Deferral,
  type LaneHead,
} from '../store/store.ts';
import type { AttemptEnd, Postponement, PrepareParts } from './prepare.ts';
import { settle } from './settle.ts';

export interface RecordParts extends PrepareParts {
  readonly clock: Clock;
  readonly clockJumps: ClockJumps;
  readonly shutdown: AbortSignal;
  /** How long people had paused the sink since that time (ms). */
  readonly pausedMs: (sink: string, since: number) => number;
  /** Gives [0, 1). */
  readonly random: () => number;
  /** Whether the clock may be wrong by days. Nothing is given up then. */
  readonly clockDoubted: () => boolean;
  /** Whether an outcome may be stored a few ms later, as nothing waits for its slot. */
  readonly mayWait: () => boolean;
  /** For writes that are tried again, as the store is unavailable. */
  readonly faults: StoreFaults<unknown>;
  /** Called when a bug disturbed an attempt. Its outcome is still recorded if the store accepts it. */
  readonly callFailed: (error: unknown) => void;
  /** Hears to which lanes deliveries were moved. */
  readonly moved: (to: readonly Pick<LaneHead, 'sink' | 'lane'>[]) => void;
  /** Called when a bug keeps an outcome from being recorded. The delivery stays `sending`. */
  readonly unrecorded: (deliveryId: string) => void;
}

/** How long to wait after the store was unavailable. */
export const storeRetryMs = 1000;

/** An attempt with secrets masked. */
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
  /** How long it took by the monotonic clock (ms), as the other one may have been set meanwhile. */
  readonly tookMs: number;
}

/**
 * Settles and records attempts in one transaction. If a bug prevents that, records each alone, and if need be without
 * details: the outcome must not be lost.
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
      // It stays `sending`: another attempt could send it again and again.
      parts.unrecorded(one.claimed.delivery.id);
      parts.callFailed(error);
    }
  }
  return records;
}

/**
 * Settles and records attempts in one transaction. Throws or rejects: it is no async function, as it runs for each
 * call.
 */
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

/** For a sink that is not in the config: all of its deliveries are rejected. */
const noRetry = { minDelayMs: 0, maxDelayMs: 0, giveUpAfterMs: 0 };

function settledBy(
  parts: RecordParts,
  { claimed, message, thread, ending }: MaskedAttempt,
  { sink, startedAt, endedAt, tookMs }: CallContext,
): AttemptRecord {
  const { delivery, claimedAt, row } = claimed;
  const { retry = noRetry, timeoutMs = 0 } = sink ?? {};
  const isLookup = delivery.connector === lookupConnector;
  const { state, dueAt, uncertain, progress, lastError } = settle(delivery, ending, {
    policy: parts.clockDoubted() ? { ...retry, giveUpAfterMs: Infinity } : retry,
    now: endedAt,
    quietAt: endedAt + timeoutMs - tookMs,
    skippedMs: (since) => parts.clockJumps.skippedMs(since) + parts.pausedMs(delivery.sink, since),
    random: parts.random,
    lastTryMs: isLookup && sink ? lastTryMs(sink) : 0,
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

/** How long before a look-up is given up it is tried once more: early enough for an answer. */
const lastTryMs = ({ timeoutMs, retry }: SinkConfig): number =>
  Math.round(Math.min(timeoutMs, retry.giveUpAfterMs / 10));

/** Puts deliveries back that this call did not attempt. Never throws. */
export async function defer(
  parts: RecordParts,
  deferred: readonly Postponement[],
  now: number,
): Promise<void> {
  const deferrals = deferred.map(({ claimed, until, lane }): Deferral => ({
    deliveryId: claimed.delivery.id,
    attempt: claimed.delivery.attempts,
    claimedAt: claimed.claimedAt,
    until,
    ...(lane !== undefined && { lane }),
  }));
  try {
    const write = () => parts.store.defer(deferrals, now);
    await write().catch((error: unknown) => retryStore(parts, write, error));
    parts.moved(
      deferred.flatMap(({ claimed, lane }) =>
        lane === undefined ? [] : [{ sink: claimed.delivery.sink, lane }],
      ),
    );
  } catch (error) {
    parts.callFailed(error);
  }
}

/**
 * Repeats a write while the store is unavailable, as a lost outcome would mean sending again. `failure`: the error of the
 * first try. Throws what is a bug.
 */
async function retryStore(parts: RecordParts, write: () => Promise<void>, failure: unknown): Promise<void> {
  try {
    // A loop: the store may be away for days, and a recursive function would keep each try in memory.
    for (let error = failure; ;) {
      // A bug would fail for ever and hold the sink's slot.
      if (!(error instanceof StoreUnavailable)) throw error;
      parts.faults.failed(write, error);
      // Left unrecorded at shutdown, the attempt is unknown at the next start.
      if (parts.shutdown.aborted) return;
      await new Promise<void>((resolve) => parts.clock.after(storeRetryMs, resolve));
      try {
        return await write();
      } catch (again) {
        error = again;
      }
    }
  } finally {
    parts.faults.over(write);
  }
}

/**
 * Masks the secrets in what is stored and shown of an attempt. It masks only texts from templates and tools, one by one: a
 * secret may look like a number, like `false`, or like the name of an outcome. It leaves `progress`, which the connector needs
 * unchanged so as not to repeat what is done.
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
    // By an older plan, the message may have secrets that today's config does not know.
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

/** `quoted`: the mask for texts that tools wrote. */
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

/** An attempt with its outcome alone, for one whose details cannot be masked or stored: it must not be sent again. */
function withoutDetails({ claimed, ending }: Pick<AttemptEnd, 'claimed' | 'ending'>): MaskedAttempt {
  const { outcome } = ending.outcome;
  const lost = 'The details could not be kept because of a bug in the connector; its log has them.';
  const failure = { reason: 'unexpected', detail: lost, advice: 'Replay it when the bug is fixed.' } as const;
  const bare: Outcome =
    outcome === 'delivered' ? { outcome, receipt: {}, note: lost } : { outcome, ...failure };
  return { claimed, message: null, thread: null, ending: { ...ending, outcome: bare } };
}
