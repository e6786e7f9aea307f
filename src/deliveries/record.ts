import type { Clock } from '../support/clock.ts';
import type { Config, SinkConfig } from '../config/config.ts';
import { maskTexts, type Mask } from '../support/secret.ts';
import type { Delivery, Outcome, Receipt } from '../model.ts';
import type { Plan } from '../rules/plan.ts';
import {
  StoreUnavailable,
  type AttemptResult,
  type Claimed,
  type Deferral,
  type Store,
} from '../store/store.ts';
import type { Attempted, Deferred } from './prepare.ts';
import { settle } from './settle.ts';

export interface RecordParts {
  readonly store: Store;
  readonly clock: Clock;
  /** Gives [0, 1). */
  readonly random: () => number;
  readonly config: () => Config;
  readonly plan: (configId: string) => Promise<Plan | { readonly lost: string }>;
  /** Told when the store could not be used; it is tried again. */
  readonly storeFailed: (error: unknown) => void;
  /** Told of a bug around an attempt. How it ended is recorded all the same, where the store takes that. */
  readonly callFailed: (error: unknown) => void;
}

/** How long to leave a store alone that could not be used. */
export const storeRetryMs = 1000;

/** An attempt, and what becomes of its delivery. */
export interface Settled {
  readonly claimed: Claimed;
  readonly result: Omit<AttemptResult, 'settledAt'>;
}

export interface Circumstances {
  readonly sink: SinkConfig | undefined;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly shutdown: AbortSignal;
}

/**
 * Settles and records what was attempted, in one transaction. Where a bug prevents that, each is recorded alone;
 * a bug costs words, not outcomes.
 */
export async function recordAll(
  parts: RecordParts,
  attempted: readonly Attempted[],
  circumstances: Circumstances,
): Promise<Settled[]> {
  if (attempted.length === 0) return [];
  try {
    return await record(parts, attempted, circumstances);
  } catch (error) {
    parts.callFailed(error);
  }
  const settled: Settled[] = [];
  for (const one of attempted) settled.push(...(await recordAlone(parts, one, circumstances)));
  return settled;
}

async function recordAlone(
  parts: RecordParts,
  one: Attempted,
  circumstances: Circumstances,
): Promise<Settled[]> {
  try {
    return await record(parts, [one], circumstances).catch(() =>
      record(parts, [withoutWords(one)], circumstances),
    );
  } catch (error) {
    // It stays `sending`, of which an alert tells: to try it again could send it again and again.
    parts.callFailed(error);
    return [];
  }
}

async function record(
  parts: RecordParts,
  attempted: readonly Attempted[],
  circumstances: Circumstances,
): Promise<Settled[]> {
  const settled = attempted.map((one) => ({
    claimed: one.claimed,
    result: resultOf(one, circumstances, parts.random),
  }));
  await retryStore(parts, circumstances.shutdown, () => {
    const settledAt = parts.clock.now();
    return parts.store.record(settled.map(({ result }) => ({ ...result, settledAt })));
  });
  return settled;
}

/** Puts off deliveries that came outside their hours. */
export async function defer(
  parts: RecordParts,
  deferred: readonly Deferred[],
  now: number,
  shutdown: AbortSignal,
): Promise<void> {
  if (deferred.length === 0) return;
  const deferrals = deferred.map(({ claimed, until }): Deferral => ({
    deliveryId: claimed.delivery.id,
    until,
  }));
  try {
    await retryStore(parts, shutdown, () => parts.store.defer(deferrals, now));
  } catch (error) {
    parts.callFailed(error);
  }
}

function resultOf(
  { claimed: { delivery }, prepared, ending }: Attempted,
  { sink, startedAt, endedAt }: Circumstances,
  random: () => number,
): Settled['result'] {
  const settlement = settle(delivery, ending, {
    policy: sink?.retry ?? noRetry,
    now: endedAt,
    quietAt: startedAt + (sink?.timeoutMs ?? 0),
    random,
  });
  return {
    deliveryId: delivery.id,
    attempt: { number: delivery.attempts, startedAt, endedAt, outcome: ending.outcome },
    ...settlement,
    message: prepared?.message ?? null,
    thread: prepared?.thread ?? null,
  };
}

/** For a sink that the config lacks: what is meant for it is rejected, and so never waits. */
const noRetry = { minDelayMs: 0, maxDelayMs: 0, giveUpAfterMs: 0 };

/** Tries until the store can be used: to lose an outcome would mean sending again. */
async function retryStore(
  parts: RecordParts,
  shutdown: AbortSignal,
  write: () => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      // A bug would fail for ever, and hold the sink's place.
      if (!(error instanceof StoreUnavailable)) throw error;
      parts.storeFailed(error);
      // After a shutdown's grace the outcome stays unrecorded, and the next start takes it for unknown.
      if (shutdown.aborted) return;
      await new Promise<void>((resolve) => parts.clock.after(storeRetryMs, resolve));
    }
  }
}

/** What is kept and shown of an attempt, with every secret masked. */
export async function withoutSecrets(parts: RecordParts, attempted: Attempted): Promise<Attempted> {
  try {
    const mask = await maskFor(parts, attempted.claimed.delivery);
    return masked(attempted, mask);
  } catch (error) {
    parts.callFailed(error);
    return withoutWords(attempted);
  }
}

/** By an older plan a message may hold what is no secret of today's config. */
async function maskFor(parts: RecordParts, { configId }: Delivery): Promise<Mask> {
  const config = parts.config();
  const plan = configId === config.plan.id ? config.plan : await parts.plan(configId);
  return 'lost' in plan || plan === config.plan
    ? (text) => config.mask(text)
    : (text) => config.mask(plan.mask(text));
}

/**
 * What is kept and shown never has a secret in it, whatever a template or a tool put there. Masked text by text, and
 * never a word of ours: a secret may look like a number, like `false`, or like the name of an outcome.
 */
function masked({ claimed, prepared, ending }: Attempted, mask: Mask): Attempted {
  return {
    claimed,
    prepared: prepared && {
      ...prepared,
      message: maskTexts(prepared.message, mask),
    },
    ending: { ...ending, outcome: maskOutcome(ending.outcome, mask) },
  };
}

/** `progress` stays as it is: it is handed back to the connector, which would do again what it does not find there. */
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

const wordless = "The details could not be kept, by a fault of the connector's own; its log has it.";

/** Only how it ended, where the rest cannot be masked or stored: a message that went out must not go out again. */
function withoutWords({ claimed, ending }: Attempted): Attempted {
  return { claimed, prepared: null, ending: { ...ending, outcome: outcomeAlone(ending.outcome) } };
}

function outcomeAlone(outcome: Outcome): Outcome {
  if (outcome.outcome === 'delivered') return { outcome: 'delivered', receipt: {}, note: wordless };
  if (outcome.outcome === 'rejected')
    return {
      outcome: 'rejected',
      reason: 'unexpected',
      detail: wordless,
      advice: 'Replay it when that is put right.',
    };
  if (outcome.outcome === 'retry') return { outcome: 'retry', reason: 'unexpected', detail: wordless };
  return { outcome: 'unknown', reason: 'unexpected', detail: wordless };
}
