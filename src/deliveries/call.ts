import type { SinkConfig } from '../config/config.ts';
import type { Delivery, Event, Outcome, RaisedNotice } from '../model.ts';
import { StoreUnavailable, type AttemptResult, type Claimed, type Deferral } from '../store/store.ts';
import { carryOut, type Carried, type CarryOutParts, type Deferred } from './carry-out.ts';
import { masked, withoutWords, type Mask } from './masked.ts';
import { settle, type Settlement } from './settle.ts';
import type { Ended } from './traffic.ts';

export interface CallParts extends CarryOutParts {
  /** Gives [0, 1). */
  readonly random: () => number;
  readonly observe: (report: AttemptReport) => void;
  /** Told when the store could not be used; it is tried again. */
  readonly storeFailed: (error: unknown) => void;
  /** Told of a bug around an attempt. How it ended is recorded all the same, where the store takes that. */
  readonly callFailed: (error: unknown) => void;
}

/** What happened to one delivery in one attempt: for the log line and the metrics. */
export interface AttemptReport {
  readonly delivery: Delivery;
  /** See Claimed. */
  readonly events: readonly Event[];
  readonly notice: RaisedNotice | null;
  readonly outcome: Outcome;
  readonly state: Settlement['state'];
  readonly dueAt: number | null;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** How long to leave a store alone that could not be used. */
export const storeRetryMs = 1000;

/** An attempt that was made, or came to nothing before, and what becomes of its delivery. */
interface Settled {
  readonly claimed: Claimed;
  readonly result: Omit<AttemptResult, 'settledAt'>;
}

interface Circumstances {
  readonly sink: SinkConfig | undefined;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly shutdown: AbortSignal;
}

/**
 * Makes one attempt at each delivery of a call and records how it ended. Returns what became of those that the tool was
 * asked about. A bug on the way costs words and not outcomes.
 */
export async function makeCall(
  parts: CallParts,
  call: readonly Claimed[],
  sink: SinkConfig | undefined,
  shutdown: AbortSignal,
): Promise<Ended[]> {
  const startedAt = parts.clock.now();
  const all = await carryOut(parts, call, sink, startedAt, shutdown);
  await putOff(
    parts,
    all.filter((one) => 'until' in one),
    startedAt,
    shutdown,
  );
  const carried = await Promise.all(all.filter((one) => 'ending' in one).map((one) => shown(parts, one)));
  const circumstances = { sink, startedAt, endedAt: parts.clock.now(), shutdown };
  const settled = await recordAll(parts, carried, circumstances);
  for (const one of settled) observe(parts, one);
  return carried
    .filter(({ ending }) => !ending.unsent)
    .map(({ claimed, ending }) => ({ deliveryId: claimed.delivery.id, outcome: ending.outcome }));
}

async function shown(parts: CallParts, carried: Carried): Promise<Carried> {
  try {
    const mask = await maskFor(parts, carried.claimed.delivery);
    return masked(carried, mask);
  } catch (error) {
    parts.callFailed(error);
    return withoutWords(carried);
  }
}

/** By an older plan a message may hold what is no secret of today's config. */
async function maskFor(parts: CallParts, { configId }: Delivery): Promise<Mask> {
  const config = parts.config();
  const plan = configId === config.plan.id ? config.plan : await parts.plan(configId);
  return 'lost' in plan || plan === config.plan
    ? (text) => config.mask(text)
    : (text) => config.mask(plan.mask(text));
}

/** Where a bug keeps them from being recorded together, each is recorded for itself. */
async function recordAll(
  parts: CallParts,
  carried: readonly Carried[],
  circumstances: Circumstances,
): Promise<Settled[]> {
  if (carried.length === 0) return [];
  try {
    return await record(parts, carried, circumstances);
  } catch (error) {
    parts.callFailed(error);
  }
  const settled: Settled[] = [];
  for (const one of carried) settled.push(...(await recordAlone(parts, one, circumstances)));
  return settled;
}

async function recordAlone(parts: CallParts, one: Carried, circumstances: Circumstances): Promise<Settled[]> {
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
  parts: CallParts,
  carried: readonly Carried[],
  circumstances: Circumstances,
): Promise<Settled[]> {
  const settled = carried.map((one) => ({
    claimed: one.claimed,
    result: resultOf(one, circumstances, parts.random),
  }));
  await insist(parts, circumstances.shutdown, () => {
    const settledAt = parts.clock.now();
    return parts.store.record(settled.map(({ result }) => ({ ...result, settledAt })));
  });
  return settled;
}

function observe(parts: CallParts, { claimed, result: { state, dueAt, attempt } }: Settled): void {
  const { outcome, startedAt, endedAt } = attempt;
  try {
    parts.observe({ ...claimed, outcome, state, dueAt, startedAt, endedAt });
  } catch (error) {
    parts.callFailed(error);
  }
}

async function putOff(
  parts: CallParts,
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
    await insist(parts, shutdown, () => parts.store.defer(deferrals, now));
  } catch (error) {
    parts.callFailed(error);
  }
}

function resultOf(
  { claimed: { delivery }, prepared, ending }: Carried,
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

/** What cannot be written now is written later: to lose an outcome would mean sending again. */
async function insist(parts: CallParts, shutdown: AbortSignal, write: () => Promise<void>): Promise<void> {
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
